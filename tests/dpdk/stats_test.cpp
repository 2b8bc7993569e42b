// SPDX-License-Identifier: BSD-3-Clause
// Counters never go backwards. (FAULTS.md, section 5.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class Stats : public WithPorts {
  protected:
    static std::map<std::string, std::uint64_t> xstats(const Vport &port) {
        const int n = rte_eth_xstats_get_names(port.id(), nullptr, 0);
        std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(n));
        std::vector<rte_eth_xstat> values(static_cast<std::size_t>(n));
        EXPECT_EQ(rte_eth_xstats_get_names(port.id(), names.data(), static_cast<unsigned>(n)), n);
        EXPECT_EQ(rte_eth_xstats_get(port.id(), values.data(), static_cast<unsigned>(n)), n);
        std::map<std::string, std::uint64_t> out;
        for (const rte_eth_xstat &v : values)
            out[names[v.id].name] = v.value;
        EXPECT_EQ(out.size(), values.size()) << "a name is there twice";
        return out;
    }
};

// F56
TEST_F(Stats, CountersDoNotDropWhenASubDeviceLeavesAndComesBack) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    std::uint64_t sent = 0;
    rte_eth_stats last = port.stats();
    const auto expect_monotonic = [&] {
        const rte_eth_stats now = port.stats();
        EXPECT_GE(now.opackets, last.opackets);
        EXPECT_GE(now.obytes, last.obytes);
        EXPECT_GE(now.ipackets, last.ipackets);
        last = now;
    };
    for (int i = 0; i < 20; i++) {
        sent += send(port, 10);
        expect_monotonic();
        const std::uint8_t active = static_cast<std::uint8_t>(port.active());
        const Mayfly &m = active == 0 ? a : b;
        m.unplug();
        expect_monotonic();
        ASSERT_TRUE(eventually([&] { return port.state(active) == "absent"; }));
        expect_monotonic();
        m.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(active); }));
        expect_monotonic();
    }
    EXPECT_EQ(port.stats().opackets, sent);
}

// F56: the last read is taken at the removal, not at the application's last question.
TEST_F(Stats, WhatWasSentSinceTheLastQuestionCountsAfterARemoval) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(send(port, 30), 30);
    a.unplug_planned();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    EXPECT_EQ(port.stats().opackets, 30U);
    EXPECT_EQ(port.stats().obytes, 30U * 60);
    ASSERT_EQ(send(port, 12), 12);
    ASSERT_TRUE(port.remove_by_hand(1).ok());
    ASSERT_TRUE(eventually([&] { return !b.there(); }));
    EXPECT_EQ(port.stats().opackets, 42U);
}

TEST_F(Stats, StopAndStartDoNotClearThem) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(send(port, 5), 5);
    ASSERT_EQ(port.stop(), 0);
    EXPECT_EQ(port.stats().opackets, 5U);
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(send(port, 5), 5);
    EXPECT_EQ(port.stats().opackets, 10U);
}

