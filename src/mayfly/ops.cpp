// SPDX-License-Identifier: BSD-3-Clause
#include "abi/callback.h"
#include "abi/fast_path.h"
#include "abi/stats.h"
#include "mayfly/port.h"

namespace holdfast::mayfly {
namespace {

/// The C function of a slot: Port::perform() around a method.
template <Op Code, auto Method> struct Slot;
template <Op Code, class Ret, class... Args, Ret (Port::*Method)(Args...)> struct Slot<Code, Method> {
    static constexpr auto kPerform =
        static_cast<Ret (Port::*)(Args...)>(&Port::template perform<Code, Method, Ret, Args...>);
    static constexpr auto kFunction = abi::callback<kPerform>;
};
template <Op Code, auto Method> inline constexpr auto slot = Slot<Code, Method>::kFunction;

constexpr eth_dev_ops all_ops() noexcept {
    eth_dev_ops ops{};
    ops.dev_configure = slot<Op::kConfigure, &Port::configure>;
    ops.dev_start = slot<Op::kStart, &Port::start>;
    ops.dev_stop = slot<Op::kStop, &Port::stop>;
    ops.dev_set_link_up = slot<Op::kSetLinkUp, &Port::link_up>;
    ops.dev_set_link_down = slot<Op::kSetLinkDown, &Port::link_down>;
    ops.dev_close = slot<Op::kClose, &Port::close>;
    ops.dev_reset = slot<Op::kReset, &Port::reset>;
    ops.link_update = slot<Op::kLinkUpdate, &Port::link_update>;
    ops.is_removed = slot<Op::kIsRemoved, &Port::is_removed>;
    ops.promiscuous_enable = slot<Op::kPromiscuousEnable, &Port::promiscuous_enable>;
    ops.promiscuous_disable = slot<Op::kPromiscuousDisable, &Port::promiscuous_disable>;
    ops.allmulticast_enable = slot<Op::kAllmulticastEnable, &Port::allmulticast_enable>;
    ops.allmulticast_disable = slot<Op::kAllmulticastDisable, &Port::allmulticast_disable>;
    ops.mac_addr_remove = slot<Op::kMacAddrRemove, &Port::mac_remove>;
    ops.mac_addr_add = slot<Op::kMacAddrAdd, &Port::mac_add>;
    ops.mac_addr_set = slot<Op::kMacAddrSet, &Port::mac_set>;
    ops.set_mc_addr_list = slot<Op::kSetMcAddrList, &Port::mc_list>;
    ops.mtu_set = slot<Op::kMtuSet, &Port::mtu_set>;
    ops.stats_get = abi::fill_stats<slot<Op::kStatsGet, &Port::stats>>;
    ops.stats_reset = slot<Op::kStatsReset, &Port::stats_reset>;
    ops.xstats_get = slot<Op::kXstatsGet, &Port::xstats>;
    ops.xstats_reset = slot<Op::kXstatsReset, &Port::xstats_reset>;
    ops.xstats_get_names = slot<Op::kXstatsGetNames, &Port::xstats_names>;
    ops.xstats_get_by_id = slot<Op::kXstatsGetById, &Port::xstats_by_id>;
    ops.xstats_get_names_by_id = slot<Op::kXstatsGetNamesById, &Port::xstats_names_by_id>;
    ops.dev_infos_get = slot<Op::kInfosGet, &Port::info>;
    ops.rxq_info_get = slot<Op::kRxqInfoGet, &Port::rxq_info>;
    ops.txq_info_get = slot<Op::kTxqInfoGet, &Port::txq_info>;
    ops.rx_burst_mode_get = slot<Op::kRxBurstModeGet, &Port::burst_mode>;
    ops.tx_burst_mode_get = slot<Op::kTxBurstModeGet, &Port::burst_mode>;
    ops.fw_version_get = slot<Op::kFwVersionGet, &Port::fw_version>;
    ops.dev_supported_ptypes_get = slot<Op::kSupportedPtypesGet, &Port::ptypes>;
    ops.dev_ptypes_set = slot<Op::kPtypesSet, &Port::ptypes_set>;
    ops.vlan_filter_set = slot<Op::kVlanFilterSet, &Port::vlan_filter>;
    ops.vlan_tpid_set = slot<Op::kVlanTpidSet, &Port::vlan_tpid>;
    ops.vlan_strip_queue_set = slot<Op::kVlanStripQueueSet, &Port::vlan_strip_queue>;
    ops.vlan_offload_set = slot<Op::kVlanOffloadSet, &Port::vlan_offload>;
    ops.vlan_pvid_set = slot<Op::kVlanPvidSet, &Port::vlan_pvid>;
    ops.rx_queue_start = slot<Op::kRxQueueStart, &Port::rx_queue_start>;
    ops.rx_queue_stop = slot<Op::kRxQueueStop, &Port::rx_queue_stop>;
    ops.tx_queue_start = slot<Op::kTxQueueStart, &Port::tx_queue_start>;
    ops.tx_queue_stop = slot<Op::kTxQueueStop, &Port::tx_queue_stop>;
    ops.rx_queue_setup = slot<Op::kRxQueueSetup, &Port::rx_queue_setup>;
    ops.rx_queue_release = slot<Op::kRxQueueRelease, &Port::rx_queue_release>;
    ops.rx_queue_intr_enable = slot<Op::kRxQueueIntrEnable, &Port::rx_intr_enable>;
    ops.rx_queue_intr_disable = slot<Op::kRxQueueIntrDisable, &Port::rx_intr_disable>;
    ops.tx_queue_setup = slot<Op::kTxQueueSetup, &Port::tx_queue_setup>;
    ops.tx_queue_release = slot<Op::kTxQueueRelease, &Port::tx_queue_release>;
    ops.tx_done_cleanup = tx_done_cleanup;
    ops.flow_ctrl_get = slot<Op::kFlowCtrlGet, &Port::flow_ctrl_get>;
    ops.flow_ctrl_set = slot<Op::kFlowCtrlSet, &Port::flow_ctrl_set>;
    ops.rss_hash_update = slot<Op::kRssHashUpdate, &Port::rss_update>;
    ops.rss_hash_conf_get = slot<Op::kRssHashConfGet, &Port::rss_get>;
    ops.reta_update = slot<Op::kRetaUpdate, &Port::reta_update>;
    ops.reta_query = slot<Op::kRetaQuery, &Port::reta_query>;
    ops.timesync_enable = slot<Op::kTimesyncEnable, &Port::timesync_enable>;
    ops.timesync_disable = slot<Op::kTimesyncDisable, &Port::timesync_disable>;
    ops.timesync_read_rx_timestamp = slot<Op::kTimesyncReadRx, &Port::timesync_read_rx>;
    ops.timesync_read_tx_timestamp = slot<Op::kTimesyncReadTx, &Port::timesync_read_tx>;
    ops.timesync_adjust_time = slot<Op::kTimesyncAdjustTime, &Port::timesync_adjust_time>;
    ops.timesync_adjust_freq = slot<Op::kTimesyncAdjustFreq, &Port::timesync_adjust_freq>;
    ops.timesync_read_time = slot<Op::kTimesyncReadTime, &Port::timesync_read_time>;
    ops.timesync_write_time = slot<Op::kTimesyncWriteTime, &Port::timesync_write_time>;
    ops.read_clock = slot<Op::kReadClock, &Port::read_clock>;
    ops.eth_dev_priv_dump = slot<Op::kPrivDump, &Port::dump>;
    return ops;
}
constexpr eth_dev_ops kAll = all_ops();

/// Which slot an optional operation fills, to empty it.
template <auto Member> void empty(eth_dev_ops &ops) noexcept {
    ops.*Member = nullptr;
}
struct Optional {
    Op op;
    void (*remove)(eth_dev_ops &ops) noexcept;
};
constexpr Optional kOptional[] = {
    {Op::kSetLinkUp, empty<&eth_dev_ops::dev_set_link_up>},
    {Op::kSetLinkDown, empty<&eth_dev_ops::dev_set_link_down>},
    {Op::kReset, empty<&eth_dev_ops::dev_reset>},
    {Op::kLinkUpdate, empty<&eth_dev_ops::link_update>},
    {Op::kIsRemoved, empty<&eth_dev_ops::is_removed>},
    {Op::kPromiscuousEnable, empty<&eth_dev_ops::promiscuous_enable>},
    {Op::kPromiscuousDisable, empty<&eth_dev_ops::promiscuous_disable>},
    {Op::kAllmulticastEnable, empty<&eth_dev_ops::allmulticast_enable>},
    {Op::kAllmulticastDisable, empty<&eth_dev_ops::allmulticast_disable>},
    {Op::kMacAddrRemove, empty<&eth_dev_ops::mac_addr_remove>},
    {Op::kMacAddrAdd, empty<&eth_dev_ops::mac_addr_add>},
    {Op::kMacAddrSet, empty<&eth_dev_ops::mac_addr_set>},
    {Op::kSetMcAddrList, empty<&eth_dev_ops::set_mc_addr_list>},
    {Op::kMtuSet, empty<&eth_dev_ops::mtu_set>},
    {Op::kStatsGet, empty<&eth_dev_ops::stats_get>},
    {Op::kStatsReset, empty<&eth_dev_ops::stats_reset>},
    {Op::kXstatsGet, empty<&eth_dev_ops::xstats_get>},
    {Op::kXstatsReset, empty<&eth_dev_ops::xstats_reset>},
    {Op::kXstatsGetNames, empty<&eth_dev_ops::xstats_get_names>},
    {Op::kRxqInfoGet, empty<&eth_dev_ops::rxq_info_get>},
    {Op::kTxqInfoGet, empty<&eth_dev_ops::txq_info_get>},
    {Op::kRxBurstModeGet, empty<&eth_dev_ops::rx_burst_mode_get>},
    {Op::kTxBurstModeGet, empty<&eth_dev_ops::tx_burst_mode_get>},
    {Op::kFwVersionGet, empty<&eth_dev_ops::fw_version_get>},
    {Op::kSupportedPtypesGet, empty<&eth_dev_ops::dev_supported_ptypes_get>},
    {Op::kPtypesSet, empty<&eth_dev_ops::dev_ptypes_set>},
    {Op::kVlanFilterSet, empty<&eth_dev_ops::vlan_filter_set>},
    {Op::kVlanTpidSet, empty<&eth_dev_ops::vlan_tpid_set>},
    {Op::kVlanStripQueueSet, empty<&eth_dev_ops::vlan_strip_queue_set>},
    {Op::kVlanOffloadSet, empty<&eth_dev_ops::vlan_offload_set>},
    {Op::kVlanPvidSet, empty<&eth_dev_ops::vlan_pvid_set>},
    {Op::kRxQueueStart, empty<&eth_dev_ops::rx_queue_start>},
    {Op::kRxQueueStop, empty<&eth_dev_ops::rx_queue_stop>},
    {Op::kTxQueueStart, empty<&eth_dev_ops::tx_queue_start>},
    {Op::kTxQueueStop, empty<&eth_dev_ops::tx_queue_stop>},
    {Op::kTxDoneCleanup, empty<&eth_dev_ops::tx_done_cleanup>},
    {Op::kFlowCtrlGet, empty<&eth_dev_ops::flow_ctrl_get>},
    {Op::kFlowCtrlSet, empty<&eth_dev_ops::flow_ctrl_set>},
    {Op::kRssHashUpdate, empty<&eth_dev_ops::rss_hash_update>},
    {Op::kRssHashConfGet, empty<&eth_dev_ops::rss_hash_conf_get>},
    {Op::kRetaUpdate, empty<&eth_dev_ops::reta_update>},
    {Op::kRetaQuery, empty<&eth_dev_ops::reta_query>},
    {Op::kXstatsGetById, empty<&eth_dev_ops::xstats_get_by_id>},
    {Op::kXstatsGetNamesById, empty<&eth_dev_ops::xstats_get_names_by_id>},
    {Op::kRxQueueIntrEnable, empty<&eth_dev_ops::rx_queue_intr_enable>},
    {Op::kRxQueueIntrDisable, empty<&eth_dev_ops::rx_queue_intr_disable>},
    {Op::kTimesyncEnable, empty<&eth_dev_ops::timesync_enable>},
    {Op::kTimesyncDisable, empty<&eth_dev_ops::timesync_disable>},
    {Op::kTimesyncReadRx, empty<&eth_dev_ops::timesync_read_rx_timestamp>},
    {Op::kTimesyncReadTx, empty<&eth_dev_ops::timesync_read_tx_timestamp>},
    {Op::kTimesyncAdjustTime, empty<&eth_dev_ops::timesync_adjust_time>},
    {Op::kTimesyncAdjustFreq, empty<&eth_dev_ops::timesync_adjust_freq>},
    {Op::kTimesyncReadTime, empty<&eth_dev_ops::timesync_read_time>},
    {Op::kTimesyncWriteTime, empty<&eth_dev_ops::timesync_write_time>},
    {Op::kReadClock, empty<&eth_dev_ops::read_clock>},
    {Op::kPrivDump, empty<&eth_dev_ops::eth_dev_priv_dump>},
};

} // namespace

eth_dev_ops make_ops(const Config &config) noexcept {
    eth_dev_ops ops = kAll;
    for (const Optional &optional : kOptional)
        if (config.no_ops.test(index(optional.op)))
            optional.remove(ops);
    return ops;
}

const eth_dev_ops &closed_ops() noexcept {
    return kAll; // abi::callback answers for a port without an object
}

void install_bursts(rte_eth_dev &dev, const Config &config) noexcept {
    const auto has = [&config](Op op) { return !config.no_ops.test(index(op)); };
    dev.rx_pkt_burst = rx_burst;
    dev.tx_pkt_burst = tx_burst;
    abi::empty_fast_path(dev);
    if (has(Op::kTxPrepare))
        dev.tx_pkt_prepare = tx_prepare;
    if (has(Op::kRxQueueCount))
        dev.rx_queue_count = abi::count_rx<rx_queue_count>;
    if (has(Op::kTxQueueCount))
        dev.tx_queue_count = tx_queue_count;
    if (has(Op::kRxDescriptorStatus))
        dev.rx_descriptor_status = rx_descriptor_status;
    if (has(Op::kTxDescriptorStatus))
        dev.tx_descriptor_status = tx_descriptor_status;
}

} // namespace holdfast::mayfly
