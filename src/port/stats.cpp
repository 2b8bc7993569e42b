// SPDX-License-Identifier: BSD-3-Clause
#include "port/stats.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast {
namespace {

// They are nothing but 64-bit counters, so what holds for one holds for all, also for those of a later DPDK.
static_assert(std::is_trivially_copyable_v<abi::PortStats> && sizeof(abi::PortStats) % sizeof(std::uint64_t) == 0);
using Words = std::array<std::uint64_t, sizeof(abi::PortStats) / sizeof(std::uint64_t)>;

} // namespace

void Counters::update(const abi::PortStats &now) noexcept {
    auto total = std::bit_cast<Words>(total_);
    const auto last = std::bit_cast<Words>(last_);
    const auto fresh = std::bit_cast<Words>(now);
    for (std::size_t i = 0; i < total.size(); i++)
        total[i] += fresh[i] >= last[i] ? fresh[i] - last[i] : fresh[i]; // less than before: it restarted from zero
    total_ = std::bit_cast<abi::PortStats>(total);
    last_ = now;
}

void add(abi::PortStats &sum, const abi::PortStats &more) noexcept {
    auto words = std::bit_cast<Words>(sum);
    const auto others = std::bit_cast<Words>(more);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] += others[i];
    sum = std::bit_cast<abi::PortStats>(words);
}

} // namespace holdfast
