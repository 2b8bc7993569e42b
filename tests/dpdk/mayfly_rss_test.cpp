// SPDX-License-Identifier: BSD-3-Clause
// Flows over several queues: RSS spreads them, a change of its table, key or functions moves them; and what each queue
// counted.
#include "mayfly_rig.h"

#include <rte_ip.h>
#include <rte_thash.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace holdfast::mayfly::rig {
namespace {

constexpr std::uint16_t kQueues = 4;
constexpr std::uint16_t kFlows = 64;
constexpr std::uint16_t kReta = 128;

class MayflyRss : public MayflyTest {
  protected:
    std::uint16_t bring_up_rss(const std::string &args, std::uint64_t functions = RTE_ETH_RSS_NONFRAG_IPV4_UDP,
                               rte_eth_rx_mq_mode mode = RTE_ETH_MQ_RX_RSS) {
        name_ = fresh_name();
        EXPECT_EQ(probe(name_, args), 0) << args;
        const std::uint16_t id = port(name_);
        rte_eth_conf conf = interrupts();
        conf.rxmode.mq_mode = mode;
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
        if (mode == RTE_ETH_MQ_RX_RSS) {
            conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
            conf.rx_adv_conf.rss_conf.rss_hf = functions;
        }
        EXPECT_EQ(rte_eth_dev_configure(id, kQueues, kQueues, &conf), 0);
        set_up_queues(id, kQueues);
        EXPECT_EQ(rte_eth_dev_start(id), 0);
        return id;
    }

    /// Which queue each flow came in on. Every packet has to be whole, and its hash the one of its tuple.
    std::map<int, std::uint16_t> flows_by_queue(std::uint16_t id, bool hashed = true) {
        std::map<int, std::uint16_t> queues;
        for (std::uint16_t queue = 0; queue < kQueues; queue++) {
            for (int burst = 0; burst < 4; burst++) {
                std::array<rte_mbuf *, kFlows> got{};
                const std::uint16_t n = rte_eth_rx_burst(id, queue, got.data(), kFlows);
                for (std::uint16_t i = 0; i < n; i++) {
                    check(*got[i], queue, hashed);
                    const int flow =
                        rte_pmd_mayfly_read_flow(rte_pktmbuf_mtod(got[i], std::uint8_t *), got[i]->pkt_len);
                    const auto [at, fresh] = queues.emplace(flow, queue);
                    EXPECT_EQ(at->second, queue) << "flow " << flow << " came in on two queues";
                    rte_pktmbuf_free(got[i]);
                }
            }
        }
        return queues;
    }
    void check(const rte_mbuf &m, std::uint16_t queue, bool hashed) {
        const auto *data = rte_pktmbuf_mtod(&m, const std::uint8_t *);
        rte_pmd_mayfly_stamp stamp;
        ASSERT_EQ(rte_pmd_mayfly_read_stamp(data, m.pkt_len, &stamp), 1);
        EXPECT_EQ(stamp.queue, queue);
        EXPECT_EQ(stamp.sequence, next_[queue]++) << "numbers go up by one on each queue, whatever flow it is";
        rte_ipv4_hdr ip;
        std::memcpy(&ip, data + RTE_ETHER_HDR_LEN, sizeof(ip));
        const rte_be16_t sum = ip.hdr_checksum;
        ip.hdr_checksum = 0;
        EXPECT_EQ(rte_ipv4_cksum(&ip), sum);
        EXPECT_EQ(rte_be_to_cpu_16(ip.total_length) + RTE_ETHER_HDR_LEN, m.pkt_len);
        EXPECT_NE(m.ol_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD, 0u);
        EXPECT_EQ(m.packet_type, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP);
        EXPECT_EQ((m.ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, hashed);
        if (hashed) {
            EXPECT_EQ(m.hash.rss, dpdks_hash(ip, data));
        }
    }
    /// The hash by DPDK's own function, which wants its words in the order of the machine.
    std::uint32_t dpdks_hash(const rte_ipv4_hdr &ip, const std::uint8_t *data) const {
        const auto half = [&](std::size_t at) { return static_cast<std::uint32_t>(data[at] << 8 | data[at + 1]); };
        std::uint32_t tuple[3] = {rte_be_to_cpu_32(ip.src_addr), rte_be_to_cpu_32(ip.dst_addr),
                                  half(34) << 16 | half(36)};
        return rte_softrss(tuple, 3, key_.data());
    }
    void read_key(std::uint16_t id) {
        rte_eth_rss_conf conf = {};
        conf.rss_key = key_.data();
        conf.rss_key_len = static_cast<std::uint8_t>(key_.size());
        ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(id, &conf), 0);
        EXPECT_EQ(conf.rss_key_len, 40);
    }
    static int set_reta(std::uint16_t id, const std::function<std::uint16_t(unsigned)> &queue_of) {
        rte_eth_rss_reta_entry64 reta[kReta / 64] = {};
        for (unsigned i = 0; i < kReta; i++) {
            reta[i / 64].mask = ~std::uint64_t{0};
            reta[i / 64].reta[i % 64] = queue_of(i);
        }
        return rte_eth_dev_rss_reta_update(id, reta, kReta);
    }

