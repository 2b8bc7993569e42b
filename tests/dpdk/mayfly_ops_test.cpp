// SPDX-License-Identifier: BSD-3-Clause
// Every operation by DPDK's public functions: it reaches the slot it was meant for, is counted, can be ordered to fail,
// and what it sets is remembered.
#include "mayfly_rig.h"

#include <cstring>
#include <functional>
#include <map>

namespace holdfast::mayfly::rig {
namespace {

using MayflyOps = StartedMayfly;

// Two of the functions are not stable yet, which their header says by a deprecation.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int tx_queue_count(std::uint16_t port) {
    return rte_eth_tx_queue_count(port, 0);
}
int priv_dump(std::uint16_t port, FILE *file) {
    return rte_eth_dev_priv_dump(port, file);
}
#pragma GCC diagnostic pop

const rte_ether_addr kMac = {{0x02, 1, 2, 3, 4, 5}};
const rte_ether_addr kGroup = {{0x01, 0, 0x5e, 0, 0, 1}};

/// One public call for each operation that there is one for. What it returns when the operation fails is ethdev's
/// matter.
std::map<std::string, std::function<int(std::uint16_t)>> public_calls(rte_mempool *pool) {
    static rte_ether_addr mac, group;
    mac = kMac;
    group = kGroup;
    return {
        {"dev_set_link_up", [](std::uint16_t p) { return rte_eth_dev_set_link_up(p); }},
        {"dev_set_link_down", [](std::uint16_t p) { return rte_eth_dev_set_link_down(p); }},
        {"is_removed", [](std::uint16_t p) { return rte_eth_dev_is_removed(p); }},
        {"promiscuous_enable", [](std::uint16_t p) { return rte_eth_promiscuous_enable(p); }},
        {"promiscuous_disable", [](std::uint16_t p) { return rte_eth_promiscuous_disable(p); }},
        {"allmulticast_enable", [](std::uint16_t p) { return rte_eth_allmulticast_enable(p); }},
        {"allmulticast_disable", [](std::uint16_t p) { return rte_eth_allmulticast_disable(p); }},
        {"mac_addr_add", [](std::uint16_t p) { return rte_eth_dev_mac_addr_add(p, &mac, 0); }},
        {"mac_addr_remove", [](std::uint16_t p) { return rte_eth_dev_mac_addr_remove(p, &mac); }},
        {"mac_addr_set", [](std::uint16_t p) { return rte_eth_dev_default_mac_addr_set(p, &mac); }},
        {"set_mc_addr_list", [](std::uint16_t p) { return rte_eth_dev_set_mc_addr_list(p, &group, 1); }},
        {"mtu_set", [](std::uint16_t p) { return rte_eth_dev_set_mtu(p, 1400); }},
        {"stats_get",
         [](std::uint16_t p) {
             rte_eth_stats s;
             return rte_eth_stats_get(p, &s);
         }},
        {"stats_reset", [](std::uint16_t p) { return rte_eth_stats_reset(p); }},
        {"xstats_get_names", [](std::uint16_t p) { return rte_eth_xstats_get_names(p, nullptr, 0); }},
        {"xstats_get",
         [](std::uint16_t p) {
             rte_eth_xstat x[64];
             return rte_eth_xstats_get(p, x, 64);
         }},
        {"xstats_reset", [](std::uint16_t p) { return rte_eth_xstats_reset(p); }},
        {"dev_infos_get",
         [](std::uint16_t p) {
             rte_eth_dev_info i;
             return rte_eth_dev_info_get(p, &i);
         }},
        {"rxq_info_get",
         [](std::uint16_t p) {
             rte_eth_rxq_info i;
             return rte_eth_rx_queue_info_get(p, 0, &i);
         }},
        {"txq_info_get",
         [](std::uint16_t p) {
             rte_eth_txq_info i;
             return rte_eth_tx_queue_info_get(p, 0, &i);
         }},
        {"rx_burst_mode_get",
         [](std::uint16_t p) {
             rte_eth_burst_mode m;
             return rte_eth_rx_burst_mode_get(p, 0, &m);
         }},
        {"tx_burst_mode_get",
         [](std::uint16_t p) {
             rte_eth_burst_mode m;
             return rte_eth_tx_burst_mode_get(p, 0, &m);
         }},
        {"fw_version_get",
         [](std::uint16_t p) {
             char t[32];
             return rte_eth_dev_fw_version_get(p, t, sizeof(t));
         }},
        {"dev_supported_ptypes_get",
         [](std::uint16_t p) { return rte_eth_dev_get_supported_ptypes(p, RTE_PTYPE_ALL_MASK, nullptr, 0); }},
        {"dev_ptypes_set", [](std::uint16_t p) { return rte_eth_dev_set_ptypes(p, RTE_PTYPE_L2_MASK, nullptr, 0); }},
        {"vlan_filter_set", [](std::uint16_t p) { return rte_eth_dev_vlan_filter(p, 5, 1); }},
        {"vlan_tpid_set",
         [](std::uint16_t p) { return rte_eth_dev_set_vlan_ether_type(p, RTE_ETH_VLAN_TYPE_OUTER, 0x88a8); }},
        {"vlan_strip_queue_set", [](std::uint16_t p) { return rte_eth_dev_set_vlan_strip_on_queue(p, 1, 1); }},
        {"vlan_offload_set",
         [](std::uint16_t p) {
             return rte_eth_dev_set_vlan_offload(p, RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD);
         }},
        {"vlan_pvid_set", [](std::uint16_t p) { return rte_eth_dev_set_vlan_pvid(p, 7, 1); }},
        {"rx_queue_stop", [](std::uint16_t p) { return rte_eth_dev_rx_queue_stop(p, 1); }},
        {"rx_queue_start",
         [](std::uint16_t p) {
             (void)rte_eth_dev_rx_queue_stop(p, 1);
             return rte_eth_dev_rx_queue_start(p, 1);
         }},
        {"tx_queue_stop", [](std::uint16_t p) { return rte_eth_dev_tx_queue_stop(p, 1); }},
        {"tx_queue_start",
         [](std::uint16_t p) {
             (void)rte_eth_dev_tx_queue_stop(p, 1);
             return rte_eth_dev_tx_queue_start(p, 1);
         }},
        {"rx_queue_setup",
         [pool](std::uint16_t p) {
             (void)rte_eth_dev_rx_queue_stop(p, 1);
             return rte_eth_rx_queue_setup(p, 1, 256, 0, nullptr, pool);
         }},
        {"tx_queue_setup",
         [](std::uint16_t p) {
             (void)rte_eth_dev_tx_queue_stop(p, 1);
             return rte_eth_tx_queue_setup(p, 1, 256, 0, nullptr);
         }},
        {"tx_done_cleanup", [](std::uint16_t p) { return rte_eth_tx_done_cleanup(p, 0, 0); }},
        {"flow_ctrl_get",
         [](std::uint16_t p) {
             rte_eth_fc_conf c = {};
             return rte_eth_dev_flow_ctrl_get(p, &c);
         }},
        {"flow_ctrl_set",
         [](std::uint16_t p) {
             rte_eth_fc_conf c = {};
             return rte_eth_dev_flow_ctrl_set(p, &c);
         }},
        {"rss_hash_update",
         [](std::uint16_t p) {
             rte_eth_rss_conf c = {};
             return rte_eth_dev_rss_hash_update(p, &c);
         }},
        {"rss_hash_conf_get",
         [](std::uint16_t p) {
             rte_eth_rss_conf c = {};
             return rte_eth_dev_rss_hash_conf_get(p, &c);
         }},
        {"reta_update",
         [](std::uint16_t p) {
             rte_eth_rss_reta_entry64 r[2] = {};
             r[0].mask = 1;
             return rte_eth_dev_rss_reta_update(p, r, 128);
         }},
        {"reta_query",
         [](std::uint16_t p) {
             rte_eth_rss_reta_entry64 r[2] = {};
             r[0].mask = 1;
             return rte_eth_dev_rss_reta_query(p, r, 128);
         }},
        {"eth_dev_priv_dump",
         [](std::uint16_t p) {
             FILE *null = std::fopen("/dev/null", "w");
             const int rc = priv_dump(p, null);
             std::fclose(null);
             return rc;
         }},
        {"rx_burst",
         [](std::uint16_t p) {
             rte_mbuf *m[1];
             return int{rte_eth_rx_burst(p, 0, m, 1)};
         }},
        {"tx_burst",
         [](std::uint16_t p) {
             rte_mbuf *m[1];
             return int{rte_eth_tx_burst(p, 0, m, 0)};
         }},
        {"tx_prepare",
         [](std::uint16_t p) {
             rte_mbuf *m[1];
             return int{rte_eth_tx_prepare(p, 0, m, 0)};
         }},
        {"rx_queue_count", [](std::uint16_t p) { return rte_eth_rx_queue_count(p, 0); }},
        {"tx_queue_count", [](std::uint16_t p) { return tx_queue_count(p); }},
        {"rx_descriptor_status", [](std::uint16_t p) { return rte_eth_rx_descriptor_status(p, 0, 0); }},
        {"tx_descriptor_status", [](std::uint16_t p) { return rte_eth_tx_descriptor_status(p, 0, 0); }},
        {"link_update",
         [](std::uint16_t p) {
             rte_eth_link link;
             (void)rte_eth_dev_stop(p); // a port with this interrupt does not ask while it runs
             rte_eth_conf conf = {};
             (void)rte_eth_dev_configure(p, 2, 2, &conf);
             return rte_eth_link_get_nowait(p, &link);
         }},
        {"dev_reset", [](std::uint16_t p) { return rte_eth_dev_reset(p); }},
    };
}

TEST_F(MayflyOps, EachPublicFunctionReachesItsSlotAndIsCountedOnce) {
    const auto all = public_calls(pool_);
    for (const auto &[op, call] : all) {
        if (op == "link_update" || op == "dev_reset" || op.ends_with("disable"))
            continue; // below. (The map goes by name: mac_addr_add comes before mac_addr_remove.)
        const std::int64_t before = calls(name_, op.c_str());
        const int rc = call(id_);
        EXPECT_GE(rc, 0) << op;
        EXPECT_EQ(calls(name_, op.c_str()), before + 1) << op;
        if (op.starts_with("rx_queue_s"))
            (void)rte_eth_dev_rx_queue_start(id_, 1);
        if (op.starts_with("tx_queue_s"))
            (void)rte_eth_dev_tx_queue_start(id_, 1);
    }
    for (const char *op : {"promiscuous_disable", "allmulticast_disable", "link_update", "dev_reset"}) {
        const std::int64_t before = calls(name_, op);
        EXPECT_GE(all.at(op)(id_), 0) << op;
        EXPECT_EQ(calls(name_, op), before + 1) << op;
    }
}

TEST_F(MayflyOps, EveryOperationIsReachedByATest) {
    const auto all = public_calls(pool_);
    const std::map<std::string, int> elsewhere = {
        {"probe", 1},    {"remove", 1},    {"dev_configure", 1},    {"dev_start", 1},
        {"dev_stop", 1}, {"dev_close", 1}, {"rx_queue_release", 1}, {"tx_queue_release", 1}};
    for (unsigned i = 0; rte_pmd_mayfly_op_name(i) != nullptr; i++) {
        const std::string op = rte_pmd_mayfly_op_name(i);
        EXPECT_TRUE(all.contains(op) || elsewhere.contains(op)) << op;
    }
}

TEST_F(MayflyOps, EachFailsAsOrderedAndWorksAgain) {
    for (const char *op : {"mtu_set", "allmulticast_enable", "set_mc_addr_list", "vlan_pvid_set", "flow_ctrl_set",
                           "stats_get", "dev_infos_get", "reta_update", "tx_done_cleanup", "rx_queue_count"}) {
        const auto call = public_calls(pool_).at(op);
        ASSERT_EQ(fail(op, 1, EPERM), 0) << op;
        EXPECT_EQ(call(id_), -EPERM) << op;
        EXPECT_GE(call(id_), 0) << op;
    }
}

TEST_F(MayflyOps, WhatWasSetIsRemembered) {
    rte_ether_addr mac = kMac;
    rte_ether_addr other = {{0x02, 9, 9, 9, 9, 9}};
    rte_ether_addr group = kGroup;
    ASSERT_EQ(rte_eth_dev_set_mtu(id_, 9000), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(id_), 0);
    ASSERT_EQ(rte_eth_allmulticast_enable(id_), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(id_, &mac, 0), 0);
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(id_, &other), 0);
    ASSERT_EQ(rte_eth_dev_set_mc_addr_list(id_, &group, 1), 0);
    for (const std::uint16_t vlan : std::initializer_list<std::uint16_t>{0, 1, 63, 64, 127, 4095})
        ASSERT_EQ(rte_eth_dev_vlan_filter(id_, vlan, 1), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(id_, 64, 0), 0);
    ASSERT_EQ(rte_eth_dev_set_link_down(id_), 0);

