// SPDX-License-Identifier: BSD-3-Clause
// What a port offers, and that it can be had: every operation, every limit, whatever comes later. (FAULTS.md, sections
// 3, 4.)
#include "support/stub_driver.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

class Capabilities : public WithPorts {};

// The order of ethdev's slots: each operation, called by its public function, arrives below as what it is.
TEST_F(Capabilities, EveryOperationReachesTheSubDeviceAsItself) {
    Mayfly m("mode=loop,lsc=0,rx_offloads=0xfffff"); // lsc=0: else ethdev answers for it
    Vport port(m.dev());
    ASSERT_EQ(port.rc(), 0);
    const std::uint16_t p = port.id();
    rte_ether_addr mac{{2, 0, 0, 0, 0, 1}}, more{{2, 0, 0, 0, 0, 2}};
    rte_eth_stats stats{};
    rte_mbuf *none[1]{};
    Shape shape{.rx_queues = 2, .tx_queues = 2, .descriptors = 64, .conf = {}, .deferred = true};
    shape.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;

    struct Call {
        const char *op;
        std::function<int()> call;
    };
    const std::vector<Call> calls{
        {"dev_configure", [&] { return port.configure(shape); }},
        {"rx_queue_setup", [&] { return port.set_up_queues(shape, pool()); }},
        {"dev_start", [&] { return port.start(); }},
        {"rx_queue_start", [&] { return rte_eth_dev_rx_queue_start(p, 1); }},
        {"tx_queue_start", [&] { return rte_eth_dev_tx_queue_start(p, 1); }},
        {"rx_burst", [&] { return rte_eth_rx_burst(p, 1, none, 1); }},
        {"tx_burst", [&] { return send(port, 1, 1) == 1 ? 0 : -1; }},
        {"tx_prepare", [&] { return rte_eth_tx_prepare(p, 1, none, 0); }},
        {"rx_queue_count", [&] { return rte_eth_rx_queue_count(p, 1) == 1 ? 0 : -1; }},
        {"tx_queue_count",
         [&] { return rte_eth_fp_ops[p].tx_queue_count(rte_eth_fp_ops[p].txq.data[1]) == 1 ? 0 : -1; }},
        {"rx_descriptor_status",
         [&] { return rte_eth_rx_descriptor_status(p, 1, 0) == RTE_ETH_RX_DESC_DONE ? 0 : -1; }},
        {"tx_descriptor_status",
         [&] { return rte_eth_tx_descriptor_status(p, 1, 0) == RTE_ETH_TX_DESC_FULL ? 0 : -1; }},
        {"tx_done_cleanup", [&] { return rte_eth_tx_done_cleanup(p, 1, 0); }},
        {"rx_queue_stop", [&] { return rte_eth_dev_rx_queue_stop(p, 1); }},
        {"tx_queue_stop", [&] { return rte_eth_dev_tx_queue_stop(p, 1); }},
        {"link_update", [&] { return port.link().link_status == RTE_ETH_LINK_UP ? 0 : -1; }},
        {"dev_set_link_down", [&] { return rte_eth_dev_set_link_down(p); }},
        {"dev_set_link_up", [&] { return rte_eth_dev_set_link_up(p); }},
        {"promiscuous_enable", [&] { return rte_eth_promiscuous_enable(p); }},
        {"promiscuous_disable", [&] { return rte_eth_promiscuous_disable(p); }},
        {"allmulticast_enable", [&] { return rte_eth_allmulticast_enable(p); }},
        {"allmulticast_disable", [&] { return rte_eth_allmulticast_disable(p); }},
        {"mac_addr_set", [&] { return rte_eth_dev_default_mac_addr_set(p, &mac); }},
        {"mac_addr_add", [&] { return rte_eth_dev_mac_addr_add(p, &more, 0); }},
        {"mac_addr_remove", [&] { return rte_eth_dev_mac_addr_remove(p, &more); }},
        {"set_mc_addr_list", [&] { return rte_eth_dev_set_mc_addr_list(p, &more, 1); }},
        {"mtu_set", [&] { return rte_eth_dev_set_mtu(p, 1600); }},
        {"vlan_filter_set", [&] { return rte_eth_dev_vlan_filter(p, 5, 1); }},
        {"vlan_offload_set",
         [&] { return rte_eth_dev_set_vlan_offload(p, RTE_ETH_VLAN_FILTER_OFFLOAD | RTE_ETH_VLAN_STRIP_OFFLOAD); }},
        {"dev_supported_ptypes_get",
         [&] { return rte_eth_dev_get_supported_ptypes(p, RTE_PTYPE_ALL_MASK, nullptr, 0) > 0 ? 0 : -1; }},
        {"stats_get", [&] { return rte_eth_stats_get(p, &stats); }},
        {"stats_reset", [&] { return rte_eth_stats_reset(p); }},
        {"stats_reset", [&] { return rte_eth_xstats_reset(p); }},
        {"dev_stop", [&] { return port.stop(); }},
        {"tx_queue_setup", [&] { return port.set_up_queues(shape, pool()); }},
        {"dev_reset", [&] { return rte_eth_dev_reset(p); }},
        {"rx_queue_release",
         [&] { return port.configure({.rx_queues = 1, .tx_queues = 1, .descriptors = 64, .conf = {}}); }},
        {"dev_close", [&] { return port.close(); }},
    };
    for (const Call &c : calls) {
        const std::int64_t before = m.calls(c.op);
        ASSERT_GE(before, 0) << c.op;
        EXPECT_EQ(c.call(), 0) << c.op;
        EXPECT_GT(m.calls(c.op), before) << c.op;
    }
    expect_no_late_access({&m});
}

