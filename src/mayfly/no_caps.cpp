// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/no_caps.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace holdfast::mayfly {
namespace {

/// What goes when an ability goes.
struct Ability {
    std::string_view name;
    std::initializer_list<Op> ops;
    std::uint64_t rx_offloads = 0;
    std::uint64_t tx_offloads = 0;
    void (*also)(Config &config) = nullptr;
};

constexpr std::uint64_t kVlanRx = RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER |
                                  RTE_ETH_RX_OFFLOAD_VLAN_EXTEND | RTE_ETH_RX_OFFLOAD_QINQ_STRIP;
constexpr std::uint64_t kVlanTx = RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_QINQ_INSERT;

void no_reta(Config &config) {
    config.reta_size = 0;
}
void no_rss(Config &config) {
    config.reta_size = 0;
    config.hash_key_size = 0;
    config.rss = false;
}
void no_macs(Config &config) {
    config.max_macs = 1;
}

const Ability kAbilities[] = {
    {"rss",
     {Op::kRssHashUpdate, Op::kRssHashConfGet, Op::kRetaUpdate, Op::kRetaQuery},
     RTE_ETH_RX_OFFLOAD_RSS_HASH,
     0,
     no_rss},
    {"reta", {Op::kRetaUpdate, Op::kRetaQuery}, 0, 0, no_reta},
    {"rss_update", {Op::kRssHashUpdate}},
    {"rx_interrupts", {Op::kRxQueueIntrEnable, Op::kRxQueueIntrDisable}},
    {"lsc", {}, 0, 0, [](Config &c) { c.lsc = false; }},
    {"rmv", {Op::kIsRemoved}, 0, 0, [](Config &c) { c.rmv = false; }},
    {"set_link", {Op::kSetLinkUp, Op::kSetLinkDown}},
    {"vlan",
     {Op::kVlanFilterSet, Op::kVlanTpidSet, Op::kVlanStripQueueSet, Op::kVlanOffloadSet, Op::kVlanPvidSet},
     kVlanRx,
     kVlanTx},
    {"macs", {Op::kMacAddrAdd, Op::kMacAddrRemove}, 0, 0, no_macs},
    {"mac_set", {Op::kMacAddrSet}},
    {"multicast", {Op::kSetMcAddrList}},
    {"promiscuous", {Op::kPromiscuousEnable, Op::kPromiscuousDisable}},
    {"allmulticast", {Op::kAllmulticastEnable, Op::kAllmulticastDisable}},
    {"mtu", {Op::kMtuSet}, 0, 0, [](Config &c) { c.max_mtu = std::min<std::uint16_t>(c.max_mtu, RTE_ETHER_MTU); }},
    {"flow_ctrl", {Op::kFlowCtrlGet, Op::kFlowCtrlSet}},
    {"stats", {Op::kStatsGet, Op::kStatsReset}},
    {"xstats", {Op::kXstatsGet, Op::kXstatsReset, Op::kXstatsGetNames, Op::kXstatsGetById, Op::kXstatsGetNamesById}},
    {"timestamp", {Op::kReadClock}, RTE_ETH_RX_OFFLOAD_TIMESTAMP},
    {"timesync",
     {Op::kTimesyncEnable, Op::kTimesyncDisable, Op::kTimesyncReadRx, Op::kTimesyncReadTx, Op::kTimesyncAdjustTime,
      Op::kTimesyncAdjustFreq, Op::kTimesyncReadTime, Op::kTimesyncWriteTime}},
    {"queue_run", {Op::kRxQueueStart, Op::kRxQueueStop, Op::kTxQueueStart, Op::kTxQueueStop}},
    {"queue_state",
     {Op::kRxQueueCount, Op::kTxQueueCount, Op::kRxDescriptorStatus, Op::kTxDescriptorStatus, Op::kRxqInfoGet,
      Op::kTxqInfoGet}},
    {"runtime_queues", {}, 0, 0, [](Config &c) { c.runtime_queues = false; }},
    {"ptypes", {Op::kSupportedPtypesGet, Op::kPtypesSet}},
    {"reset", {Op::kReset}},
    {"fw_version", {Op::kFwVersionGet}},
};

/// The one bit whose name in DPDK is this one, or 0.
template <class NameOf> std::uint64_t offload(std::string_view name, NameOf &&name_of) {
    for (unsigned bit = 0; bit < 64; bit++) {
        const std::string_view known = name_of(std::uint64_t{1} << bit);
        if (known != "UNKNOWN" &&
            std::equal(name.begin(), name.end(), known.begin(), known.end(), [](char small, char capital) {
                return small == std::tolower(static_cast<unsigned char>(capital));
            }))
            return std::uint64_t{1} << bit;
    }
    return 0;
}

} // namespace

bool remove_capability(std::string_view name, Config &config) {
    for (const Ability &ability : kAbilities) {
        if (ability.name != name)
            continue;
        for (const Op op : ability.ops)
            config.no_ops.set(index(op));
        config.rx_offloads &= ~ability.rx_offloads;
        config.tx_offloads &= ~ability.tx_offloads;
        if (ability.also != nullptr)
            ability.also(config);
        return true;
    }
    std::uint64_t rx = 0;
    std::uint64_t tx = 0;
    if (name.starts_with("rx_"))
        rx = offload(name.substr(3), rte_eth_dev_rx_offload_name);
    else if (name.starts_with("tx_"))
        tx = offload(name.substr(3), rte_eth_dev_tx_offload_name);
    config.rx_offloads &= ~rx;
    config.tx_offloads &= ~tx;
    return (rx | tx) != 0;
}

} // namespace holdfast::mayfly
