// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/config.h"
#include "mayfly/settings.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace holdfast::mayfly {

/// Where RSS sends each generated flow: hash, then redirection table, then queue. Written by control whenever the hash
/// key, the hash functions or the table change; read by lcores, flow by flow, so that a packet has the hash that took
/// it to its queue. It lives as long as the device, so lcores need not know whether a port is still there.
class Steering {
  public:
    struct Target {
        std::uint32_t hash = 0;
        std::uint16_t queue = 0;
        bool hashed = false; ///< false: no hash function covers these packets, so they go to queue 0
    };

    /// Works everything out anew for the first `flows` flows.
    void update(const Settings &settings, std::uint16_t flows) noexcept;

    [[nodiscard]] Target of(std::uint16_t flow) const noexcept {
        // pairs: flow (Steering::update): one word, so hash and queue belong together.
        const std::uint64_t word = flows_[flow].load(std::memory_order_relaxed);
        return {.hash = static_cast<std::uint32_t>(word >> 32),
                .queue = static_cast<std::uint16_t>(word),
                .hashed = (word & kHashed) != 0};
    }
    /// How many flows a queue has now.
    [[nodiscard]] std::uint16_t share(std::uint16_t queue) const noexcept {
        return shares_[queue].load(std::memory_order_relaxed); // pairs: flow (Steering::update)
    }

  private:
    static constexpr std::uint64_t kHashed = std::uint64_t{1} << 31;
    std::array<std::atomic<std::uint64_t>, kMostFlows> flows_{}; ///< hash, hashed, queue
    std::array<std::atomic<std::uint16_t>, kMostQueues> shares_{};
};

/// The addresses and ports of a generated flow, in the byte order of the wire, as RSS hashes them: source and
/// destination address, source and destination port.
[[nodiscard]] std::array<std::uint8_t, 12> flow_tuple(std::uint16_t flow) noexcept;

/// The Toeplitz hash, as NICs and rte_softrss() work it out. A key that is too short is used from its beginning again.
[[nodiscard]] std::uint32_t toeplitz(std::span<const std::uint8_t> key, std::span<const std::uint8_t> input) noexcept;

/// The key of a device that was given none.
[[nodiscard]] std::vector<std::uint8_t> default_rss_key(std::size_t size);

} // namespace holdfast::mayfly
