// SPDX-License-Identifier: BSD-3-Clause
// RSS through a virtual port: set on all sub-devices, kept over a replug, refused clearly. (FAULTS.md, F75.)
#include "support/virtual_port.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using Table = std::vector<std::uint16_t>;
using Key = std::vector<std::uint8_t>;

constexpr std::uint16_t kQueues = 4;

class VirtualRss : public WithPorts {
  protected:
    static Shape shape(rte_eth_rx_mq_mode mode = RTE_ETH_MQ_RX_RSS) {
        Shape out{.rx_queues = kQueues, .tx_queues = kQueues};
        out.conf.rxmode.mq_mode = mode;
        if (mode == RTE_ETH_MQ_RX_RSS)
            out.conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
        return out;
    }
    static std::uint16_t size_of(const Vport &port) {
        rte_eth_dev_info info{};
        EXPECT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        return info.reta_size;
    }
    static int set_table(const Vport &port, const Table &table, std::uint64_t mask = ~std::uint64_t{0}) {
        std::vector<rte_eth_rss_reta_entry64> entries((table.size() + 63) / 64);
        for (std::size_t i = 0; i < table.size(); i++) {
            entries[i / 64].mask = mask;
            entries[i / 64].reta[i % 64] = table[i];
        }
        return rte_eth_dev_rss_reta_update(port.id(), entries.data(), static_cast<std::uint16_t>(table.size()));
    }
    static Table table_of(const Vport &port, std::uint16_t size) {
        std::vector<rte_eth_rss_reta_entry64> entries((size + 63U) / 64U);
        for (auto &entry : entries)
            entry.mask = ~std::uint64_t{0};
        EXPECT_EQ(rte_eth_dev_rss_reta_query(port.id(), entries.data(), size), 0);
        Table table(size);
        for (std::size_t i = 0; i < size; i++)
            table[i] = entries[i / 64].reta[i % 64];
        return table;
    }
    static Table table_of(const Mayfly &mayfly) {
        Table table(512);
        const int n = rte_pmd_mayfly_reta(mayfly.name().c_str(), table.data(), 512);
        table.resize(static_cast<std::size_t>(n));
        return table;
    }
    static Key key_of(const Mayfly &mayfly) {
        Key key(64);
        const int n = rte_pmd_mayfly_rss_key(mayfly.name().c_str(), key.data(), 64);
        key.resize(static_cast<std::size_t>(n));
        return key;
    }
    static int set_hash(const Vport &port, std::uint64_t functions, Key key = {}) {
        rte_eth_rss_conf conf{};
        conf.rss_hf = functions;
        conf.rss_key = key.empty() ? nullptr : key.data();
        conf.rss_key_len = static_cast<std::uint8_t>(key.size());
        return rte_eth_dev_rss_hash_update(port.id(), &conf);
    }
    static Key key_of(const Vport &port, std::uint64_t *functions = nullptr) {
        Key key(255);
        rte_eth_rss_conf conf{};
        conf.rss_key = key.data();
        conf.rss_key_len = 255;
        EXPECT_EQ(rte_eth_dev_rss_hash_conf_get(port.id(), &conf), 0);
        key.resize(conf.rss_key_len);
        if (functions != nullptr)
            *functions = conf.rss_hf;
        return key;
    }
    static Table made(std::size_t size, const std::function<std::uint16_t(std::size_t)> &queue) {
        Table table(size);
        for (std::size_t i = 0; i < size; i++)
            table[i] = queue(i);
        return table;
    }
    static Key fresh_key(std::size_t size) {
        Key key(size);
        for (std::size_t i = 0; i < size; i++)
            key[i] = static_cast<std::uint8_t>(3 * i + 1);
        return key;
    }
    static void replug(const Vport &port, const Mayfly &mayfly, std::size_t index) {
        mayfly.unplug();
        ASSERT_TRUE(eventually([&] { return !mayfly.there(); }));
        mayfly.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(index); }));
    }
};

