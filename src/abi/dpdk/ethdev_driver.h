/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet device as its driver sees it, for ABI 25.0 (DPDK 24.11) and 26.0 (25.11). See dev_driver.h for why this
 * file exists.
 *
 * Every field is here and in its place. Slots of eth_dev_ops that no driver of this project fills have the type
 * `holdfast_empty_slot`: they keep their place and their real name, but cannot be filled by mistake.
 */
#pragma once

#include <dev_driver.h>
#include <rte_ethdev.h>
#include <rte_version.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define RTE_ETHDEV_QUEUE_STAT_CNTRS 16

/* Counters of queues, for stats_get. In 24.11 these fields are the end of rte_eth_stats. */
struct eth_queue_stats {
    uint64_t q_ipackets[RTE_ETHDEV_QUEUE_STAT_CNTRS];
    uint64_t q_opackets[RTE_ETHDEV_QUEUE_STAT_CNTRS];
    uint64_t q_ibytes[RTE_ETHDEV_QUEUE_STAT_CNTRS];
    uint64_t q_obytes[RTE_ETHDEV_QUEUE_STAT_CNTRS];
    uint64_t q_errors[RTE_ETHDEV_QUEUE_STAT_CNTRS];
};
#endif

struct eth_dev_ops;
struct rte_flow_fp_ops;
struct rte_flow_ops;

/* One element of the lists of callbacks that ethdev runs after Rx and before Tx. */
struct rte_eth_rxtx_callback {
    RTE_ATOMIC(struct rte_eth_rxtx_callback *) next;
    union {
        rte_rx_callback_fn rx;
        rte_tx_callback_fn tx;
    } fn;
    void *param;
};

/*
 * The part of a port that belongs to one process. ethdev copies the burst functions and the queue arrays into
 * rte_eth_fp_ops when the port starts, and only then.
 */
struct __rte_cache_aligned rte_eth_dev {
    eth_rx_burst_t rx_pkt_burst;
    eth_tx_burst_t tx_pkt_burst;
    eth_tx_prep_t tx_pkt_prepare;
    eth_rx_queue_count_t rx_queue_count;
    eth_rx_descriptor_status_t rx_descriptor_status;
    eth_tx_queue_count_t tx_queue_count;
    eth_tx_descriptor_status_t tx_descriptor_status;
    eth_recycle_tx_mbufs_reuse_t recycle_tx_mbufs_reuse;
    eth_recycle_rx_descriptors_refill_t recycle_rx_descriptors_refill;

    struct rte_eth_dev_data *data;
    void *process_private; /* ethdev sets it to NULL when the port is released */
    const struct eth_dev_ops *dev_ops;
    const struct rte_flow_fp_ops *flow_fp_ops;
    struct rte_device *device;
    struct rte_intr_handle *intr_handle;

    struct rte_eth_dev_cb_list link_intr_cbs;
    RTE_ATOMIC(struct rte_eth_rxtx_callback *) post_rx_burst_cbs[RTE_MAX_QUEUES_PER_PORT];
    RTE_ATOMIC(struct rte_eth_rxtx_callback *) pre_tx_burst_cbs[RTE_MAX_QUEUES_PER_PORT];

    enum rte_eth_dev_state state;
    void *security_ctx;
};

/* The part of a port that all processes share. ethdev frees dev_private and mac_addrs with rte_free at release. */
struct __rte_cache_aligned rte_eth_dev_data {
    char name[RTE_ETH_NAME_MAX_LEN];

    void **rx_queues;
    void **tx_queues;
    uint16_t nb_rx_queues;
    uint16_t nb_tx_queues;

    struct rte_eth_dev_sriov sriov;

    void *dev_private;

    struct rte_eth_link dev_link;
    struct rte_eth_conf dev_conf;
    uint16_t mtu;

    uint32_t min_rx_buf_size;

    uint64_t rx_mbuf_alloc_failed;

    struct rte_ether_addr *mac_addrs;
    uint64_t mac_pool_sel[RTE_ETH_NUM_RECEIVE_MAC_ADDR];
    struct rte_ether_addr *hash_mac_addrs;

    uint16_t port_id;

    __extension__ uint8_t promiscuous : 1, scattered_rx : 1, all_multicast : 1, dev_started : 1, lro : 1,
        dev_configured : 1, flow_configured : 1;

    uint8_t rx_queue_state[RTE_MAX_QUEUES_PER_PORT];
    uint8_t tx_queue_state[RTE_MAX_QUEUES_PER_PORT];

    uint32_t dev_flags;
    int numa_node;

    struct rte_vlan_filter_conf vlan_filter_conf;

