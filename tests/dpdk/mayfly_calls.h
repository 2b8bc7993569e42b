// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ethdev marks some of the functions that are called here as experimental.
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif

#include "mayfly_rig.h"

#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <string>

/// Every operation of a mayfly, by the public function that ends in it.
namespace holdfast::mayfly::rig {

inline const rte_ether_addr kMac = {{0x02, 1, 2, 3, 4, 5}};
inline const rte_ether_addr kGroup = {{0x01, 0, 0x5e, 0, 0, 1}};

inline int with_timesync(std::uint16_t port, int (*read)(std::uint16_t, timespec *)) {
    timespec time;
    (void)rte_eth_timesync_enable(port);
    return read(port, &time);
}

/// One public call for each operation that there is one for. What it returns when the operation fails is ethdev's
/// matter.
inline std::map<std::string, std::function<int(std::uint16_t)>> public_calls(rte_mempool *pool) {
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
        {"xstats_get_by_id",
         [](std::uint16_t p) {
             std::uint64_t id = 0, value = 0;
             (void)rte_eth_xstats_get_id_by_name(p, "mayfly_lives", &id);
             return rte_eth_xstats_get_by_id(p, &id, &value, 1);
         }},
        {"xstats_get_names_by_id",
         [](std::uint16_t p) {
             std::uint64_t id = 0;
             rte_eth_xstat_name name = {};
             (void)rte_eth_xstats_get_id_by_name(p, "mayfly_drained", &id);
             return rte_eth_xstats_get_names_by_id(p, &name, 1, &id);
         }},
        {"rx_queue_intr_enable", [](std::uint16_t p) { return rte_eth_dev_rx_intr_enable(p, 0); }},
        {"rx_queue_intr_disable", [](std::uint16_t p) { return rte_eth_dev_rx_intr_disable(p, 0); }},
        {"timesync_enable", [](std::uint16_t p) { return rte_eth_timesync_enable(p); }},
        {"timesync_read_time", [](std::uint16_t p) { return with_timesync(p, rte_eth_timesync_read_time); }},
        {"timesync_write_time",
         [](std::uint16_t p) {
             const timespec then = {.tv_sec = 7, .tv_nsec = 0};
             (void)rte_eth_timesync_enable(p);
             return rte_eth_timesync_write_time(p, &then);
         }},
        {"timesync_adjust_time",
         [](std::uint16_t p) {
             (void)rte_eth_timesync_enable(p);
             return rte_eth_timesync_adjust_time(p, 1);
         }},
        {"timesync_adjust_freq",
         [](std::uint16_t p) {
             (void)rte_eth_timesync_enable(p);
             return rte_eth_timesync_adjust_freq(p, 1);
         }},
        // No packet has left a timestamp: that it says so is its answer.
        {"timesync_read_rx_timestamp",
         [](std::uint16_t p) {
             timespec time;
             return rte_eth_timesync_read_rx_timestamp(p, &time, 0) == -EINVAL ? 0 : -1;
         }},
        {"timesync_read_tx_timestamp",
         [](std::uint16_t p) {
             timespec time;
             return rte_eth_timesync_read_tx_timestamp(p, &time) == -EINVAL ? 0 : -1;
         }},
        {"timesync_disable", [](std::uint16_t p) { return rte_eth_timesync_disable(p); }},
        {"read_clock",
         [](std::uint16_t p) {
             std::uint64_t clock;
             return rte_eth_read_clock(p, &clock);
         }},
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
             const int rc = rte_eth_dev_priv_dump(p, null);
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
        {"tx_queue_count", [](std::uint16_t p) { return rte_eth_tx_queue_count(p, 0); }},
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

} // namespace holdfast::mayfly::rig