    const rte_pmd_mayfly_settings s = told();
    EXPECT_EQ(s.mtu, 9000);
    EXPECT_EQ(s.promiscuous, 1);
    EXPECT_EQ(s.allmulticast, 1);
    EXPECT_EQ(s.link_wanted, 0);
    EXPECT_EQ(s.started, 1);
    EXPECT_EQ(s.rx_queues, 2);
    EXPECT_EQ(std::memcmp(s.mac, other.addr_bytes, 6), 0);
    EXPECT_EQ(s.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER, RTE_ETH_RX_OFFLOAD_VLAN_FILTER);

    std::uint8_t macs[4][6] = {};
    ASSERT_EQ(rte_pmd_mayfly_macs(name_.c_str(), macs, 4), 1);
    EXPECT_EQ(std::memcmp(macs[0], mac.addr_bytes, 6), 0);
    ASSERT_EQ(rte_pmd_mayfly_mc_macs(name_.c_str(), macs, 4), 1);
    EXPECT_EQ(std::memcmp(macs[0], group.addr_bytes, 6), 0);
    std::array<std::uint16_t, 8> vlans{};
    ASSERT_EQ(rte_pmd_mayfly_vlans(name_.c_str(), vlans.data(), 8), 5);
    EXPECT_THAT(vlans, testing::ElementsAre(0, 1, 63, 127, 4095, 0, 0, 0));
    EXPECT_EQ(rte_pmd_mayfly_vlans(name_.c_str(), vlans.data(), 2), 5)
        << "says how many there are when they do not fit";
    ASSERT_EQ(rte_eth_dev_mac_addr_remove(id_, &mac), 0);
    EXPECT_EQ(told().macs, 0);
}