    struct rte_eth_dev_owner owner;

    uint16_t representor_id;
    uint16_t backer_port_id;

    pthread_mutex_t flow_ops_mutex;
};

extern struct rte_eth_dev rte_eth_devices[];

/* What ethdev may restore by itself after a start; see get_restore_flags. */
enum rte_eth_dev_operation {
    RTE_ETH_START,
};
#define RTE_ETH_RESTORE_MAC_ADDR RTE_BIT64(0)
#define RTE_ETH_RESTORE_PROMISC RTE_BIT64(1)
#define RTE_ETH_RESTORE_ALLMULTI RTE_BIT64(2)
#define RTE_ETH_RESTORE_ALL (RTE_ETH_RESTORE_MAC_ADDR | RTE_ETH_RESTORE_PROMISC | RTE_ETH_RESTORE_ALLMULTI)

typedef int (*eth_dev_simple_op_t)(struct rte_eth_dev *dev);
typedef int (*eth_link_update_t)(struct rte_eth_dev *dev, int wait_to_complete);
typedef void (*eth_mac_addr_remove_t)(struct rte_eth_dev *dev, uint32_t index);
typedef int (*eth_mac_addr_add_t)(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t index, uint32_t vmdq);
typedef int (*eth_mac_addr_set_t)(struct rte_eth_dev *dev, struct rte_ether_addr *mac);
typedef int (*eth_set_mc_addr_list_t)(struct rte_eth_dev *dev, struct rte_ether_addr *list, uint32_t count);
typedef int (*mtu_set_t)(struct rte_eth_dev *dev, uint16_t mtu);
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
/* `queues` may be NULL */
typedef int (*eth_stats_get_t)(struct rte_eth_dev *dev, struct rte_eth_stats *stats, struct eth_queue_stats *queues);
#else
typedef int (*eth_stats_get_t)(struct rte_eth_dev *dev, struct rte_eth_stats *stats);
#endif
typedef int (*eth_xstats_get_t)(struct rte_eth_dev *dev, struct rte_eth_xstat *stats, unsigned int n);
typedef int (*eth_xstats_get_names_t)(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n);
typedef int (*eth_xstats_get_by_id_t)(struct rte_eth_dev *dev, const uint64_t *ids, uint64_t *values, unsigned int n);
typedef int (*eth_xstats_get_names_by_id_t)(struct rte_eth_dev *dev, const uint64_t *ids,
                                            struct rte_eth_xstat_name *names, unsigned int n);
typedef int (*eth_dev_infos_get_t)(struct rte_eth_dev *dev, struct rte_eth_dev_info *info);
typedef void (*eth_rxq_info_get_t)(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_rxq_info *info);
typedef void (*eth_txq_info_get_t)(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_txq_info *info);
typedef void (*eth_recycle_rxq_info_get_t)(struct rte_eth_dev *dev, uint16_t queue,
                                           struct rte_eth_recycle_rxq_info *info);
