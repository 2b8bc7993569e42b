// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ethdev marks some of the functions that are called here as experimental.
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

// For each slot of eth_dev_ops and each fast-path function that a driver of this project fills: the public function
// that ends there. The rows are in an order in which a port can live through them, from configure to close.

namespace holdfast::slots {

/// The port that the calls go to.
struct Subject {
    std::uint16_t port = 0;
    rte_mempool *pool = nullptr;
    std::uint64_t rx_offloads = 0; ///< what configure asks for
    bool rx_interrupts = false;    ///< does it ask for them, too?
};

struct Row {
    std::string_view op;                ///< as mayfly counts it; "" for a step that only prepares the next ones
    int (*call)(const Subject &);       ///< negative: failed
    std::vector<std::string_view> also; ///< what ethdev calls besides
};

inline int configure(const Subject &s, std::uint16_t rx, std::uint16_t tx) {
    rte_eth_conf conf{};
    conf.rxmode.mq_mode = rx > 1 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
    conf.rxmode.offloads = s.rx_offloads;
    conf.intr_conf.rxq = s.rx_interrupts ? 1 : 0;
    return rte_eth_dev_configure(s.port, rx, tx, &conf);
}
inline int rx_setup(const Subject &s, std::uint16_t queue) {
    return rte_eth_rx_queue_setup(s.port, queue, 128, 0, nullptr, s.pool);
}
inline int tx_setup(const Subject &s, std::uint16_t queue) {
    return rte_eth_tx_queue_setup(s.port, queue, 128, 0, nullptr);
}
/// Of the port's table, or a usual size if it has none.
inline std::uint16_t reta_size(const Subject &s) {
    rte_eth_dev_info info;
    return rte_eth_dev_info_get(s.port, &info) == 0 && info.reta_size != 0 ? info.reta_size : std::uint16_t{128};
}
inline rte_ether_addr other_mac() {
    return {{0x02, 0, 0, 0, 0x77, 1}};
}

inline std::vector<Row> rows() {
    using S = const Subject &;
    return {
        {"dev_configure", [](S s) { return configure(s, 2, 2); }, {"dev_infos_get"}},
        {"rx_queue_setup", [](S s) { return rx_setup(s, 0); }, {"dev_infos_get"}},
        {"tx_queue_setup", [](S s) { return tx_setup(s, 0); }, {"dev_infos_get"}},
        {"rx_queue_setup", [](S s) { return rx_setup(s, 1); }, {"dev_infos_get"}},
        {"tx_queue_setup", [](S s) { return tx_setup(s, 1); }, {"dev_infos_get"}},
        {"dev_start",
         [](S s) { return rte_eth_dev_start(s.port); },
         {"dev_infos_get", "mac_addr_set", "mac_addr_add", "promiscuous_enable", "promiscuous_disable",
          "allmulticast_enable", "allmulticast_disable", "link_update"}},

        {"dev_infos_get",
         [](S s) {
             rte_eth_dev_info info;
             return rte_eth_dev_info_get(s.port, &info);
         },
         {}},
        {"is_removed", [](S s) { return rte_eth_dev_is_removed(s.port); }, {}},
        {"link_update",
         [](S s) {
             rte_eth_link link;
             return rte_eth_link_get_nowait(s.port, &link);
         },
         {}},
        {"dev_set_link_down", [](S s) { return rte_eth_dev_set_link_down(s.port); }, {"link_update"}},
        {"dev_set_link_up", [](S s) { return rte_eth_dev_set_link_up(s.port); }, {"link_update"}},
        {"promiscuous_enable", [](S s) { return rte_eth_promiscuous_enable(s.port); }, {}},
        {"promiscuous_disable", [](S s) { return rte_eth_promiscuous_disable(s.port); }, {}},
        {"allmulticast_enable", [](S s) { return rte_eth_allmulticast_enable(s.port); }, {}},
        {"allmulticast_disable", [](S s) { return rte_eth_allmulticast_disable(s.port); }, {}},
        {"mac_addr_add",
         [](S s) {
             rte_ether_addr mac = other_mac();
             return rte_eth_dev_mac_addr_add(s.port, &mac, 0);
         },
         {"dev_infos_get"}},
        {"mac_addr_remove",
         [](S s) {
             rte_ether_addr mac = other_mac();
             return rte_eth_dev_mac_addr_remove(s.port, &mac);
         },
         {"dev_infos_get"}},
        {"mac_addr_set",
         [](S s) {
             rte_ether_addr mac = other_mac();
             return rte_eth_dev_default_mac_addr_set(s.port, &mac);
         },
         {"dev_infos_get"}},
        {"set_mc_addr_list",
         [](S s) {
             rte_ether_addr mac{{0x01, 0, 0x5e, 0, 0, 9}};
             return rte_eth_dev_set_mc_addr_list(s.port, &mac, 1);
         },
         {}},
        {"mtu_set", [](S s) { return rte_eth_dev_set_mtu(s.port, 1400); }, {"dev_infos_get"}},
        {"stats_get",
         [](S s) {
             rte_eth_stats stats;
             return rte_eth_stats_get(s.port, &stats);
         },
         {}},
        {"stats_reset", [](S s) { return rte_eth_stats_reset(s.port); }, {}},
        {"xstats_get_names",
         [](S s) {
             const int n = rte_eth_xstats_get_names(s.port, nullptr, 0);
             if (n <= 0)
                 return -1;
             std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(n));
             return rte_eth_xstats_get_names(s.port, names.data(), static_cast<unsigned>(n));
         },
         {"dev_infos_get"}},
        {"xstats_get",
         [](S s) {
             std::vector<rte_eth_xstat> values(4096);
             return rte_eth_xstats_get(s.port, values.data(), 4096);
         },
         {"xstats_get_names", "stats_get", "dev_infos_get"}},
        {"xstats_reset", [](S s) { return rte_eth_xstats_reset(s.port); }, {}},
        {"xstats_get_by_id",
         [](S s) {
             // Only ids beyond ethdev's own reach the driver by this way.
             std::uint64_t id = 0;
             std::uint64_t value = 0;
             (void)rte_eth_xstats_get_id_by_name(s.port, "mayfly_lives", &id);
             return rte_eth_xstats_get_by_id(s.port, &id, &value, 1);
         },
         {"xstats_get_names", "xstats_get_names_by_id", "xstats_get", "stats_get", "dev_infos_get"}},
        {"xstats_get_names_by_id",
         [](S s) {
             std::uint64_t id = 0;
             rte_eth_xstat_name name{};
             (void)rte_eth_xstats_get_id_by_name(s.port, "mayfly_lives", &id);
             return rte_eth_xstats_get_names_by_id(s.port, &name, 1, &id);
         },
         {"xstats_get_names", "stats_get", "dev_infos_get"}},
        {"rxq_info_get",
         [](S s) {
             rte_eth_rxq_info info;
             return rte_eth_rx_queue_info_get(s.port, 1, &info);
         },
         {}},
        {"txq_info_get",
         [](S s) {
             rte_eth_txq_info info;
             return rte_eth_tx_queue_info_get(s.port, 1, &info);
         },
         {}},
        {"rx_burst_mode_get",
         [](S s) {
             rte_eth_burst_mode mode;
             return rte_eth_rx_burst_mode_get(s.port, 0, &mode);
         },
         {}},
        {"tx_burst_mode_get",
         [](S s) {
             rte_eth_burst_mode mode;
             return rte_eth_tx_burst_mode_get(s.port, 0, &mode);
         },
         {}},
        {"fw_version_get",
         [](S s) {
             std::array<char, 64> text{};
             return rte_eth_dev_fw_version_get(s.port, text.data(), text.size());
         },
         {}},
        {"dev_supported_ptypes_get",
         [](S s) {
             std::array<std::uint32_t, 64> types{};
             return rte_eth_dev_get_supported_ptypes(s.port, RTE_PTYPE_ALL_MASK, types.data(),
                                                     static_cast<int>(types.size()));
         },
         {}},
        {"dev_ptypes_set",
         [](S s) {
             std::array<std::uint32_t, 64> types{};
             return rte_eth_dev_set_ptypes(s.port, RTE_PTYPE_L2_MASK, types.data(),
                                           static_cast<unsigned>(types.size()));
         },
         {"dev_supported_ptypes_get"}},
        {"vlan_filter_set", [](S s) { return rte_eth_dev_vlan_filter(s.port, 100, 1); }, {}},
        {"vlan_tpid_set",
         [](S s) { return rte_eth_dev_set_vlan_ether_type(s.port, RTE_ETH_VLAN_TYPE_OUTER, 0x88a8); },
         {}},
        {"vlan_strip_queue_set", [](S s) { return rte_eth_dev_set_vlan_strip_on_queue(s.port, 1, 1); }, {}},
        {"vlan_offload_set",
         [](S s) { return rte_eth_dev_set_vlan_offload(s.port, RTE_ETH_VLAN_FILTER_OFFLOAD); },
         {"dev_infos_get"}},
        {"vlan_pvid_set", [](S s) { return rte_eth_dev_set_vlan_pvid(s.port, 7, 1); }, {}},
        {"rx_queue_stop", [](S s) { return rte_eth_dev_rx_queue_stop(s.port, 1); }, {}},
        {"rx_queue_start", [](S s) { return rte_eth_dev_rx_queue_start(s.port, 1); }, {}},
        {"tx_queue_stop", [](S s) { return rte_eth_dev_tx_queue_stop(s.port, 1); }, {}},
        {"tx_queue_start", [](S s) { return rte_eth_dev_tx_queue_start(s.port, 1); }, {}},
        {"tx_done_cleanup", [](S s) { return rte_eth_tx_done_cleanup(s.port, 0, 0); }, {}},
        {"flow_ctrl_get",
         [](S s) {
             rte_eth_fc_conf conf{};
             return rte_eth_dev_flow_ctrl_get(s.port, &conf);
         },
         {}},
        {"flow_ctrl_set",
         [](S s) {
             rte_eth_fc_conf conf{};
             conf.mode = RTE_ETH_FC_FULL;
             return rte_eth_dev_flow_ctrl_set(s.port, &conf);
         },
         {}},
        {"rss_hash_update",
         [](S s) {
             rte_eth_rss_conf conf{};
             conf.rss_hf = RTE_ETH_RSS_IPV4;
             return rte_eth_dev_rss_hash_update(s.port, &conf);
         },
         {"dev_infos_get"}},
        {"rss_hash_conf_get",
         [](S s) {
             rte_eth_rss_conf conf{};
             return rte_eth_dev_rss_hash_conf_get(s.port, &conf);
         },
         {"dev_infos_get"}},
        {"reta_query",
         [](S s) {
             const std::uint16_t size = reta_size(s);
             std::vector<rte_eth_rss_reta_entry64> reta((size + 63U) / 64U);
             for (auto &entry : reta)
                 entry.mask = ~std::uint64_t{0};
             return rte_eth_dev_rss_reta_query(s.port, reta.data(), size);
         },
         {"dev_infos_get"}},
        {"reta_update",
         [](S s) {
             const std::uint16_t size = reta_size(s);
             std::vector<rte_eth_rss_reta_entry64> reta((size + 63U) / 64U);
             reta[0].mask = 1;
             reta[0].reta[0] = 1;
             return rte_eth_dev_rss_reta_update(s.port, reta.data(), size);
         },
         {"dev_infos_get"}},
        {"rx_queue_intr_enable", [](S s) { return rte_eth_dev_rx_intr_enable(s.port, 1); }, {}},
        {"rx_queue_intr_disable", [](S s) { return rte_eth_dev_rx_intr_disable(s.port, 1); }, {}},
        {"timesync_enable", [](S s) { return rte_eth_timesync_enable(s.port); }, {}},
        {"timesync_write_time",
         [](S s) {
             const timespec time{.tv_sec = 1, .tv_nsec = 0};
             return rte_eth_timesync_write_time(s.port, &time);
         },
         {}},
        {"timesync_read_time",
         [](S s) {
             timespec time{};
             return rte_eth_timesync_read_time(s.port, &time);
         },
         {}},
        {"timesync_adjust_time", [](S s) { return rte_eth_timesync_adjust_time(s.port, 1); }, {}},
        {"timesync_adjust_freq", [](S s) { return rte_eth_timesync_adjust_freq(s.port, 1); }, {}},
        // No packet has left a timestamp, so these two have none to give and say so.
        {"timesync_read_rx_timestamp",
         [](S s) {
             timespec time{};
             const int rc = rte_eth_timesync_read_rx_timestamp(s.port, &time, 0);
             return rc == -EINVAL ? 0 : rc;
         },
         {"is_removed"}},
        {"timesync_read_tx_timestamp",
         [](S s) {
             timespec time{};
             const int rc = rte_eth_timesync_read_tx_timestamp(s.port, &time);
             return rc == -EINVAL ? 0 : rc;
         },
         {"is_removed"}},
        {"timesync_disable", [](S s) { return rte_eth_timesync_disable(s.port); }, {}},
        {"read_clock",
         [](S s) {
             std::uint64_t clock = 0;
             return rte_eth_read_clock(s.port, &clock);
         },
         {}},
        {"eth_dev_priv_dump",
         [](S s) {
             std::FILE *file = std::tmpfile();
             if (file == nullptr)
                 return -1;
             const int rc = rte_eth_dev_priv_dump(s.port, file);
             std::fclose(file);
             return rc;
         },
         {"dev_infos_get"}},

        {"rx_burst",
         [](S s) {
             std::array<rte_mbuf *, 32> got{};
             const std::uint16_t n = rte_eth_rx_burst(s.port, 0, got.data(), 32);
             rte_pktmbuf_free_bulk(got.data(), n);
             return 0;
         },
         {}},
        {"tx_prepare",
         [](S s) {
             rte_mbuf *m = rte_pktmbuf_alloc(s.pool);
             const int rc = m != nullptr && rte_eth_tx_prepare(s.port, 0, &m, 1) == 1 ? 0 : -1;
             rte_pktmbuf_free(m);
             return rc;
         },
         {}},
        {"tx_burst",
         [](S s) {
             rte_mbuf *m = rte_pktmbuf_alloc(s.pool);
             if (m == nullptr || rte_pktmbuf_append(m, 60) == nullptr)
                 return -1;
             const std::uint16_t sent = rte_eth_tx_burst(s.port, 0, &m, 1);
             if (sent == 0)
                 rte_pktmbuf_free(m);
             return sent == 1 ? 0 : -1;
         },
         {}},
        {"rx_queue_count", [](S s) { return rte_eth_rx_queue_count(s.port, 0); }, {}},
        {"tx_queue_count", [](S s) { return rte_eth_tx_queue_count(s.port, 0); }, {}},
        {"rx_descriptor_status", [](S s) { return rte_eth_rx_descriptor_status(s.port, 0, 0); }, {}},
        {"tx_descriptor_status", [](S s) { return rte_eth_tx_descriptor_status(s.port, 0, 0); }, {}},

        {"dev_stop", [](S s) { return rte_eth_dev_stop(s.port); }, {"link_update"}},
        {"rx_queue_release", [](S s) { return configure(s, 1, 2); }, {"dev_configure", "dev_infos_get"}},
        {"tx_queue_release", [](S s) { return configure(s, 1, 1); }, {"dev_configure", "dev_infos_get"}},
        {"dev_reset",
         [](S s) { return rte_eth_dev_reset(s.port); },
         {"dev_stop", "dev_infos_get", "rx_queue_release", "tx_queue_release"}},
        {"dev_close",
         [](S s) { return rte_eth_dev_close(s.port); },
         {"dev_stop", "rx_queue_release", "tx_queue_release"}},
    };
}

} // namespace holdfast::slots
