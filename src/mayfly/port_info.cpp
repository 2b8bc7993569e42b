// SPDX-License-Identifier: BSD-3-Clause
// What an application can ask a port: its abilities and its counters.
#include "mayfly/link.h"
#include "mayfly/port.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace holdfast::mayfly {
namespace {

constexpr char kFirmware[] = "mayfly 1";

/// The extended counters: of the device, over all its lives; a reset leaves them alone.
struct Extended {
    const char *name;
    Device::Count count;
};
constexpr Extended kExtended[] = {
    {"mayfly_trespasses", Device::Count::kTrespasses},
    {"mayfly_late_calls", Device::Count::kLateCalls},
    {"mayfly_drained", Device::Count::kDrained},
    {"mayfly_lives", Device::Count::kLives},
};
constexpr unsigned kExtendedCount = static_cast<unsigned>(std::size(kExtended));

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
    info->flow_type_rss_offloads = config_.reta_size != 0 ? RTE_ETH_RSS_PROTO_MASK : 0;
    info->rss_algo_capa |= RTE_ETH_HASH_ALGO_CAPA_MASK(TOEPLITZ);
    info->speed_capa = RTE_ETH_LINK_SPEED_10G;
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
    static constexpr std::uint32_t kTypes[] = {RTE_PTYPE_L2_ETHER};
    *count = std::size(kTypes);
    return kTypes;
}

Status Port::dump(FILE *file) {
    std::fprintf(file, "%s: mode %s, life %u, %s\n", device_.name.c_str(), to_string(config_.mode).data(), life_,
                 device_.alive(life_) ? "alive" : "dead");
    return {};
}

Port::Base Port::rx_since_reset(std::uint16_t number) const noexcept {
    const QueueCounts &now = device_.rx[number];
    const Base &then = rx_base_[number];
    return {QueueCounts::read(now.packets) - then.packets, QueueCounts::read(now.bytes) - then.bytes,
            QueueCounts::read(now.no_mbuf) - then.no_mbuf, 0};
}

Port::Base Port::tx_since_reset(std::uint16_t number) const noexcept {
    const QueueCounts &now = device_.tx[number];
    const Base &then = tx_base_[number];
    const std::uint64_t dropped =
        QueueCounts::read(now.no_peer) + QueueCounts::read(now.dead) + QueueCounts::read(now.no_link);
    return {QueueCounts::read(now.packets) - then.packets, QueueCounts::read(now.bytes) - then.bytes, 0,
            dropped - then.dropped};
}

Status Port::stats(rte_eth_stats *stats) {
    for (std::uint16_t i = 0; i < kMostQueues; i++) {
        const Base rx = rx_since_reset(i);
        const Base tx = tx_since_reset(i);
        stats->ipackets += rx.packets;
        stats->ibytes += rx.bytes;
        stats->rx_nombuf += rx.no_mbuf;
        stats->opackets += tx.packets;
        stats->obytes += tx.bytes;
        stats->oerrors += tx.dropped;
        if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            stats->q_ipackets[i] = rx.packets;
            stats->q_ibytes[i] = rx.bytes;
            stats->q_opackets[i] = tx.packets;
            stats->q_obytes[i] = tx.bytes;
        }
    }
    return {};
}

Status Port::stats_reset() {
    for (std::uint16_t i = 0; i < kMostQueues; i++) {
        rx_base_[i] = {};
        tx_base_[i] = {};
        rx_base_[i] = rx_since_reset(i);
        tx_base_[i] = tx_since_reset(i);
    }
    return {};
}

int Port::xstats(rte_eth_xstat *values, unsigned n) {
    if (values == nullptr || n < kExtendedCount)
        return static_cast<int>(kExtendedCount);
    for (unsigned i = 0; i < kExtendedCount; i++) {
        values[i].id = i;
        values[i].value = device_.counted(kExtended[i].count);
    }
    return static_cast<int>(kExtendedCount);
}

int Port::xstats_names(rte_eth_xstat_name *names, unsigned n) {
    if (names == nullptr || n < kExtendedCount)
        return static_cast<int>(kExtendedCount);
    for (unsigned i = 0; i < kExtendedCount; i++)
        std::snprintf(names[i].name, sizeof(names[i].name), "%s", kExtended[i].name);
    return static_cast<int>(kExtendedCount);
}

} // namespace holdfast::mayfly
