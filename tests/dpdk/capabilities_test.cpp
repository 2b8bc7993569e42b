// SPDX-License-Identifier: BSD-3-Clause
// What a port offers, and that it can be had: every operation, every limit, whatever comes later. (FAULTS.md, sections
// 3, 4.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
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
         [&] { return rte_eth_dev_get_supported_ptypes(p, RTE_PTYPE_ALL_MASK, nullptr, 0) == 1 ? 0 : -1; }},
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

} // namespace
} // namespace holdfast::test