    std::string name_;
    std::array<std::uint8_t, 64> key_{};
    std::array<std::uint64_t, kQueues> next_{};
};

TEST_F(MayflyRss, SpreadsTheFlowsOverAllQueues) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64");
    read_key(id);
    const auto queues = flows_by_queue(id);
    EXPECT_EQ(queues.size(), kFlows) << "every flow comes in somewhere";
    std::set<std::uint16_t> used;
    for (const auto &[flow, queue] : queues)
        used.insert(queue);
    EXPECT_EQ(used.size(), kQueues);
    EXPECT_EQ(queues.begin()->first, 0);
    EXPECT_EQ(queues.rbegin()->first, kFlows - 1);
}

TEST_F(MayflyRss, AChangedTableMovesExactlyTheFlowsOfItsEntries) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64");
    read_key(id);
    const auto before = flows_by_queue(id);
    ASSERT_EQ(set_reta(id, [](unsigned i) { return static_cast<std::uint16_t>(i % 2); }), 0);
    const auto after = flows_by_queue(id);
    ASSERT_EQ(after.size(), kFlows);
    for (const auto &[flow, queue] : after)
        EXPECT_EQ(queue, before.at(flow) % 2) << flow; // the table was i % 4 before
    ASSERT_EQ(set_reta(id, [](unsigned) { return std::uint16_t{3}; }), 0);
    for (const auto &[flow, queue] : flows_by_queue(id))
        EXPECT_EQ(queue, 3);
    rte_eth_rss_reta_entry64 reta[2] = {};
    reta[1].mask = 1;
    ASSERT_EQ(rte_eth_dev_rss_reta_query(id, reta, kReta), 0);
    EXPECT_EQ(reta[1].reta[0], 3);
}

TEST_F(MayflyRss, AnotherKeyOrOtherFunctionsMoveFlows) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64");
    read_key(id);
    const auto before = flows_by_queue(id);
    std::array<std::uint8_t, 40> key{};
    for (std::size_t i = 0; i < key.size(); i++)
        key[i] = static_cast<std::uint8_t>(i * 37 + 11);
    rte_eth_rss_conf conf = {};
    conf.rss_key = key.data();
    conf.rss_key_len = 40;
    conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    ASSERT_EQ(rte_eth_dev_rss_hash_update(id, &conf), 0);
    read_key(id);
    EXPECT_TRUE(std::equal(key.begin(), key.end(), key_.begin()));
    const auto after = flows_by_queue(id); // checks each hash against the new key
    ASSERT_EQ(after.size(), kFlows);
    EXPECT_NE(after, before);
    conf.rss_key = nullptr;
    conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV6_TCP;
    ASSERT_EQ(rte_eth_dev_rss_hash_update(id, &conf), 0);
    for (const auto &[flow, queue] : flows_by_queue(id, false))
        EXPECT_EQ(queue, 0) << "no function is for these packets";
}

TEST_F(MayflyRss, WithoutRssAllFlowsComeInOnQueueZeroAndItsSettingsAreRefused) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64", 0, RTE_ETH_MQ_RX_NONE);
    const auto queues = flows_by_queue(id, false);
    EXPECT_EQ(queues.size(), kFlows);
    for (const auto &[flow, queue] : queues)
        EXPECT_EQ(queue, 0);
    EXPECT_EQ(set_reta(id, [](unsigned) { return std::uint16_t{1}; }), -ENOTSUP);
}