// F41
TEST_F(Capabilities, WhatAPortWithoutSubDevicesOffersALaterOneCanMeet) {
    Mayfly m("max_mtu=1500,max_desc=4096,queues=64");
    for (const std::string &late : {m.devargs(), unique("net_null")}) {
        SCOPED_TRACE(late);
        auto holder = std::make_unique<Vport>("dev(" + late + ")"); // nobody else can have it meanwhile
        Vport port("hotplug_poll=20,dev(" + late + ")");
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        Shape shape{.rx_queues = info.max_rx_queues,
                    .tx_queues = info.max_tx_queues,
                    .descriptors = std::min(info.rx_desc_lim.nb_max, info.tx_desc_lim.nb_max),
                    .conf = {}};
        shape.conf.rxmode.offloads = info.rx_offload_capa;
        shape.conf.txmode.offloads = info.tx_offload_capa;
        shape.conf.rxmode.mtu = info.max_mtu;
        shape.conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
        ASSERT_EQ(port.up(pool(), shape), 0);
        EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
        holder.reset();
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(send(port), 1);
    }
}

// F41, F18: what an application can do without is no reason to keep a sub-device out.
TEST_F(Capabilities, ALateSubDeviceThatCanDoLessJoinsWithWhatItCan) {
    Mayfly poor("rx_offloads=0,tx_offloads=0,max_macs=2,max_desc=128,reta_size=0,hash_key_size=0,lsc=0,rmv=0,"
                "no_ops=allmulticast_enable;set_mc_addr_list;dev_set_link_up;vlan_filter_set;vlan_offload_set");
    for (const std::string &late : {poor.devargs(), unique("net_ring"), unique("net_null")}) {
        SCOPED_TRACE(late);
        Mayfly rich("mode=loop");
        auto holder = std::make_unique<Vport>("dev(" + late + ")"); // nobody else can have it meanwhile
        Vport port("hotplug_poll=20," + rich.dev() + ",dev(" + late + ")");
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        std::array<std::uint8_t, 40> key{};
        key.fill(0x6d);
        ASSERT_EQ(info.hash_key_size, key.size());
        Shape shape{.descriptors = 1024, .conf = {}};
        shape.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        shape.conf.rxmode.offloads = info.rx_offload_capa;
        shape.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        shape.conf.rx_adv_conf.rss_conf = {.rss_key = key.data(),
                                           .rss_key_len = static_cast<std::uint8_t>(key.size()),
                                           .rss_hf = info.flow_type_rss_offloads,
                                           .algorithm = RTE_ETH_HASH_FUNCTION_DEFAULT};
        ASSERT_EQ(port.up(pool(), shape), 0);
        for (std::uint8_t i = 1; i <= 6; i++) {
            rte_ether_addr mac{{2, 0, 0, 0, 9, i}};
            ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
            ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), i, 1), 0);
        }
        rte_ether_addr group{{3, 0, 0, 0, 9, 1}};
        ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port.id(), &group, 1), 0);
        ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
        ASSERT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
        ASSERT_EQ(rte_eth_dev_set_link_up(port.id()), 0);
        holder.reset();
        ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        ASSERT_TRUE(port.switch_to(1).ok());
        EXPECT_EQ(send(port, 4), 4);
        rich.unplug();
        EXPECT_EQ(send(port, 4), 4);
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        while (receive(port) != 0) // what net_ring has got is still in it
            if (late.starts_with("net_null"))
                break; // that one never ends
    }
}