TEST_F(MayflyOps, DeferredQueuesWaitForTheirStart) {
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name, "mode=generate"), 0);
    const std::uint16_t id = port(name);
    const rte_eth_conf conf = interrupts();
    ASSERT_EQ(rte_eth_dev_configure(id, 2, 2, &conf), 0);
    rte_eth_rxconf deferred = {};
    deferred.rx_deferred_start = 1;
    ASSERT_EQ(rte_eth_rx_queue_setup(id, 0, 128, 0, &deferred, pool_), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(id, 1, 128, 0, nullptr, pool_), 0);
    for (std::uint16_t i = 0; i < 2; i++)
        ASSERT_EQ(rte_eth_tx_queue_setup(id, i, 128, 0, nullptr), 0);
    ASSERT_EQ(rte_eth_dev_start(id), 0);
    EXPECT_EQ(receive(id, 0), 0u);
    EXPECT_EQ(receive(id, 1), kBurst);
    rte_eth_rxq_info info;
    ASSERT_EQ(rte_eth_rx_queue_info_get(id, 0, &info), 0);
    EXPECT_EQ(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
    ASSERT_EQ(rte_eth_dev_rx_queue_start(id, 0), 0);
    EXPECT_EQ(receive(id, 0), kBurst);
    ASSERT_EQ(rte_eth_dev_rx_queue_stop(id, 0), 0);
    EXPECT_EQ(receive(id, 0), 0u);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_LATE_CALLS), 0) << "a stopped queue of a started port is no late call";
}

