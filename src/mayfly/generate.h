// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/queue.h"

namespace holdfast::mayfly {

/// Makes up to n numbered packets, as many as are due by the rate. Called by the queue's lcore; takes mbufs from the
/// queue's mempool and allocates nothing else.
std::uint16_t generate(Queue &queue, const QueueParts &parts, rte_mbuf **packets, std::uint16_t n) noexcept;

/// How far apart this queue's packets are, in cycles; 0: as fast as it is polled. False: none come at all, because RSS
/// sends every flow elsewhere.
[[nodiscard]] bool pace(const Queue &queue, const QueueParts &parts, std::uint64_t &interval) noexcept;

/// What a stopped lcore may be behind with: this part of a second. More is forgotten, not made up for.
inline constexpr std::uint64_t kBacklogPart = 100;

/// How many packets are due at `now`, at most n; moves `next` on. An interval of 0 means: all.
[[nodiscard]] std::uint16_t due(std::uint64_t now, std::uint64_t interval, std::uint64_t backlog, std::uint64_t &next,
                                std::uint16_t n) noexcept;

} // namespace holdfast::mayfly
