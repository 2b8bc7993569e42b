// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>
#include <rte_version.h>

#include <cerrno>
#include <cstdint>

// Of librte_ethdev, version INTERNAL. 25.11 is installed without rte_flow_driver.h, and no more of that is needed.
extern "C" {
extern struct rte_flow_fp_ops rte_flow_fp_default_ops;
}

namespace holdfast::abi {

/// Empties what a port has for queue counts, descriptor states, recycling and flows, before its driver fills what it
/// can. Call it in each process. Before DPDK 25.11 ethdev leaves some of them as the last owner of the entry had them,
/// and an empty one is null; since then it calls them unchecked, but does not fill them in a secondary process.
inline void empty_fast_path(rte_eth_dev &dev) noexcept {
    dev.flow_fp_ops = &rte_flow_fp_default_ops;
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
    // Not ethdev's own stand-ins: what those say of a missing count has changed within 25.11.
    dev.tx_pkt_prepare = [](void *, rte_mbuf **, std::uint16_t n) { return n; };
    dev.rx_queue_count = [](void *) { return -ENOTSUP; };
    dev.tx_queue_count = [](void *) { return -ENOTSUP; };
    dev.rx_descriptor_status = [](void *, std::uint16_t) { return -ENOTSUP; };
    dev.tx_descriptor_status = [](void *, std::uint16_t) { return -ENOTSUP; };
    dev.recycle_tx_mbufs_reuse = [](void *, rte_eth_recycle_rxq_info *) { return std::uint16_t{0}; };
    dev.recycle_rx_descriptors_refill = [](void *, std::uint16_t) {};
#else
    dev.tx_pkt_prepare = nullptr;
    dev.rx_queue_count = nullptr;
    dev.tx_queue_count = nullptr;
    dev.rx_descriptor_status = nullptr;
    dev.tx_descriptor_status = nullptr;
    dev.recycle_tx_mbufs_reuse = nullptr;
    dev.recycle_rx_descriptors_refill = nullptr;
#endif
}

/// A function for rx_queue_count, around one that gives a number or a negative errno. Until DPDK 25.11 the slot's type
/// was unsigned, and carried an errno all the same.
template <auto Count, class Answer> Answer count_rx(void *queue) noexcept {
    return static_cast<Answer>(Count(queue));
}

} // namespace holdfast::abi