TEST_F(MayflyOps, ADeviceCanLackOperationsAndAbilities) {
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name, "no_ops=allmulticast_enable;mtu_set;rx_queue_count,max_queues=2,max_macs=3,max_mtu=1500,"
                          "rx_offloads=0,tx_offloads=0x8000,min_desc=64,max_desc=128,desc_align=64"),
              0);
    const std::uint16_t id = port(name);
    rte_eth_dev_info info;
    ASSERT_EQ(rte_eth_dev_info_get(id, &info), 0);
    EXPECT_EQ(info.max_rx_queues, 2);
    EXPECT_EQ(info.max_mac_addrs, 3u);
    EXPECT_EQ(info.max_mtu, 1500);
    EXPECT_EQ(info.rx_offload_capa, 0u);
    EXPECT_EQ(info.tx_offload_capa, 0x8000u);
    const rte_eth_conf conf = interrupts();
    EXPECT_EQ(rte_eth_dev_configure(id, 3, 3, &conf), -EINVAL);
    ASSERT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    EXPECT_EQ(rte_eth_rx_queue_setup(id, 0, 256, 0, nullptr, pool_), -EINVAL);
    set_up_queues(id, 1, 128);
    ASSERT_EQ(rte_eth_dev_start(id), 0);
    EXPECT_EQ(rte_eth_allmulticast_enable(id), -ENOTSUP);
    EXPECT_EQ(rte_eth_dev_set_mtu(id, 1400), -ENOTSUP);
    EXPECT_EQ(rte_eth_rx_queue_count(id, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_promiscuous_enable(id), 0);
    rte_ether_addr mac = kMac;
    EXPECT_EQ(rte_eth_dev_mac_addr_add(id, &mac, 0), 0);
    mac.addr_bytes[5]++;
    EXPECT_EQ(rte_eth_dev_mac_addr_add(id, &mac, 0), 0);
    mac.addr_bytes[5]++;
    EXPECT_EQ(rte_eth_dev_mac_addr_add(id, &mac, 0), -ENOSPC);
}

} // namespace
} // namespace holdfast::mayfly::rig
