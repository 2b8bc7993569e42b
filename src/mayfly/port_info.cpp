// SPDX-License-Identifier: BSD-3-Clause
// What an application can ask a port: its abilities. (Its counters: port_stats.cpp.)
#include "mayfly/link.h"
#include "mayfly/port.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace holdfast::mayfly {
namespace {

constexpr char kFirmware[] = "mayfly 1";

} // namespace

Status Port::info(rte_eth_dev_info *info) {
    info->max_rx_queues = config_.queues;
    info->max_tx_queues = config_.queues;
    info->max_mac_addrs = config_.max_macs;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = config_.max_mtu;
    info->max_rx_pktlen = std::uint32_t{config_.max_mtu} + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    info->min_rx_bufsize = 64;
    info->rx_offload_capa = config_.rx_offloads;
    info->tx_offload_capa = config_.tx_offloads;
    info->rx_desc_lim.nb_min = config_.min_desc;
    info->rx_desc_lim.nb_max = config_.max_desc;
    info->rx_desc_lim.nb_align = config_.desc_align;
    info->tx_desc_lim = info->rx_desc_lim;
    info->reta_size = config_.reta_size;
    info->hash_key_size = config_.hash_key_size;
    info->flow_type_rss_offloads = config_.rss ? RTE_ETH_RSS_PROTO_MASK : 0;
    info->rss_algo_capa |= RTE_ETH_HASH_ALGO_CAPA_MASK(TOEPLITZ);
    info->speed_capa = rte_eth_speed_bitflag(config_.speed, RTE_ETH_LINK_FULL_DUPLEX);
    info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE;
    if (config_.runtime_queues)
        info->dev_capa = RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP | RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP;
    return {};
}

Status Port::burst_mode(std::uint16_t /*queue*/, rte_eth_burst_mode *mode) {
    const std::string_view name = to_string(config_.mode);
    const std::size_t length = std::min(name.size(), sizeof(mode->info) - 1);
    std::memcpy(mode->info, name.data(), length);
    mode->info[length] = '\0';
    return {};
}

int Port::fw_version(char *text, std::size_t size) {
    // The contract: a positive number says how much room it takes when there is not enough.
    if (size < sizeof(kFirmware))
        return static_cast<int>(sizeof(kFirmware));
    std::memcpy(text, kFirmware, sizeof(kFirmware));
    return 0;
}

const std::uint32_t *Port::ptypes(std::size_t *count) {
    static constexpr std::uint32_t kTypes[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_TIMESYNC, RTE_PTYPE_L3_IPV4,
                                               RTE_PTYPE_L4_UDP};
    *count = std::size(kTypes);
    return kTypes;
}

Status Port::dump(FILE *file) {
    std::fprintf(file, "%s: mode %s, life %u, %s\n", device_.name.c_str(), to_string(config_.mode).data(), life_,
                 device_.alive(life_) ? "alive" : "dead");
    return {};
}

} // namespace holdfast::mayfly
