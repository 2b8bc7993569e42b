// SPDX-License-Identifier: BSD-3-Clause
#include "port/capabilities.h"

#include "base/ids.h"
#include "base/policy.h"
#include "base/result.h"
#include "port/rss.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>

namespace holdfast {
namespace {

/// Receive offloads without which a packet means something else to the application, with no flag in the mbuf to tell.
constexpr std::uint64_t kRxNeeded = RTE_ETH_RX_OFFLOAD_KEEP_CRC | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT |
                                    RTE_ETH_RX_OFFLOAD_SECURITY | RTE_ETH_RX_OFFLOAD_MACSEC_STRIP;
/// Transmit offloads without which packets still leave as they should.
constexpr std::uint64_t kTxOptional = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;
/// We do not forward these at all: one thread per queue (MT_LOCKFREE), one mempool per Rx queue, no security context.
constexpr std::uint64_t kTxNever =
    RTE_ETH_TX_OFFLOAD_MT_LOCKFREE | RTE_ETH_TX_OFFLOAD_SECURITY | RTE_ETH_TX_OFFLOAD_MACSEC_INSERT;
constexpr std::uint64_t kRxNever =
    RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SECURITY | RTE_ETH_RX_OFFLOAD_MACSEC_STRIP;
/// Queue set-up on a running port, and sharing, need every sub-device's help at any time; rules are kept by us or not
/// at all.
constexpr std::uint64_t kCapaNever = RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP | RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP |
                                     RTE_ETH_DEV_CAPA_RXQ_SHARE | RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP |
                                     RTE_ETH_DEV_CAPA_FLOW_SHARED_OBJECT_KEEP;

void intersect(const rte_eth_desc_lim &sub, rte_eth_desc_lim &out) noexcept {
    // Limits that a driver did not fill are no limits.
    if (sub.nb_max != 0)
        out.nb_max = std::min(out.nb_max, sub.nb_max);
    out.nb_min = std::max(out.nb_min, sub.nb_min);
    out.nb_align = std::max(out.nb_align, sub.nb_align); // powers of two in practice, so the largest fits all
    if (sub.nb_seg_max != 0)
        out.nb_seg_max = std::min(out.nb_seg_max, sub.nb_seg_max);
    if (sub.nb_mtu_seg_max != 0)
        out.nb_mtu_seg_max = std::min(out.nb_mtu_seg_max, sub.nb_mtu_seg_max);
}

constexpr rte_eth_desc_lim kWidest{
    .nb_max = UINT16_MAX, .nb_min = 0, .nb_align = 1, .nb_seg_max = UINT16_MAX, .nb_mtu_seg_max = UINT16_MAX};

void widest(rte_eth_dev_info &out) noexcept {
    out.min_mtu = RTE_ETHER_MIN_MTU;
    out.max_mtu = UINT16_MAX;
    out.min_rx_bufsize = 0;
    out.max_rx_bufsize = UINT32_MAX;
    out.max_rx_pktlen = UINT32_MAX;
    out.max_rx_queues = kMaxQueues;
    out.max_tx_queues = kMaxQueues;
    out.max_mac_addrs = kMaxMacs;
    out.max_hash_mac_addrs = 0;
    out.rx_desc_lim = kWidest;
    out.tx_desc_lim = kWidest;
}

/// With nobody below: only what any NIC can meet, so that no later one must be refused for it.
void narrowest(rte_eth_dev_info &out) noexcept {
    out.max_mtu = RTE_ETHER_MTU;
    out.max_rx_pktlen = RTE_ETHER_MAX_LEN;
    out.rx_desc_lim.nb_max = 4096;
    out.tx_desc_lim.nb_max = 4096;
}

/// Limits that no ring size can keep would stop every set-up. A sub-device's ring is fitted to its own limits later, so
/// the port's are a matter of what the application sees: one of them gives way.
void make_consistent(rte_eth_desc_lim &out) noexcept {
    const std::uint32_t align = out.nb_align;
    const std::uint32_t most = std::max(out.nb_max / align * align, align);
    const std::uint32_t least = std::min((out.nb_min + align - 1) / align * align, most);
    out.nb_max = static_cast<std::uint16_t>(most);
    out.nb_min = static_cast<std::uint16_t>(least);
}

/// ethdev takes the default when the application names no size: it must be one that the limits allow.
void make_consistent(rte_eth_dev_portconf &conf, const rte_eth_desc_lim &limits, std::uint16_t fallback,
                     std::uint16_t queues) noexcept {
    const std::uint16_t size = conf.ring_size != 0 ? conf.ring_size : fallback;
    if (const std::uint16_t fitted = fit_descriptors(size, limits); fitted != size)
        conf.ring_size = fitted;
    conf.nb_queues = std::min(conf.nb_queues, queues);
}

void list_missing(std::string &out, std::uint64_t missing, const char *(*name)(std::uint64_t)) {
    for (std::uint64_t bit = 1; missing != 0; bit <<= 1U) {
        if ((missing & bit) == 0)
            continue;
        missing &= ~bit;
        out += out.empty() ? "" : " ";
        out += name(bit);
    }
}

} // namespace

void intersect(std::span<const rte_eth_dev_info *const> subs, rte_eth_dev_info &out) noexcept {
    widest(out);
    bool first = true;
    for (const rte_eth_dev_info *sub : subs) {
        out.min_mtu = std::max(out.min_mtu, sub->min_mtu);
        out.max_mtu = std::min(out.max_mtu, sub->max_mtu);
        out.min_rx_bufsize = std::max(out.min_rx_bufsize, sub->min_rx_bufsize);
        if (sub->max_rx_bufsize != 0)
            out.max_rx_bufsize = std::min(out.max_rx_bufsize, sub->max_rx_bufsize);
        out.max_rx_pktlen = std::min(out.max_rx_pktlen, sub->max_rx_pktlen);
        out.max_rx_queues = std::min(out.max_rx_queues, sub->max_rx_queues);
        out.max_tx_queues = std::min(out.max_tx_queues, sub->max_tx_queues);
        intersect(sub->rx_desc_lim, out.rx_desc_lim);
        intersect(sub->tx_desc_lim, out.tx_desc_lim);
        if (first) {
            out.rx_offload_capa = sub->rx_offload_capa;
            out.tx_offload_capa = sub->tx_offload_capa;
            out.rx_queue_offload_capa = sub->rx_queue_offload_capa;
            out.tx_queue_offload_capa = sub->tx_queue_offload_capa;
            out.flow_type_rss_offloads = sub->flow_type_rss_offloads;
            out.rss_algo_capa = sub->rss_algo_capa;
            out.hash_key_size = sub->hash_key_size;
            out.reta_size = sub->reta_size;
            out.max_lro_pkt_size = sub->max_lro_pkt_size;
            out.dev_capa = sub->dev_capa;
            out.speed_capa = sub->speed_capa;
            out.default_rxconf = sub->default_rxconf;
            out.default_txconf = sub->default_txconf;
            out.default_rxportconf = sub->default_rxportconf;
            out.default_txportconf = sub->default_txportconf;
        } else {
            out.rx_offload_capa &= sub->rx_offload_capa;
            out.tx_offload_capa &= sub->tx_offload_capa;
            out.rx_queue_offload_capa &= sub->rx_queue_offload_capa;
            out.tx_queue_offload_capa &= sub->tx_queue_offload_capa;
            out.flow_type_rss_offloads &= sub->flow_type_rss_offloads;
            out.rss_algo_capa &= sub->rss_algo_capa;
            out.hash_key_size = common_key_length(out.hash_key_size, sub->hash_key_size);
            // A table of this size can be had on each of them by repeating it. One without a table: none.
            out.reta_size =
                out.reta_size == 0 || sub->reta_size == 0 ? std::uint16_t{0} : std::gcd(out.reta_size, sub->reta_size);
            out.dev_capa &= sub->dev_capa;
            out.max_lro_pkt_size = std::min(out.max_lro_pkt_size, sub->max_lro_pkt_size); // 0: not told
            out.speed_capa |= sub->speed_capa; // what the port may run at, with one or the other
        }
        first = false;
    }
    if (first)
        narrowest(out);
    make_consistent(out.rx_desc_lim);
    make_consistent(out.tx_desc_lim);
    make_consistent(out.default_rxportconf, out.rx_desc_lim, RTE_ETH_DEV_FALLBACK_RX_RINGSIZE, out.max_rx_queues);
    make_consistent(out.default_txportconf, out.tx_desc_lim, RTE_ETH_DEV_FALLBACK_TX_RINGSIZE, out.max_tx_queues);
    out.tx_offload_capa &= ~kTxNever;
    out.tx_queue_offload_capa &= ~kTxNever;
    out.rx_offload_capa &= ~kRxNever;
    out.rx_queue_offload_capa &= ~kRxNever;
    out.default_rxconf.offloads &= out.rx_queue_offload_capa;
    out.default_txconf.offloads &= out.tx_queue_offload_capa;
    out.dev_capa &= ~kCapaNever;
}

void restrict(const Policy &policy, rte_eth_dev_info &out) noexcept {
    if (policy.tx != TxPolicy::kBroadcast)
        return;
    for (std::uint64_t *offloads : {&out.tx_offload_capa, &out.tx_queue_offload_capa, &out.default_txconf.offloads})
        *offloads &= ~std::uint64_t{RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE};
}

Fit fit(const rte_eth_conf &conf, std::uint16_t rx_queues, std::uint16_t tx_queues, const rte_eth_dev_info &info) {
    Fit out;
    out.conf = conf;
    if (rx_queues > info.max_rx_queues || tx_queues > info.max_tx_queues) {
        out.status = {-EINVAL, "use as many queues on a sub-device as the port has"};
        return out;
    }
    const std::uint64_t rx_missing = conf.rxmode.offloads & ~info.rx_offload_capa;
    const std::uint64_t tx_missing = conf.txmode.offloads & ~info.tx_offload_capa;
    if ((rx_missing & kRxNeeded) != 0)
        out.status = {-ENOTSUP, "do without a receive offload that the application relies on"};
    else if ((tx_missing & ~kTxOptional) != 0)
        out.status = {-ENOTSUP, "do without a transmit offload that the application relies on"};
    list_missing(out.without, rx_missing, rte_eth_dev_rx_offload_name);
    list_missing(out.without, tx_missing, rte_eth_dev_tx_offload_name);
    out.conf.rxmode.offloads &= info.rx_offload_capa;
    out.conf.txmode.offloads &= info.tx_offload_capa;

    rte_eth_rss_conf &rss = out.conf.rx_adv_conf.rss_conf;
    rss.rss_hf &= info.flow_type_rss_offloads;
    if (rss.rss_key != nullptr && rss.rss_key_len != info.hash_key_size) {
        out.rss_key = fit_rss_key({rss.rss_key, rss.rss_key_len}, info.hash_key_size);
        rss.rss_key = out.rss_key.empty() ? nullptr : out.rss_key.data();
        rss.rss_key_len = static_cast<std::uint8_t>(out.rss_key.size());
        if (out.rss_key.empty())
            out.without += out.without.empty() ? "RSS key" : " RSS key";
    }
    if ((info.rss_algo_capa & RTE_ETH_HASH_ALGO_TO_CAPA(rss.algorithm)) == 0)
        rss.algorithm = RTE_ETH_HASH_FUNCTION_DEFAULT;

    // The port has its own link events; a sub-device is asked for those that it has.
    const std::uint32_t flags = info.dev_flags != nullptr ? *info.dev_flags : 0;
    out.conf.intr_conf.lsc = (flags & RTE_ETH_DEV_INTR_LSC) != 0 ? 1 : 0;
    out.conf.intr_conf.rmv = (flags & RTE_ETH_DEV_INTR_RMV) != 0 ? 1 : 0;
    out.conf.intr_conf.rxq = 0;
    return out;
}

std::uint16_t fit_descriptors(std::uint16_t wanted, const rte_eth_desc_lim &limits) noexcept {
    const std::uint16_t align = std::max<std::uint16_t>(limits.nb_align, 1);
    const std::uint16_t most = limits.nb_max != 0 ? limits.nb_max : std::uint16_t{UINT16_MAX};
    std::uint32_t n = std::clamp<std::uint32_t>(wanted, limits.nb_min, std::max(most, limits.nb_min));
    n = (n + align - 1) / align * align;
    if (n > most)
        n = most / align * align;
    return static_cast<std::uint16_t>(n);
}

} // namespace holdfast
