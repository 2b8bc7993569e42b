// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/totals.h"

#include <cerrno>
#include <iterator>

namespace holdfast::mayfly {
namespace {

using Queues = std::array<QueueCounts, kMostQueues>;
using Counter = std::atomic<std::uint64_t>;

/// Where a total comes from: a count of the device, or the sum of one counter over its queues. In the order of
/// enum rte_pmd_mayfly_counter.
struct Source {
    const char *name;
    Device::Count count{};
    Queues Device::*queues = nullptr;
    Counter QueueCounts::*counter = nullptr;
};
constexpr Source kSources[] = {
    {"lives", Device::Count::kLives},
    {"closes", Device::Count::kCloses},
    {"unplugs", Device::Count::kUnplugs},
    {"rmv_events", Device::Count::kRmvEvents},
    {"lsc_events", Device::Count::kLscEvents},
    {"trespasses", Device::Count::kTrespasses},
    {"late_calls", Device::Count::kLateCalls},
    {"rx_packets", {}, &Device::rx, &QueueCounts::packets},
    {"tx_packets", {}, &Device::tx, &QueueCounts::packets},
    {"tx_no_peer", {}, &Device::tx, &QueueCounts::no_peer},
    {"tx_dead", {}, &Device::tx, &QueueCounts::dead},
    {"tx_no_link", {}, &Device::tx, &QueueCounts::no_link},
    {"rx_no_mbuf", {}, &Device::rx, &QueueCounts::no_mbuf},
    {"drained", Device::Count::kDrained},
    {"rx_interrupts"}, // of its doorbells
};
static_assert(std::size(kSources) == RTE_PMD_MAYFLY_RX_INTERRUPTS + 1);

} // namespace

std::int64_t total(const Device &device, enum rte_pmd_mayfly_counter what) noexcept {
    const auto number = static_cast<unsigned>(what);
    if (number >= std::size(kSources))
        return -EINVAL;
    const Source &source = kSources[number];
    if (source.queues == nullptr && what != RTE_PMD_MAYFLY_RX_INTERRUPTS)
        return static_cast<std::int64_t>(device.counted(source.count));
    std::uint64_t sum = 0;
    if (what == RTE_PMD_MAYFLY_RX_INTERRUPTS) {
        for (const Doorbell &bell : device.bells)
            sum += bell.rung();
        return static_cast<std::int64_t>(sum);
    }
    for (const QueueCounts &queue : device.*source.queues)
        sum += QueueCounts::read(queue.*source.counter);
    return static_cast<std::int64_t>(sum);
}

const char *total_name(unsigned what) noexcept {
    return what < std::size(kSources) ? kSources[what].name : nullptr;
}

} // namespace holdfast::mayfly