TEST_F(MayflyRss, TablesAndKeysHaveTheSizesThatWereAskedFor) {
    for (const auto &[reta, key] : {std::pair{64, 40}, {128, 52}, {512, 40}}) {
        const std::uint16_t id = bring_up_rss("mode=generate,flows=8,reta_size=" + std::to_string(reta) +
                                              ",hash_key_size=" + std::to_string(key));
        rte_eth_dev_info info;
        ASSERT_EQ(rte_eth_dev_info_get(id, &info), 0);
        EXPECT_EQ(info.reta_size, reta);
        EXPECT_EQ(info.hash_key_size, key);
        std::vector<rte_eth_rss_reta_entry64> table(static_cast<std::size_t>(reta) / 64);
        table.back().mask = std::uint64_t{1} << 63;
        EXPECT_EQ(rte_eth_dev_rss_reta_query(id, table.data(), static_cast<std::uint16_t>(reta)), 0);
        EXPECT_EQ(table.back().reta[63], (reta - 1) % kQueues);
        EXPECT_EQ(rte_eth_dev_rss_reta_query(id, table.data(), static_cast<std::uint16_t>(reta == 64 ? 128 : 64)),
                  -EINVAL);
        next_ = {};
    }
}

TEST_F(MayflyRss, ARateIsThatOfAllFlowsTogether) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64,rate=20000");
    const auto start = std::chrono::steady_clock::now();
    unsigned got = 0;
    while (got < 2000) // 100 ms, if it holds
        for (std::uint16_t queue = 0; queue < kQueues; queue++)
            got += receive(id, queue);
    const auto passed = std::chrono::steady_clock::now() - start;
    EXPECT_GE(passed, std::chrono::milliseconds(80)) << "not faster than it was told";
}

TEST_F(MayflyRss, EachQueueCountsForItself) {
    const std::uint16_t id = bring_up_rss("mode=generate,flows=64");
    std::array<unsigned, kQueues> got{};
    for (std::uint16_t queue = 0; queue < kQueues; queue++)
        for (int i = 0; i <= queue; i++)
            got[queue] += receive(id, queue);
    ASSERT_EQ(send(id, 2, 5), 5u);
    rte_eth_stats stats;
    ASSERT_EQ(rte_eth_stats_get(id, &stats), 0);
    std::uint64_t sum = 0;
    for (std::uint16_t queue = 0; queue < kQueues; queue++) {
        EXPECT_EQ(stats.q_ipackets[queue], got[queue]);
        EXPECT_EQ(stats.q_ibytes[queue], got[queue] * 74ull);
        sum += got[queue];
    }
    EXPECT_EQ(stats.ipackets, sum);
    EXPECT_EQ(stats.q_opackets[2], 5u);

    const auto value = [id](const std::string &name) {
        std::uint64_t which = 0;
        EXPECT_EQ(rte_eth_xstats_get_id_by_name(id, name.c_str(), &which), 0) << name;
        std::uint64_t number = 0;
        EXPECT_EQ(rte_eth_xstats_get_by_id(id, &which, &number, 1), 1) << name;
        rte_eth_xstat_name read = {};
        EXPECT_EQ(rte_eth_xstats_get_names_by_id(id, &read, 1, &which), 1) << name;
        EXPECT_EQ(read.name, name);
        return number;
    };
    EXPECT_EQ(value("mayfly_rx_q3_packets"), got[3]);
    EXPECT_EQ(value("mayfly_rx_q3_polls"), 4u);
    EXPECT_EQ(value("mayfly_rx_q0_polls"), 1u);
    EXPECT_EQ(value("mayfly_tx_q2_packets"), 5u);
    EXPECT_EQ(value("mayfly_tx_q1_bursts"), 0u);
    EXPECT_EQ(value("mayfly_lives"), 1u);

    const int count = rte_eth_xstats_get_names(id, nullptr, 0);
    ASSERT_GT(count, 4 + kQueues * 11);
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
    std::vector<rte_eth_xstat> values(static_cast<std::size_t>(count));
    ASSERT_EQ(rte_eth_xstats_get_names(id, names.data(), static_cast<unsigned>(count)), count);
    ASSERT_EQ(rte_eth_xstats_get(id, values.data(), static_cast<unsigned>(count)), count);
    std::set<std::string> unique;
    for (const rte_eth_xstat_name &name : names)
        unique.insert(name.name);
    EXPECT_EQ(unique.size(), static_cast<std::size_t>(count)) << "no name twice";

    ASSERT_EQ(rte_eth_xstats_reset(id), 0);
    EXPECT_EQ(value("mayfly_rx_q3_packets"), 0u);
    EXPECT_EQ(value("mayfly_rx_q3_polls"), 0u);
    EXPECT_EQ(value("rx_good_packets"), 0u);
    EXPECT_EQ(value("mayfly_lives"), 1u) << "not a count of what happened";
    const std::uint64_t none = 4096;
    std::uint64_t number = 0;
    EXPECT_LT(rte_eth_xstats_get_by_id(id, &none, &number, 1), 0);
}

} // namespace
} // namespace holdfast::mayfly::rig