TEST_F(Stats, AResetSetsEverythingToZeroAlsoOfThoseThatAreGone) {
    Mayfly a, b, c("no_ops=stats_reset");
    Vport port(devargs_of({&a, &b, &c}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    for (const std::uint8_t sub : std::to_array<std::uint8_t>({0, 1, 2})) {
        ASSERT_TRUE(eventually([&] { return port.joined(sub); }));
        ASSERT_TRUE(port.switch_to(sub).ok());
        ASSERT_EQ(send(port, 4), 4);
    }
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    EXPECT_EQ(port.stats().opackets, 12U);
    ASSERT_EQ(rte_eth_stats_reset(port.id()), 0);
    EXPECT_EQ(port.stats().opackets, 0U);
    EXPECT_EQ(port.stats().obytes, 0U);
    ASSERT_EQ(send(port, 3), 3);
    EXPECT_EQ(port.stats().opackets, 3U);
}

// F59
TEST_F(Stats, EachQueueHasItsOwnCounters) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 4, .tx_queues = 4, .conf = {}}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    for (std::uint16_t q = 0; q < 4; q++) {
        ASSERT_EQ(send(port, static_cast<std::uint16_t>(q + 1), q), q + 1);
        ASSERT_EQ(receive(port, 32, q), q + 1);
    }
    ASSERT_TRUE(port.switch_to(1).ok());
    ASSERT_EQ(send(port, 10, 3), 10);
    ASSERT_EQ(receive(port, 32, 3) + receive(port, 32, 3), 10);
    const auto x = xstats(port);
    for (std::uint16_t q = 0; q < 4; q++) {
        const std::uint64_t expected = q + 1U + (q == 3 ? 10 : 0);
        EXPECT_EQ(x.at("rx_q" + std::to_string(q) + "_packets"), expected);
        EXPECT_EQ(x.at("tx_q" + std::to_string(q) + "_packets"), expected);
        EXPECT_EQ(x.at("tx_q" + std::to_string(q) + "_bytes"), expected * 60);
    }
    EXPECT_EQ(x.at("tx_good_packets"), 20U);
    // And they stay when a sub-device goes, and go on when it is back.
    b.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    ASSERT_TRUE(port.switch_to(1).ok());
    ASSERT_EQ(send(port, 5, 3), 5);
    const auto later = xstats(port);
    EXPECT_EQ(later.at("rx_q3_packets"), 14U);
    EXPECT_EQ(later.at("tx_q3_packets"), 19U);
    EXPECT_EQ(later.at("tx_q2_packets"), 3U);
}

TEST_F(Stats, ExtendedCountersNameEachSubDeviceAndTheSwitches) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const auto before = xstats(port);
    ASSERT_EQ(send(port, 3), 3);
    a.unplug();
    ASSERT_EQ(send(port, 4), 4);
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    const auto after = xstats(port);
    EXPECT_EQ(after.size(), before.size()) << "the list is fixed, for applications keep the indexes";
    EXPECT_EQ(after.at("sub1_tx_packets"), 4U);
    EXPECT_EQ(after.at("sub0_removals"), 1U);
    EXPECT_EQ(after.at("sub0_plugins"), 1U);
    EXPECT_EQ(after.at("switches"), before.at("switches") + 1);
    b.unplug();
    EXPECT_EQ(send(port, 1), 0);
    EXPECT_EQ(xstats(port).at("tx_refused_bursts"), 1U);
}

// F62
TEST_F(Stats, TwoThreadsThatReadAndResetDuringPlugCyclesSeeNoNonsense) {
    Mayfly a("mode=generate"), b("mode=generate");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> reads{0}, nonsense{0};
    const auto reader = [&](bool resets) {
        while (!stop.load()) {
            rte_eth_stats s{};
            if (rte_eth_stats_get(port.id(), &s) != 0)
                nonsense++;
            using Words = std::array<std::uint64_t, sizeof(s) / sizeof(std::uint64_t)>;
            const auto words = std::bit_cast<Words>(s);
            if (std::any_of(words.begin(), words.end(), [](std::uint64_t w) { return w > 1ULL << 40U; }))
                nonsense++;
            if (resets && rte_eth_stats_reset(port.id()) != 0)
                nonsense++;
            reads++;
        }
    };
    std::thread first(reader, false), second(reader, true);
    for (int i = 0; i < 60; i++) {
        const std::uint8_t sub = static_cast<std::uint8_t>(i % 2);
        const Mayfly &m = sub == 0 ? a : b;
        for (int k = 0; k < 20; k++)
            (void)receive(port);
        m.unplug();
        EXPECT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
        m.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(sub); }));
    }
    stop.store(true);
    first.join();
    second.join();
    EXPECT_EQ(nonsense.load(), 0U);
    EXPECT_GT(reads.load(), 0U);
}

// A sub-device that does not answer when asked keeps what it had.
TEST_F(Stats, ASubDeviceThatFailsToAnswerKeepsItsCounters) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(send(port, 6), 6);
    EXPECT_EQ(port.stats().opackets, 6U);
    m.fail("stats_get", EIO, 1);
    rte_eth_stats stats{};
    EXPECT_EQ(rte_eth_stats_get(port.id(), &stats), -EIO);
    EXPECT_EQ(stats.opackets, 0U) << "no number is made up";
    EXPECT_EQ(port.stats().opackets, 6U);
}

} // namespace
} // namespace holdfast::test
