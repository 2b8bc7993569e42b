// SPDX-License-Identifier: BSD-3-Clause
// Bursts of each policy in one thread, and in another one a control side that takes sub-devices away and gives them
// back. While it owns one it writes what that one's driver writes: nobody may be inside, which ThreadSanitizer sees.
#include "base/ids.h"
#include "base/policy.h"
#include "datapath/choice.h"
#include "datapath/datapath.h"
#include "support/spread_rig.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::datapath {
namespace {

using namespace std::chrono_literals;

class SpreadRace : public test::SpreadTest, public testing::WithParamInterface<Policy> {};

TEST_P(SpreadRace, NobodyIsInsideASubDeviceThatControlOwns) {
    constexpr std::uint8_t kSubs = 3;
    make(kSubs);
    for (std::uint8_t i = 0; i < kSubs; i++)
        line(i).frees = true;
    tx().no_active = GetParam().no_active;
    const Choice choice = choose(GetParam());
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sent{0}, unsent{0};
    std::thread lcore([&] {
        std::array<rte_mbuf *, 32> none{};
        while (!stop.load(std::memory_order_relaxed)) {
            auto p = packets(8);
            const std::uint16_t took = choice.tx_burst(&tx(), p.data(), 8);
            sent.fetch_add(took, std::memory_order_relaxed);
            unsent.fetch_add(8U - took, std::memory_order_relaxed);
            free(p, took);
            (void)choice.tx_prepare(&tx(), none.data(), 0);
            (void)choice.rx_burst(&q().rx(), none.data(), 32);
        }
    });
    std::uint64_t meetings = 0;
    std::uint64_t rounds = 0;
    const auto busy = [&](std::uint8_t i) {
        return q().tx().subs.at(i).guard.busy() || q().rx().subs.at(i).guard.busy();
    };
    const auto least = std::chrono::steady_clock::now() + 200ms;
    const auto most = least + 60s;
    // All three at a time as well, so that there are bursts that find nobody.
    for (;; rounds++) {
        const auto now = std::chrono::steady_clock::now();
        const bool enough = meetings != 0 && sent.load(std::memory_order_relaxed) != 0 &&
                            (unsent.load(std::memory_order_relaxed) != 0 || GetParam().no_active == NoActive::kDrop);
        if ((now > least && enough) || now > most)
            break;
        const auto first = static_cast<std::uint8_t>(rounds % kSubs);
        const auto last = rounds % 7 == 0 ? std::uint8_t{kSubs} : static_cast<std::uint8_t>(first + 1);
        for (std::uint8_t i = rounds % 7 == 0 ? std::uint8_t{0} : first; i < last; i++) {
            q().shut(i);
            ASSERT_TRUE(q().gate(i).settle());
            if (busy(i))
                meetings++;
            while (busy(i))
                std::this_thread::yield();
            line(i).bursts = {};
            line(i).room = rounds % 2 == 0 ? SIZE_MAX : 5 * rounds;
            q().rx_line(i).calls = 0;
        }
        if (rounds % 5 == 0)
            std::this_thread::yield();
        for (std::uint8_t i = 0; i < kSubs; i++)
            q().put_in(i);
        if (rounds % 3 == 0)
            std::this_thread::yield();
    }
    stop.store(true, std::memory_order_relaxed);
    lcore.join();
    EXPECT_GT(meetings, 0U) << "they never met in " << rounds << " rounds, so this run says nothing";
    EXPECT_GT(sent.load(), 0U);
    EXPECT_EQ(pool().in_use(), 0U);
}

const auto kPolicies =
    testing::Values(Policy{}, Policy{.rx = RxPolicy::kActive}, Policy{.tx = TxPolicy::kBalance},
                    Policy{.tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL34, .no_active = NoActive::kDrop},
                    Policy{.tx = TxPolicy::kRoundRobin}, Policy{.tx = TxPolicy::kBroadcast});

std::string name_of(const testing::TestParamInfo<Policy> &info) {
    constexpr std::array kNames{"active", "balance", "round_robin", "broadcast"};
    const Policy &policy = info.param;
    return std::string(policy.rx == RxPolicy::kActive        ? "rx_active_"
                       : policy.no_active == NoActive::kDrop ? "drop_"
                                                             : "") +
           kNames.at(static_cast<std::size_t>(policy.tx));
}

INSTANTIATE_TEST_SUITE_P(Policies, SpreadRace, kPolicies, name_of);

} // namespace
} // namespace holdfast::datapath
