// SPDX-License-Identifier: BSD-3-Clause
#include "port/stats.h"

#include <rte_ethdev.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast {
namespace {

// rte_eth_stats is nothing but 64-bit counters, so what holds for one holds for all, also for those of a later DPDK.
static_assert(std::is_trivially_copyable_v<rte_eth_stats> && sizeof(rte_eth_stats) % sizeof(std::uint64_t) == 0);
using Words = std::array<std::uint64_t, sizeof(rte_eth_stats) / sizeof(std::uint64_t)>;

} // namespace

void Counters::update(const rte_eth_stats &now) noexcept {
    auto total = std::bit_cast<Words>(total_);
    const auto last = std::bit_cast<Words>(last_);
    const auto fresh = std::bit_cast<Words>(now);
    for (std::size_t i = 0; i < total.size(); i++)
        total[i] += fresh[i] >= last[i] ? fresh[i] - last[i] : fresh[i]; // less than before: it restarted from zero
    total_ = std::bit_cast<rte_eth_stats>(total);
    last_ = now;
}

void add(rte_eth_stats &sum, const rte_eth_stats &more) noexcept {
    auto words = std::bit_cast<Words>(sum);
    const auto others = std::bit_cast<Words>(more);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] += others[i];
    sum = std::bit_cast<rte_eth_stats>(words);
}

} // namespace holdfast
