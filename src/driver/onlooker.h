// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "port/shared.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// The message by which a secondary wakes the primary.
inline constexpr const char *kAskMessage = "holdfast_ask";

/// A port of the primary, as a secondary process sees it: reads only, any thread.
///
/// It draws a ticket in the port's shared memory, sends the primary a message without an answer, and looks whether its
/// ticket comes up; then the snapshot is fresh. So the primary waits for nobody, sends nothing and shares no lock: a
/// secondary may be killed at any of these points, or be stopped for ever. (A request and a reply by EAL would make the
/// primary send into a socket that a stopped secondary does not empty.)
class Onlooker {
  public:
    /// The one of that port id. Never destroyed: a call may be under way when the port is detached.
    static Onlooker &of(std::uint16_t port) noexcept;

    void begin(rte_eth_dev &dev) noexcept;
    /// The port was released in this process.
    void end() noexcept;
    [[nodiscard]] bool attached() const noexcept;
    /// Does the primary still have this port?
    [[nodiscard]] bool there() const noexcept;
    [[nodiscard]] rte_eth_dev &dev() const noexcept { return *dev_; }
    [[nodiscard]] const char *name() const noexcept { return name_.data(); }
    /// What the primary showed last.
    [[nodiscard]] bool last(Snapshot &out) const noexcept;

    // ---- ethdev's operations
    int close();
    int link_update(int wait);
    Status info(rte_eth_dev_info *info);
    Status stats(abi::PortStats *stats);
    int xstats(rte_eth_xstat *stats, unsigned n);
    int xstats_names(rte_eth_xstat_name *names, unsigned n);
    void rxq_info(std::uint16_t queue, rte_eth_rxq_info *info);
    void txq_info(std::uint16_t queue, rte_eth_txq_info *info);
    const std::uint32_t *ptypes(std::size_t *count);

  private:
    [[nodiscard]] SharedPort *shared() const noexcept;
    void ask() const noexcept;
    /// A fresh snapshot, if the primary answers in time; else the last one.
    [[nodiscard]] bool look(Snapshot &out) const noexcept;

    rte_eth_dev *dev_ = nullptr;
    std::atomic<bool> attached_{false};
    std::array<char, RTE_ETH_NAME_MAX_LEN> name_{};
    std::array<std::uint32_t, 256> ptypes_{};
};

} // namespace holdfast