typedef int (*eth_burst_mode_get_t)(struct rte_eth_dev *dev, uint16_t queue, struct rte_eth_burst_mode *mode);
typedef int (*eth_fw_version_get_t)(struct rte_eth_dev *dev, char *text, size_t size);
typedef const uint32_t *(*eth_dev_supported_ptypes_get_t)(struct rte_eth_dev *dev, size_t *count);
typedef int (*eth_dev_ptypes_set_t)(struct rte_eth_dev *dev, uint32_t mask);
typedef int (*vlan_filter_set_t)(struct rte_eth_dev *dev, uint16_t vlan, int on);
typedef int (*vlan_tpid_set_t)(struct rte_eth_dev *dev, enum rte_vlan_type type, uint16_t tpid);
typedef void (*vlan_strip_queue_set_t)(struct rte_eth_dev *dev, uint16_t queue, int on);
typedef int (*vlan_offload_set_t)(struct rte_eth_dev *dev, int mask);
typedef int (*vlan_pvid_set_t)(struct rte_eth_dev *dev, uint16_t vlan, int on);
typedef int (*eth_queue_start_t)(struct rte_eth_dev *dev, uint16_t queue);
typedef int (*eth_queue_stop_t)(struct rte_eth_dev *dev, uint16_t queue);
typedef int (*eth_rx_queue_setup_t)(struct rte_eth_dev *dev, uint16_t queue, uint16_t descriptors, unsigned int socket,
                                    const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
typedef int (*eth_tx_queue_setup_t)(struct rte_eth_dev *dev, uint16_t queue, uint16_t descriptors, unsigned int socket,
                                    const struct rte_eth_txconf *conf);
typedef void (*eth_queue_release_t)(struct rte_eth_dev *dev, uint16_t queue);
typedef int (*eth_tx_done_cleanup_t)(void *txq, uint32_t free_cnt);
typedef int (*flow_ctrl_get_t)(struct rte_eth_dev *dev, struct rte_eth_fc_conf *conf);
typedef int (*flow_ctrl_set_t)(struct rte_eth_dev *dev, struct rte_eth_fc_conf *conf);
typedef int (*rss_hash_update_t)(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
typedef int (*rss_hash_conf_get_t)(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
typedef int (*reta_update_t)(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta, uint16_t size);
typedef int (*reta_query_t)(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta, uint16_t size);
typedef int (*eth_timesync_stamp_rx_t)(struct rte_eth_dev *dev, struct timespec *time, uint32_t flags);
typedef int (*eth_timesync_get_t)(struct rte_eth_dev *dev, struct timespec *time);
typedef int (*eth_timesync_set_t)(struct rte_eth_dev *dev, const struct timespec *time);
typedef int (*eth_timesync_adjust_t)(struct rte_eth_dev *dev, int64_t by);
typedef int (*eth_read_clock_t)(struct rte_eth_dev *dev, uint64_t *clock);
typedef int (*eth_flow_ops_get_t)(struct rte_eth_dev *dev, const struct rte_flow_ops **ops);
typedef int (*eth_dev_priv_dump_t)(struct rte_eth_dev *dev, FILE *file);
typedef uint64_t (*eth_get_restore_flags_t)(struct rte_eth_dev *dev, enum rte_eth_dev_operation op);

/* A slot that this project never fills. */
typedef void (*holdfast_empty_slot)(void);

struct eth_dev_ops {
    eth_dev_simple_op_t dev_configure;
    eth_dev_simple_op_t dev_start;
    eth_dev_simple_op_t dev_stop;
    eth_dev_simple_op_t dev_set_link_up;
    eth_dev_simple_op_t dev_set_link_down;
    eth_dev_simple_op_t dev_close;
    eth_dev_simple_op_t dev_reset;
    eth_link_update_t link_update;
    holdfast_empty_slot speed_lanes_get;
    holdfast_empty_slot speed_lanes_set;
    holdfast_empty_slot speed_lanes_get_capa;
    eth_dev_simple_op_t is_removed;
    eth_dev_simple_op_t promiscuous_enable;
    eth_dev_simple_op_t promiscuous_disable;
    eth_dev_simple_op_t allmulticast_enable;
    eth_dev_simple_op_t allmulticast_disable;
    eth_mac_addr_remove_t mac_addr_remove;
    eth_mac_addr_add_t mac_addr_add;
    eth_mac_addr_set_t mac_addr_set;
    eth_set_mc_addr_list_t set_mc_addr_list;
    mtu_set_t mtu_set;
    eth_stats_get_t stats_get;
    eth_dev_simple_op_t stats_reset;
    eth_xstats_get_t xstats_get;
    eth_dev_simple_op_t xstats_reset;
    eth_xstats_get_names_t xstats_get_names;
    holdfast_empty_slot queue_stats_mapping_set;
    eth_dev_infos_get_t dev_infos_get;
    eth_rxq_info_get_t rxq_info_get;
    eth_txq_info_get_t txq_info_get;
    eth_recycle_rxq_info_get_t recycle_rxq_info_get;
    eth_burst_mode_get_t rx_burst_mode_get;
    eth_burst_mode_get_t tx_burst_mode_get;
    eth_fw_version_get_t fw_version_get;
    eth_dev_supported_ptypes_get_t dev_supported_ptypes_get;
    eth_dev_ptypes_set_t dev_ptypes_set;
    vlan_filter_set_t vlan_filter_set;
    vlan_tpid_set_t vlan_tpid_set;
    vlan_strip_queue_set_t vlan_strip_queue_set;
    vlan_offload_set_t vlan_offload_set;
    vlan_pvid_set_t vlan_pvid_set;
    eth_queue_start_t rx_queue_start;
    eth_queue_stop_t rx_queue_stop;
    eth_queue_start_t tx_queue_start;
    eth_queue_stop_t tx_queue_stop;
    eth_rx_queue_setup_t rx_queue_setup;
    eth_queue_release_t rx_queue_release;
    eth_queue_start_t rx_queue_intr_enable;
    eth_queue_start_t rx_queue_intr_disable;
    eth_tx_queue_setup_t tx_queue_setup;
    eth_queue_release_t tx_queue_release;
    eth_tx_done_cleanup_t tx_done_cleanup;
    holdfast_empty_slot dev_led_on;
    holdfast_empty_slot dev_led_off;
    flow_ctrl_get_t flow_ctrl_get;
    flow_ctrl_set_t flow_ctrl_set;
    holdfast_empty_slot priority_flow_ctrl_set;
    holdfast_empty_slot priority_flow_ctrl_queue_info_get;
    holdfast_empty_slot priority_flow_ctrl_queue_config;
    holdfast_empty_slot uc_hash_table_set;
    holdfast_empty_slot uc_all_hash_table_set;
    holdfast_empty_slot udp_tunnel_port_add;
    holdfast_empty_slot udp_tunnel_port_del;
    holdfast_empty_slot set_queue_rate_limit;
    rss_hash_update_t rss_hash_update;
    rss_hash_conf_get_t rss_hash_conf_get;
    reta_update_t reta_update;
    reta_query_t reta_query;
    holdfast_empty_slot get_reg;
    holdfast_empty_slot get_eeprom_length;
    holdfast_empty_slot get_eeprom;
    holdfast_empty_slot set_eeprom;
    holdfast_empty_slot get_module_info;
    holdfast_empty_slot get_module_eeprom;
    eth_flow_ops_get_t flow_ops_get;
    holdfast_empty_slot get_dcb_info;
    eth_dev_simple_op_t timesync_enable;
    eth_dev_simple_op_t timesync_disable;
    eth_timesync_stamp_rx_t timesync_read_rx_timestamp;
    eth_timesync_get_t timesync_read_tx_timestamp;
    eth_timesync_adjust_t timesync_adjust_time;
    eth_timesync_adjust_t timesync_adjust_freq;
    eth_timesync_get_t timesync_read_time;
    eth_timesync_set_t timesync_write_time;
    eth_read_clock_t read_clock;
    eth_xstats_get_by_id_t xstats_get_by_id;
    eth_xstats_get_names_by_id_t xstats_get_names_by_id;
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
    holdfast_empty_slot xstats_enable;
    holdfast_empty_slot xstats_disable;
    holdfast_empty_slot xstats_query_state;
#endif
    holdfast_empty_slot tm_ops_get;
    holdfast_empty_slot mtr_ops_get;
    holdfast_empty_slot pool_ops_supported;
    holdfast_empty_slot hairpin_cap_get;
    holdfast_empty_slot rx_hairpin_queue_setup;
    holdfast_empty_slot tx_hairpin_queue_setup;
    holdfast_empty_slot fec_get_capability;
    holdfast_empty_slot fec_get;
    holdfast_empty_slot fec_set;
    holdfast_empty_slot hairpin_get_peer_ports;
    holdfast_empty_slot hairpin_bind;
    holdfast_empty_slot hairpin_unbind;
    holdfast_empty_slot hairpin_queue_peer_update;
    holdfast_empty_slot hairpin_queue_peer_bind;
    holdfast_empty_slot hairpin_queue_peer_unbind;
    holdfast_empty_slot get_monitor_addr;
    holdfast_empty_slot representor_info_get;
    holdfast_empty_slot rx_metadata_negotiate;
    holdfast_empty_slot ip_reassembly_capability_get;
    holdfast_empty_slot ip_reassembly_conf_get;
    holdfast_empty_slot ip_reassembly_conf_set;
    holdfast_empty_slot buffer_split_supported_hdr_ptypes_get;
    eth_dev_priv_dump_t eth_dev_priv_dump;
    holdfast_empty_slot rx_queue_avail_thresh_set;
    holdfast_empty_slot rx_queue_avail_thresh_query;
    holdfast_empty_slot eth_rx_descriptor_dump;
    holdfast_empty_slot eth_tx_descriptor_dump;
    holdfast_empty_slot cman_info_get;
    holdfast_empty_slot cman_config_init;
    holdfast_empty_slot cman_config_set;
    holdfast_empty_slot cman_config_get;
    holdfast_empty_slot count_aggr_ports;
    holdfast_empty_slot map_aggr_tx_affinity;
    eth_get_restore_flags_t get_restore_flags;
};

/* All are exported by librte_ethdev under version INTERNAL. */
struct rte_eth_dev *rte_eth_dev_allocate(const char *name);
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
struct rte_eth_dev *rte_eth_dev_attach_secondary(const char *name);
void rte_eth_dev_probing_finish(struct rte_eth_dev *dev);
int rte_eth_dev_release_port(struct rte_eth_dev *dev);
int rte_eth_dev_callback_process(struct rte_eth_dev *dev, enum rte_eth_event_type event, void *ret_param);
void rte_eth_dev_internal_reset(struct rte_eth_dev *dev);

#ifdef __cplusplus
}
#endif
