// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::datapath {

/// Flows fall into so many shares; each has one sub-device.
inline constexpr std::uint16_t kShares = 256;

/// The sub-device of each share, by SubIndex.
using Shares = std::array<std::uint8_t, kShares>;

/// Gives out all shares among `members` (bit i: sub-device i), of which there is at least one. Each share has an order
/// of preference of its own, so when a member leaves only its shares go to others, and when it comes back it gets just
/// those again. Depends on nothing but `members`: all queues, and all processes, do the same. Bound: 256 * 16 steps.
void share_out(std::uint16_t members, Shares &out) noexcept;

/// The share of a flow.
constexpr std::uint8_t share_of(std::uint32_t hash) noexcept {
    return static_cast<std::uint8_t>(hash >> 24U);
}

} // namespace holdfast::datapath