// F41: and what it relies on is; a configuration without it lets the sub-device in.
TEST_F(Capabilities, ALateSubDeviceWithoutAnOffloadThatTheApplicationReliesOnIsRefusedWithTheReason) {
    Mayfly a, late("tx_offloads=0");
    late.unplug();
    Vport port(devargs_of({&a, &late}));
    Shape shape;
    shape.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    ASSERT_EQ(port.up(pool(), shape), 0);
    late.plug();
    EXPECT_TRUE(eventually([&] {
        return port.sub(1).reason == "cannot do without a transmit offload that the application relies on: "
                                     "Operation not supported";
    })) << port.sub(1).reason;
    EXPECT_EQ(send(port), 1);
    ASSERT_EQ(port.stop(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
}

// F41: the number of queues is not narrowed without sub-devices, or no application could use more than one then.
TEST_F(Capabilities, ALateSubDeviceWithFewerQueuesThanTheApplicationUsesIsRefusedWithTheReasonAndTriedAgain) {
    for (const bool alone : {true, false}) {
        SCOPED_TRACE(alone ? "no other sub-device" : "another one carries the traffic");
        Mayfly late("queues=1"), other;
        late.unplug();
        Vport port(devargs_of(alone ? std::vector<const Mayfly *>{&late} : std::vector<const Mayfly *>{&late, &other},
                              "hotplug_poll=2"));
        const Shape four{.rx_queues = 4, .tx_queues = 4, .conf = {}};
        ASSERT_EQ(port.up(pool(), four), 0);
        late.plug();
        const char *reason = "cannot use as many queues on a sub-device as the port has: Invalid argument";
        EXPECT_TRUE(eventually([&] { return port.sub(0).reason == reason; })) << port.sub(0).reason;
        EXPECT_TRUE(eventually([&] { return late.count(RTE_PMD_MAYFLY_LIVES) >= 3; })) << "it is tried again";
        EXPECT_EQ(port.sub(0).reason, reason);
        EXPECT_FALSE(port.sub(0).joined);
        EXPECT_EQ(send(port, 2, 3), alone ? 0 : 2);
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.up(pool()), 0);
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(send(port, 2), 2);
    }
}

// F46
TEST_F(Capabilities, NoLimitThatAPortOverUnlikeSubDevicesGivesMakesASetUpFail) {
    Mayfly one("queues=1,min_desc=8,max_desc=128"), many("queues=16,min_desc=64,max_desc=4096,desc_align=32");
    Vport port(devargs_of({&one, &many}));
    for (const int away : {0, 1, 2}) {
        SCOPED_TRACE(away);
        if (away > 0) {
            (away == 1 ? one : many).unplug();
            ASSERT_TRUE(eventually([&] { return port.state(static_cast<std::size_t>(away - 1)) == "absent"; }));
        }
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        EXPECT_EQ(info.max_rx_queues, away == 0 ? 1 : away == 1 ? 16 : 64);
        EXPECT_EQ(info.rx_desc_lim.nb_max, away == 0 ? 128 : 4096);
        EXPECT_EQ(info.rx_desc_lim.nb_align, away == 2 ? 1 : 32);
        ASSERT_LE(info.rx_desc_lim.nb_min, info.rx_desc_lim.nb_max);
        for (const std::uint16_t descriptors : {std::uint16_t{0}, info.rx_desc_lim.nb_min, info.rx_desc_lim.nb_max}) {
            const Shape shape{.rx_queues = info.max_rx_queues,
                              .tx_queues = info.max_tx_queues,
                              .descriptors = descriptors, // 0: ethdev takes the default
                              .conf = {}};
            EXPECT_EQ(port.up(pool(), shape), 0) << descriptors;
            EXPECT_EQ(send(port), away == 2 ? 0 : 1);
            EXPECT_EQ(port.stop(), 0);
        }
    }
}

// F46: some drivers clear the limits that ethdev has filled in, and ethdev divides by this one.
TEST_F(Capabilities, ASubDeviceWhoseRingSizesHaveNoUnitIsRefusedAndThePortComesUpWithoutIt) {
    const StubDriver driver("holdfast_unitless", {.ring_unit = 0});
    Mayfly m("mode=loop");
    Vport port("hotplug_poll=5,dev(" + driver.device() + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.sub(0).reason,
              "cannot use a sub-device that gives 0 as the unit of its ring sizes: Invalid argument");
    EXPECT_EQ(StubDriver::port(driver.device()), RTE_MAX_ETHPORTS) << "given back";
    EXPECT_EQ(send(port, 2), 2);
    EXPECT_EQ(receive(port), 2);
}

} // namespace
} // namespace holdfast::test
