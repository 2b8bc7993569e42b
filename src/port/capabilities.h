// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/policy.h"
#include "base/result.h"

#include <rte_ethdev.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// How many MAC addresses a virtual port keeps; a sub-device with fewer gets as many as it takes.
inline constexpr std::uint32_t kMaxMacs = 128;

/// What a port over these sub-devices can promise: what all of them can. Without any, what every later one will be able
/// to meet. Fills the fields that a driver fills; leaves those that ethdev fills.
void intersect(std::span<const rte_eth_dev_info *const> subs, rte_eth_dev_info &out) noexcept;

/// Takes away what does not go with a policy: a packet that is sent on all sub-devices belongs to each of them, which
/// fast free does not ask.
void restrict(const Policy &policy, rte_eth_dev_info &out) noexcept;

/// A configuration cut to what one sub-device can.
struct Fit {
    Status status{};                     ///< it cannot carry what the application relies on
    rte_eth_conf conf{};                 ///< for this sub-device; may point into rss_key
    std::vector<std::uint8_t> rss_key{}; ///< the port's, if that has another length than this sub-device's
    std::string without{};               ///< optional things that it lacks, for one log line; empty: none
};

/// Fits the port's configuration to a sub-device. What the application can do without (receive offloads that are
/// announced per packet, fast free, hash functions) is left out; what would change packets on the wire or their meaning
/// is not.
[[nodiscard]] Fit fit(const rte_eth_conf &conf, std::uint16_t rx_queues, std::uint16_t tx_queues,
                      const rte_eth_dev_info &info);

/// A ring size within a sub-device's limits, as near to `wanted` as they allow.
[[nodiscard]] std::uint16_t fit_descriptors(std::uint16_t wanted, const rte_eth_desc_lim &limits) noexcept;

} // namespace holdfast
