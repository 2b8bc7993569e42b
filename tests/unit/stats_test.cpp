// SPDX-License-Identifier: BSD-3-Clause
#include "port/stats.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>

namespace holdfast {
namespace {

using Words = std::array<std::uint64_t, sizeof(abi::PortStats) / sizeof(std::uint64_t)>;

/// Every word of the statistics set to its own multiple of n.
abi::PortStats reading(std::uint64_t n) {
    Words words{};
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = n * (i + 1);
    return std::bit_cast<abi::PortStats>(words);
}

void expect_equal(const abi::PortStats &a, const abi::PortStats &b) {
    EXPECT_EQ(std::bit_cast<Words>(a), std::bit_cast<Words>(b));
}

TEST(Counters, CountNothingOfWhatWasBefore) {
    Counters counters;
    counters.begin(reading(1000));
    expect_equal(counters.total(), {});
    counters.update(reading(1000));
    expect_equal(counters.total(), {});
    counters.update(reading(1007));
    expect_equal(counters.total(), reading(7));
}

TEST(Counters, CountEachWordByItselfAlsoThoseOfQueues) {
    Counters counters;
    counters.begin({});
    abi::PortStats now{};
    now.ipackets = 5;
    now.obytes = 7;
    now.q_ipackets[3] = 11;
    now.q_errors[RTE_ETHDEV_QUEUE_STAT_CNTRS - 1] = 13;
    counters.update(now);
    now.q_ipackets[3] = 12;
    now.ipackets = 2; // this one restarted, the others did not
    counters.update(now);
    EXPECT_EQ(counters.total().ipackets, 7U);
    EXPECT_EQ(counters.total().obytes, 7U);
    EXPECT_EQ(counters.total().q_ipackets[3], 12U);
    EXPECT_EQ(counters.total().q_errors[RTE_ETHDEV_QUEUE_STAT_CNTRS - 1], 13U);
    EXPECT_EQ(counters.total().q_ipackets[2], 0U);
}

TEST(Counters, GoOnWhenTheDeviceStartsAgainFromZero) {
    Counters counters;
    counters.begin({});
    counters.update(reading(100));
    counters.update(reading(0));
    expect_equal(counters.total(), reading(100));
    counters.update(reading(30));
    expect_equal(counters.total(), reading(130));
}

// FAULTS F56: what a sub-device counted stays when it leaves, and another device in its place adds to it.
TEST(Counters, KeepTheirSumOverAnotherDevice) {
    Counters counters;
    counters.begin(reading(10));
    counters.update(reading(15));
    counters.begin(reading(1'000'000)); // had counted on its own before
    expect_equal(counters.total(), reading(5));
    counters.update(reading(1'000'002));
    expect_equal(counters.total(), reading(7));
}

TEST(Counters, StartAgainAtZeroWhenReset) {
    Counters counters;
    counters.begin(reading(10));
    counters.update(reading(15));
    counters.begin({}); // the device could
    counters.reset();
    expect_equal(counters.total(), {});
    counters.update(reading(3));
    expect_equal(counters.total(), reading(3));
    counters.begin(reading(3)); // the device could not
    counters.reset();
    expect_equal(counters.total(), {});
    counters.update(reading(4));
    expect_equal(counters.total(), reading(1));
}

TEST(Counters, NeverGoBackwards) {
    std::mt19937_64 random(1);
    Counters counters;
    counters.begin(reading(random() % 1000));
    Words before{};
    for (int i = 0; i < 10'000; i++) {
        if (random() % 50 == 0)
            counters.begin(reading(random() % 1000));
        else
            counters.update(reading(random() % 1000));
        const auto now = std::bit_cast<Words>(counters.total());
        for (std::size_t w = 0; w < now.size(); w++)
            ASSERT_GE(now[w], before[w]) << "word " << w << " in round " << i;
        before = now;
    }
    EXPECT_GT(before[0], 0U);
}

TEST(Stats, AddAddsEveryCounter) {
    abi::PortStats sum = reading(3);
    add(sum, reading(4));
    expect_equal(sum, reading(7));
}

} // namespace
} // namespace holdfast
