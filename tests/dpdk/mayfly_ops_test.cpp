// SPDX-License-Identifier: BSD-3-Clause
// Every operation by DPDK's public functions: it reaches the slot it was meant for, is counted, can be ordered to fail,
// and what it sets is remembered.
#include "mayfly_calls.h"

#include <cstring>
#include <map>

namespace holdfast::mayfly::rig {
namespace {

using MayflyOps = StartedMayfly;

TEST_F(MayflyOps, EachPublicFunctionReachesItsSlotAndIsCountedOnce) {
    const auto all = public_calls(pool_);
    for (const auto &[op, call] : all) {
        if (op == "link_update" || op == "dev_reset" || op.ends_with("cast_disable") || op == "promiscuous_disable")
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