TEST_F(VirtualRss, ATableOfEachSizeReachesAllAndIsKeptOverAReplug) {
    for (const std::uint16_t size : std::array<std::uint16_t, 3>{64, 128, 512}) {
        const std::string args = "reta_size=" + std::to_string(size);
        Mayfly a(args), b(args);
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool(), shape()), 0);
        ASSERT_EQ(size_of(port), size);
        EXPECT_EQ(table_of(port, size),
                  made(size, [](std::size_t i) { return static_cast<std::uint16_t>(i % kQueues); }))
            << "as it begins";
        const Table table = made(size, [](std::size_t i) { return static_cast<std::uint16_t>((i / 3) % kQueues); });
        ASSERT_EQ(set_table(port, table), 0);
        EXPECT_EQ(table_of(a), table);
        EXPECT_EQ(table_of(b), table);
        EXPECT_EQ(table_of(port, size), table);
        replug(port, a, 0);
        EXPECT_EQ(table_of(a), table);
        EXPECT_EQ(a.calls("reta_update"), 2) << "once each time";
        // A part of it: the rest stays.
        Table next = table;
        for (std::size_t i = 0; i < size; i += 64)
            next[i] = 3;
        ASSERT_EQ(set_table(port, made(size, [](std::size_t) { return std::uint16_t{3}; }), 1), 0);
        EXPECT_EQ(table_of(port, size), next);
        EXPECT_EQ(table_of(b), next);
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.start(), 0);
        EXPECT_EQ(table_of(b), next);
    }
}

TEST_F(VirtualRss, KeysOfEachLengthReachAllAndAreKeptOverAReplug) {
    for (const std::size_t length : {40, 52}) {
        const std::string args = "hash_key_size=" + std::to_string(length);
        Mayfly a(args), b(args);
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool(), shape()), 0);
        EXPECT_EQ(key_of(port), key_of(a)) << "what nobody set is the sub-device's own";
        const Key key = fresh_key(length);
        ASSERT_EQ(set_hash(port, RTE_ETH_RSS_NONFRAG_IPV4_UDP, key), 0);
        EXPECT_EQ(key_of(a), key);
        EXPECT_EQ(key_of(b), key);
        EXPECT_EQ(a.settings().rss_hf, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
        ASSERT_EQ(set_hash(port, RTE_ETH_RSS_IPV4), 0);
        EXPECT_EQ(key_of(b), key) << "no key leaves it";
        replug(port, b, 1);
        EXPECT_EQ(key_of(b), key);
        EXPECT_EQ(b.settings().rss_hf, RTE_ETH_RSS_IPV4);
        std::uint64_t functions = 0;
        EXPECT_EQ(key_of(port, &functions), key);
        EXPECT_EQ(functions, RTE_ETH_RSS_IPV4);
    }
}

TEST_F(VirtualRss, UnlikeSubDevicesHashAndSpreadAlike) {
    Mayfly a("reta_size=512,hash_key_size=52"), b("reta_size=64,hash_key_size=40");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    ASSERT_EQ(size_of(port), 64) << "what all of them can";
    const Table table = made(64, [](std::size_t i) { return static_cast<std::uint16_t>((i / 5) % kQueues); });
    ASSERT_EQ(set_table(port, table), 0);
    EXPECT_EQ(table_of(b), table);
    EXPECT_EQ(table_of(a), made(512, [&](std::size_t i) { return table[i % 64]; }));
    const Key key = fresh_key(40);
    ASSERT_EQ(set_hash(port, RTE_ETH_RSS_IPV4, key), 0);
    EXPECT_EQ(key_of(b), key);
    Key padded = key;
    padded.resize(52);
    EXPECT_EQ(key_of(a), padded);
    replug(port, a, 0);
    EXPECT_EQ(table_of(a), made(512, [&](std::size_t i) { return table[i % 64]; }));
    EXPECT_EQ(key_of(a), padded);
}

TEST_F(VirtualRss, ALateSubDeviceWithASmallerTableGetsItIfItLosesNothing) {
    Mayfly a("reta_size=512"), b("reta_size=64");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    ASSERT_EQ(size_of(port), 512);
    const Table folds = made(512, [](std::size_t i) { return static_cast<std::uint16_t>((i % 64) / 32); });
    ASSERT_EQ(set_table(port, folds), 0);
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(table_of(b), made(64, [](std::size_t i) { return static_cast<std::uint16_t>(i / 32); }));
    EXPECT_EQ(table_of(port, 512), folds) << "the application's size stays good";

    const Table does_not = made(512, [](std::size_t i) { return static_cast<std::uint16_t>(i / 128); });
    ASSERT_EQ(set_table(port, does_not), 0) << "the one that can has it";
    EXPECT_EQ(table_of(a), does_not);
    replug(port, b, 1);
    EXPECT_EQ(b.settings().started, 1) << "it joins without";
    EXPECT_EQ(table_of(port, 512), does_not);
    EXPECT_EQ(set_table(port, made(128, [](std::size_t) { return std::uint16_t{0}; })), -EINVAL) << "nobody's size";
}

