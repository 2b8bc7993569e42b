// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/no_caps.h"
#include "mayfly/steering.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <memory>
#include <set>

namespace holdfast::mayfly {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The examples that Microsoft publishes for its key: source and destination address, then the ports.
TEST(MayflySteering, HashesThePublishedExamples) {
    const Bytes key = default_rss_key(40);
    const Bytes first = {66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6};
    EXPECT_EQ(toeplitz(key, std::span(first).first(8)), 0x323e8fc2U);
    EXPECT_EQ(toeplitz(key, first), 0x51ccc178U);
    const Bytes second = {199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83};
    EXPECT_EQ(toeplitz(key, std::span(second).first(8)), 0xd718262aU);
    EXPECT_EQ(toeplitz(key, second), 0xc626b0eaU);
}

TEST(MayflySteering, ALongerKeyGivesTheSameHashWhereItBeginsTheSame) {
    const Bytes tuple = {66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6};
    EXPECT_EQ(toeplitz(default_rss_key(52), tuple), toeplitz(default_rss_key(40), tuple));
    EXPECT_EQ(toeplitz({}, tuple), 0U);
}

Settings with_rss(std::uint64_t functions, std::size_t reta, std::uint16_t queues) {
    Settings settings;
    settings.rss_hf = functions;
    settings.rss_key = default_rss_key(40);
    settings.rx_queues = queues;
    settings.reta.resize(reta);
    for (std::size_t i = 0; i < reta; i++)
        settings.reta[i] = static_cast<std::uint16_t>(i % queues);
    return settings;
}

TEST(MayflySteering, SpreadsFlowsByTheTableAndEveryFlowHasOneQueue) {
    const auto steering = std::make_unique<Steering>();
    const Settings settings = with_rss(RTE_ETH_RSS_NONFRAG_IPV4_UDP, 128, 4);
    steering->update(settings, 256);
    unsigned sum = 0;
    for (std::uint16_t queue = 0; queue < 4; queue++) {
        EXPECT_GT(steering->share(queue), 0) << queue;
        sum += steering->share(queue);
    }
    EXPECT_EQ(sum, 256U);
    for (std::uint16_t flow = 0; flow < 256; flow++) {
        const Steering::Target target = steering->of(flow);
        EXPECT_TRUE(target.hashed);
        EXPECT_EQ(target.hash, toeplitz(settings.rss_key, flow_tuple(flow)));
        EXPECT_EQ(target.queue, settings.reta[target.hash % 128]);
    }
}

TEST(MayflySteering, WithoutAFunctionForThemAllFlowsGoToQueueZero) {
    const auto steering = std::make_unique<Steering>();
    for (const std::uint64_t functions : {std::uint64_t{0}, std::uint64_t{RTE_ETH_RSS_NONFRAG_IPV6_TCP}}) {
        steering->update(with_rss(functions, 128, 4), 64);
        EXPECT_EQ(steering->share(0), 64);
        EXPECT_EQ(steering->share(1), 0);
        EXPECT_FALSE(steering->of(5).hashed);
    }
}

TEST(MayflySteering, OnlyTheNamedHalvesCount) {
    const auto steering = std::make_unique<Steering>();
    // All flows have one destination, so this hash is the same for all of them.
    steering->update(with_rss(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_L3_DST_ONLY, 128, 4), 64);
    std::set<std::uint32_t> hashes;
    for (std::uint16_t flow = 0; flow < 64; flow++)
        hashes.insert(steering->of(flow).hash);
    EXPECT_EQ(hashes.size(), 1U);
    steering->update(with_rss(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_L3_SRC_ONLY, 128, 4), 64);
    for (std::uint16_t flow = 0; flow < 64; flow++)
        hashes.insert(steering->of(flow).hash);
    EXPECT_EQ(hashes.size(), 65U);
}

TEST(MayflyAbilities, AreTakenAwayWhole) {
    Config config;
    ASSERT_TRUE(remove_capability("rss", config));
    EXPECT_EQ(config.reta_size, 0);
    EXPECT_EQ(config.hash_key_size, 0);
    EXPECT_EQ(config.rx_offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH, 0U);
    EXPECT_TRUE(config.no_ops.test(index(Op::kRetaUpdate)));
    EXPECT_TRUE(config.no_ops.test(index(Op::kRssHashUpdate)));
    ASSERT_TRUE(remove_capability("rx_vlan_strip", config));
    EXPECT_EQ(config.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0U);
    EXPECT_NE(config.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER, 0U);
    ASSERT_TRUE(remove_capability("tx_mbuf_fast_free", config));
    EXPECT_EQ(config.tx_offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, 0U);
    for (const char *name : {"", "rx_", "rx_nothing", "VLAN", "vlan_strip", "rx_unknown", "tx_"})
        EXPECT_FALSE(remove_capability(name, config)) << name;
}

TEST(MayflyPtpClock, IsSetMovedAndStretched) {
    PtpClock clock;
    clock.set(1000, 5'000'000);
    EXPECT_EQ(clock.at(1000), 5'000'000);
    EXPECT_EQ(clock.at(3000), 5'002'000);
    clock.move(-10);
    EXPECT_EQ(clock.at(3000), 5'001'990);
    clock.stretch(3000, std::int64_t{100} << 16); // 100 parts per million
    EXPECT_EQ(clock.at(3000), 5'001'990);
    EXPECT_EQ(clock.at(3000 + 1'000'000), 5'001'990 + 1'000'100);
    clock.stretch(3000 + 1'000'000, 0);
    EXPECT_EQ(clock.at(3000 + 2'000'000), 5'001'990 + 2'000'100) << "what it gained it keeps";
}

} // namespace
} // namespace holdfast::mayfly
