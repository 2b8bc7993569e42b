// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/faults.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace holdfast::mayfly {
namespace {

TEST(MayflyFaults, AreNotArmedAtFirst) {
    const Faults faults;
    for (std::size_t i = 0; i < kOps; i++)
        EXPECT_FALSE(faults.armed(static_cast<Op>(i)));
}

TEST(MayflyFaults, FailTheNextCallsAndThenNoMore) {
    Faults faults;
    faults.fail(Op::kMtuSet, 2, EIO);
    EXPECT_TRUE(faults.armed(Op::kMtuSet));
    EXPECT_FALSE(faults.armed(Op::kStart));
    EXPECT_EQ(faults.take_failure(Op::kMtuSet), -EIO);
    EXPECT_EQ(faults.take_failure(Op::kMtuSet), -EIO);
    EXPECT_EQ(faults.take_failure(Op::kMtuSet), 0);
    EXPECT_FALSE(faults.armed(Op::kMtuSet)) << "an undisturbed burst must not go the long way for ever";
}

TEST(MayflyFaults, FailUntilCleared) {
    Faults faults;
    faults.fail(Op::kMtuSet, -1, EBUSY);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(faults.take_failure(Op::kMtuSet), -EBUSY);
    faults.clear();
    EXPECT_EQ(faults.take_failure(Op::kMtuSet), 0);
}

TEST(MayflyFaults, GiveEventsAndUnplugToOneCallAndDelaysToAll) {
    Faults faults;
    faults.raise_in(Op::kStart, 3);
    faults.raise_in(Op::kStart, 6);
    faults.unplug_in(Op::kStart);
    faults.delay(Op::kStart, 7);
    const Ambush first = faults.take(Op::kStart);
    EXPECT_EQ(first.events, 1u << 3 | 1u << 6);
    EXPECT_TRUE(first.unplug);
    EXPECT_EQ(first.delay_us, 7u);
    const Ambush second = faults.take(Op::kStart);
    EXPECT_EQ(second.events, 0u);
    EXPECT_FALSE(second.unplug);
    EXPECT_EQ(second.delay_us, 7u);
}

TEST(MayflyFaults, GiveEachFailureToOneOfManyThreads) {
    Faults faults;
    constexpr int kFailures = 20'000;
    faults.fail(Op::kMtuSet, kFailures, EIO);
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < kFailures; i++)
                failed.fetch_add(faults.take_failure(Op::kMtuSet) != 0 ? 1 : 0, std::memory_order_relaxed);
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(failed.load(), kFailures);
}

TEST(MayflyFaults, StayArmedWhenArmedWhileTheLastFailureIsUsedUp) {
    Faults faults;
    std::atomic<bool> stop{false};
    std::thread user([&] {
        while (!stop.load(std::memory_order_relaxed))
            (void)faults.take_failure(Op::kMtuSet);
    });
    int lost = 0;
    for (int i = 0; i < 20'000; i++) {
        faults.fail(Op::kMtuSet, 1, EIO);
        faults.delay(Op::kMtuSet, 5); // must be seen, whatever the other thread has just found empty
        lost += faults.armed(Op::kMtuSet) ? 0 : 1;
        faults.delay(Op::kMtuSet, 0);
    }
    stop.store(true, std::memory_order_relaxed);
    user.join();
    EXPECT_EQ(lost, 0);
}

TEST(MayflyFaults, KnowEveryOperationByItsName) {
    for (std::size_t i = 0; i < kOps; i++) {
        const auto op = static_cast<Op>(i);
        ASSERT_FALSE(traits(op).name.empty()) << i;
        EXPECT_EQ(find_op(traits(op).name), op) << traits(op).name;
    }
    EXPECT_EQ(traits(Op::kTxDescriptorStatus).name, "tx_descriptor_status") << "names and numbers are out of step";
    EXPECT_EQ(traits(Op::kRxBurst).name, "rx_burst");
    EXPECT_EQ(traits(Op::kVlanPvidSet).name, "vlan_pvid_set");
}

} // namespace
} // namespace holdfast::mayfly