TEST_F(VirtualRss, WithoutRssASettingIsRefused) {
    Mayfly a;
    Vport port(devargs_of({&a}));
    ASSERT_EQ(port.up(pool(), shape(RTE_ETH_MQ_RX_NONE)), 0);
    EXPECT_EQ(set_hash(port, RTE_ETH_RSS_IPV4), -ENOTSUP);
    EXPECT_EQ(set_table(port, Table(128)), -ENOTSUP);
    EXPECT_EQ(a.calls("reta_update") + a.calls("rss_hash_update"), 0);
    std::uint64_t functions = 1;
    EXPECT_EQ(key_of(port, &functions), key_of(a));
    EXPECT_EQ(functions, 0U);
}

TEST_F(VirtualRss, OneThatRefusesTakesItBackEverywhere) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    const Table before = table_of(a);
    const Key key = key_of(a);
    b.fail("reta_update", EPERM, 1);
    EXPECT_EQ(set_table(port, Table(128, 1)), -EPERM);
    EXPECT_EQ(table_of(a), before) << "also what nobody of us had set";
    EXPECT_EQ(table_of(port, 128), before);
    b.fail("rss_hash_update", EPERM, 1);
    EXPECT_EQ(set_hash(port, RTE_ETH_RSS_NONFRAG_IPV4_UDP, fresh_key(40)), -EPERM);
    EXPECT_EQ(key_of(a), key);
    EXPECT_EQ(a.settings().rss_hf, RTE_ETH_RSS_IPV4);
    EXPECT_EQ(key_of(port), key);
    EXPECT_EQ(set_table(port, Table(128, 1)), 0) << "the retry works";
    EXPECT_EQ(set_hash(port, RTE_ETH_RSS_NONFRAG_IPV4_UDP, fresh_key(40)), 0);
    EXPECT_EQ(key_of(b), fresh_key(40));
}

TEST_F(VirtualRss, ThoseThatCanDoItWithoutThoseThatCannot) {
    Mayfly able, unable("no_ops=reta_update;reta_query;rss_hash_update");
    {
        Vport port(devargs_of({&able, &unable}));
        ASSERT_EQ(port.up(pool(), shape()), 0);
        EXPECT_EQ(set_table(port, Table(128, 2)), 0);
        EXPECT_EQ(table_of(able), Table(128, 2));
        replug(port, unable, 1);
    }
    Vport port(devargs_of({&unable}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    EXPECT_EQ(set_table(port, Table(128, 2)), -ENOTSUP);
    EXPECT_EQ(set_hash(port, RTE_ETH_RSS_IPV4), -ENOTSUP);
}

TEST_F(VirtualRss, ANewConfigurationBringsItsOwn) {
    Mayfly a;
    Vport port(devargs_of({&a}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    ASSERT_EQ(set_table(port, Table(128, 3)), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape two = shape();
    two.rx_queues = 2;
    ASSERT_EQ(port.up(pool(), two), 0);
    for (const std::uint16_t queue : table_of(a))
        EXPECT_LT(queue, 2) << "no entry for a queue that is no more";
    replug(port, a, 0);
    for (const std::uint16_t queue : table_of(a))
        EXPECT_LT(queue, 2);
}

TEST_F(VirtualRss, FlowsComeInOnTheSameQueueBeforeAndAfterAReplug) {
    Mayfly a("mode=generate,flows=32");
    Vport port(devargs_of({&a}));
    ASSERT_EQ(port.up(pool(), shape()), 0);
    ASSERT_EQ(set_hash(port, RTE_ETH_RSS_NONFRAG_IPV4_UDP, fresh_key(40)), 0);
    ASSERT_EQ(set_table(port, made(128, [](std::size_t i) { return static_cast<std::uint16_t>(i % 3 + 1); })), 0);
    const auto queues = [&] {
        std::vector<int> out(32, -1);
        for (std::uint16_t queue = 0; queue < kQueues; queue++)
            for (int burst = 0; burst < 4; burst++) {
                std::array<rte_mbuf *, 32> got{};
                const std::uint16_t n = port.rx(got.data(), 32, queue);
                for (std::uint16_t i = 0; i < n; i++) {
                    const int flow =
                        rte_pmd_mayfly_read_flow(rte_pktmbuf_mtod(got[i], const unsigned char *), got[i]->pkt_len);
                    EXPECT_GE(flow, 0);
                    if (flow >= 0 && flow < 32)
                        out[static_cast<std::size_t>(flow)] = queue;
                }
                rte_pktmbuf_free_bulk(got.data(), n);
            }
        return out;
    };
    const std::vector<int> before = queues();
    for (const int queue : before)
        EXPECT_GE(queue, 1) << "none is lost, none goes where the table has no entry";
    replug(port, a, 0);
    EXPECT_EQ(queues(), before);
}

} // namespace
} // namespace holdfast::test
