// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sweep_rig.h"

#include <ethdev_driver.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

/// One row for each operation that the driver fills. A new one needs a row here, or dpdk.sweep_ops fails.
namespace holdfast::test {

struct Row {
    const char *slot;
    std::size_t offset;
    Bench::Stage stage{};
    int (*call)(const Bench &) = nullptr; ///< null: see `elsewhere`
    int (*prepare)(const Bench &) = nullptr;
    /// Operations below whose failure ethdev keeps to itself, so that nobody can know it, or that do not matter: the
    /// call succeeds.
    std::vector<std::string_view> silent{};
    /// Groups of facts that ethdev itself gives up when the call fails (the queues of a port that could not be
    /// configured), or that nobody can give back.
    std::vector<std::string_view> loses{};
    bool runs = true;                ///< may lcores poll meanwhile?
    const char *elsewhere = nullptr; ///< what tries it instead
};

#define SWEEP_SLOT(name) .slot = #name, .offset = offsetof(eth_dev_ops, name)

namespace sweep {

using B = const Bench &;
using Stage = Bench::Stage;

inline int another_configuration(B b) {
    Shape shape = Bench::shape();
    shape.conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    return b.port().configure(shape);
}
inline int rx_setup(B b, std::uint16_t q) {
    return rte_eth_rx_queue_setup(b.id(), q, 128, 0, nullptr, b.pool());
}
inline int tx_setup(B b, std::uint16_t q) {
    return rte_eth_tx_queue_setup(b.id(), q, 128, 0, nullptr);
}
inline std::vector<rte_eth_rss_reta_entry64> table_of(B b) {
    rte_eth_dev_info info{};
    EXPECT_EQ(rte_eth_dev_info_get(b.id(), &info), 0);
    rte_eth_rss_reta_entry64 all{};
    all.mask = ~std::uint64_t{0};
    return std::vector(info.reta_size / RTE_ETH_RETA_GROUP_SIZE, all);
}
inline int all_to_queue_1(B b) {
    auto table = table_of(b);
    for (rte_eth_rss_reta_entry64 &group : table)
        std::fill(std::begin(group.reta), std::end(group.reta), std::uint16_t{1});
    return rte_eth_dev_rss_reta_update(b.id(), table.data(),
                                       static_cast<std::uint16_t>(table.size() * RTE_ETH_RETA_GROUP_SIZE));
}
inline int at_least_0(int rc) {
    return rc < 0 ? rc : 0;
}

} // namespace sweep

inline std::vector<Row> sweep_rows() {
    using sweep::B;
    using Stage = Bench::Stage;
    return {
        {SWEEP_SLOT(dev_configure), .stage = Stage::kQueues, .call = sweep::another_configuration,
         .loses = {"queue", "link"}, .runs = false},
        // The first time: there is no configuration to go back to, and ethdev has no way to take one back.
        {SWEEP_SLOT(dev_configure), .stage = Stage::kProbed, .call = sweep::another_configuration,
         .loses = {"queue", "told", "view"}, .runs = false},
        {SWEEP_SLOT(dev_start), .stage = Stage::kQueues, .call = [](B b) { return b.port().start(); },
         .silent = {"mac_addr_add", "dev_infos_get"}, // the first look-up is for an address
         .runs = false},
        {SWEEP_SLOT(dev_start), .stage = Stage::kStarted, .call = [](B b) { return b.port().start(); },
         .prepare = [](B b) { return b.port().stop(); }, .silent = {"mac_addr_set", "mac_addr_add"}, .runs = false},
        // ethdev took the port out of the traffic before it asked, so the others are stopped all the same.
        {SWEEP_SLOT(dev_stop), .stage = Stage::kStarted, .call = [](B b) { return b.port().stop(); },
         .loses = {"told", "queue", "link", "states", "view"}, .runs = false},
        {SWEEP_SLOT(dev_reset), .stage = Stage::kQueues, .call = [](B b) { return rte_eth_dev_reset(b.id()); },
         .runs = false},
        {SWEEP_SLOT(dev_close), .elsewhere = "dpdk.sweep_plug"},
        {SWEEP_SLOT(dev_set_link_up), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_set_link_up(b.id()); },
         .prepare = [](B b) { return rte_eth_dev_set_link_down(b.id()); }},
        {SWEEP_SLOT(dev_set_link_down), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_set_link_down(b.id()); }},
        {SWEEP_SLOT(link_update), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_link link{};
                 return rte_eth_link_get_nowait(b.id(), &link);
             }},
        {SWEEP_SLOT(promiscuous_enable), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_promiscuous_enable(b.id()); }},
        {SWEEP_SLOT(promiscuous_disable), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_promiscuous_disable(b.id()); },
         .prepare = [](B b) { return rte_eth_promiscuous_enable(b.id()); }},
        {SWEEP_SLOT(allmulticast_enable), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_allmulticast_enable(b.id()); }},
        {SWEEP_SLOT(allmulticast_disable), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_allmulticast_disable(b.id()); },
         .prepare = [](B b) { return rte_eth_allmulticast_enable(b.id()); }},
        {SWEEP_SLOT(mac_addr_remove), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_ether_addr mac = ether(11);
                 return rte_eth_dev_mac_addr_remove(b.id(), &mac);
             },
         .silent = {"mac_addr_remove", "dev_infos_get"}},
        {SWEEP_SLOT(mac_addr_add), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_ether_addr mac = ether(13);
                 return rte_eth_dev_mac_addr_add(b.id(), &mac, 0);
             },
         .silent = {"dev_infos_get"}},
        {SWEEP_SLOT(mac_addr_set), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_ether_addr mac = ether(14);
                 return rte_eth_dev_default_mac_addr_set(b.id(), &mac);
             },
         .silent = {"dev_infos_get"}},
        {SWEEP_SLOT(set_mc_addr_list), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 std::array list{ether(23, 3)};
                 return rte_eth_dev_set_mc_addr_list(b.id(), list.data(), 1);
             }},
        {SWEEP_SLOT(mtu_set), .stage = Stage::kStarted, .call = [](B b) { return rte_eth_dev_set_mtu(b.id(), 3000); }},
        {SWEEP_SLOT(stats_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_stats stats{};
                 return rte_eth_stats_get(b.id(), &stats);
             }},
        {SWEEP_SLOT(stats_reset), .stage = Stage::kStarted, .call = [](B b) { return rte_eth_stats_reset(b.id()); }},
        {SWEEP_SLOT(xstats_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 std::vector<rte_eth_xstat> values(512);
                 return sweep::at_least_0(rte_eth_xstats_get(b.id(), values.data(), 512));
             }},
        {SWEEP_SLOT(xstats_reset), .stage = Stage::kStarted, .call = [](B b) { return rte_eth_xstats_reset(b.id()); }},
        {SWEEP_SLOT(xstats_get_names), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 std::vector<rte_eth_xstat_name> names(512);
                 return sweep::at_least_0(rte_eth_xstats_get_names(b.id(), names.data(), 512));
             }},
        {SWEEP_SLOT(dev_infos_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_dev_info info{};
                 return rte_eth_dev_info_get(b.id(), &info);
             }},
        {SWEEP_SLOT(rxq_info_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_rxq_info info{};
                 return rte_eth_rx_queue_info_get(b.id(), 1, &info);
             }},
        {SWEEP_SLOT(txq_info_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_txq_info info{};
                 return rte_eth_tx_queue_info_get(b.id(), 1, &info);
             }},
        // A sub-device that names no type is not distinguished from one that has none.
        {SWEEP_SLOT(dev_supported_ptypes_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 std::array<std::uint32_t, 64> types{};
                 return sweep::at_least_0(
                     rte_eth_dev_get_supported_ptypes(b.id(), RTE_PTYPE_ALL_MASK, types.data(), 64));
             },
         .silent = {"dev_supported_ptypes_get"}},
        {SWEEP_SLOT(vlan_filter_set), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_vlan_filter(b.id(), 7, 1); }},
        {SWEEP_SLOT(vlan_filter_set), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_vlan_filter(b.id(), 5, 0); }},
        {SWEEP_SLOT(vlan_offload_set), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 return rte_eth_dev_set_vlan_offload(b.id(), RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD);
             }},
        {SWEEP_SLOT(rss_hash_update), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_rss_conf conf{};
                 conf.rss_hf = RTE_ETH_RSS_IPV4;
                 return rte_eth_dev_rss_hash_update(b.id(), &conf);
             }},
        {SWEEP_SLOT(rss_hash_conf_get), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 rte_eth_rss_conf conf{};
                 return rte_eth_dev_rss_hash_conf_get(b.id(), &conf);
             }},
        {SWEEP_SLOT(reta_update), .stage = Stage::kStarted, .call = sweep::all_to_queue_1},
        {SWEEP_SLOT(reta_query), .stage = Stage::kStarted,
         .call =
             [](B b) {
                 auto table = sweep::table_of(b);
                 return rte_eth_dev_rss_reta_query(b.id(), table.data(),
                                                   static_cast<std::uint16_t>(table.size() * RTE_ETH_RETA_GROUP_SIZE));
             }},
        {SWEEP_SLOT(rx_queue_start), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_rx_queue_start(b.id(), 1); },
         .prepare = [](B b) { return rte_eth_dev_rx_queue_stop(b.id(), 1); }},
        {SWEEP_SLOT(rx_queue_stop), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_rx_queue_stop(b.id(), 1); }},
        {SWEEP_SLOT(tx_queue_start), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_tx_queue_start(b.id(), 1); },
         .prepare = [](B b) { return rte_eth_dev_tx_queue_stop(b.id(), 1); }},
        {SWEEP_SLOT(tx_queue_stop), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_dev_tx_queue_stop(b.id(), 1); }},
        // ethdev has no way to take the set-up of one queue back.
        {SWEEP_SLOT(rx_queue_setup), .stage = Stage::kConfigured, .call = [](B b) { return sweep::rx_setup(b, 0); },
         .loses = {"queue"}, .runs = false},
        {SWEEP_SLOT(tx_queue_setup), .stage = Stage::kConfigured, .call = [](B b) { return sweep::tx_setup(b, 0); },
         .loses = {"queue"}, .runs = false},
        // ethdev releases a queue before it is set up again, and cannot fail at that.
        {SWEEP_SLOT(rx_queue_release), .stage = Stage::kQueues, .call = [](B b) { return sweep::rx_setup(b, 1); },
         .loses = {"queue"}, .runs = false},
        {SWEEP_SLOT(tx_queue_release), .stage = Stage::kQueues, .call = [](B b) { return sweep::tx_setup(b, 1); },
         .loses = {"queue"}, .runs = false},
        {SWEEP_SLOT(tx_done_cleanup), .stage = Stage::kStarted,
         .call = [](B b) { return rte_eth_tx_done_cleanup(b.id(), 0, 0); }},
        {SWEEP_SLOT(get_restore_flags), .elsewhere = "each start: it makes no call below"},
    };
}

} // namespace holdfast::test
