// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/ids.h"
#include "base/ring.h"
#include "base/selection.h"

#include <array>
#include <cstddef>
#include <cstdint>

struct rte_eth_fp_ops;
struct rte_mbuf;

/// What lcores touch, and nothing else. These objects are made and changed by the control side; an lcore reads what its
/// own queue points to.
///
/// The functions below are installed in the ethdev before the port starts and never swapped: applications call through
/// rte_eth_fp_ops, which ethdev fills only at start. What changes at run time are gates, rings and the selection.
namespace holdfast::datapath {

/// One sub-device as one queue sees it. Written by control while the gate is closed and quiet, and read by that queue's
/// lcore, which alone writes `guard` and `guess`. Primary process only.
struct alignas(kCacheLine) SubQueue : RingNode {
    Door *door = nullptr;                       ///< the sub-device's; lives as long as the virtual port
    const struct rte_eth_fp_ops *ops = nullptr; ///< its public entry, to be read anew at each burst, inside the guard
    void *guess = nullptr;                      ///< what its driver's Rx queue was at the last burst (sooner())
    std::uint16_t port = 0;                     ///< its port id; may be touched only inside the guard
    std::uint16_t queue = 0;                    ///< the same number as on the virtual port
    std::uint8_t index = 0xff;                  ///< its position in the devargs
    Guard guard;
};
static_assert(sizeof(SubQueue) == kCacheLine);

/// An Rx queue of a virtual port. `cursor` and `ahead` are the lcore's own; the ring is control's.
struct alignas(kCacheLine) RxQueue {
    RingNode *cursor = nullptr; ///< the sub-queue to be polled next; may have left the ring (then its gate is closed)
    std::uint16_t port = 0;     ///< the virtual port's id, for mbuf::port. Stands here, or cursor and ahead, which are
                                ///< written together, would become one vector: slow to make and slow to read in parts
    void *ahead = nullptr;      ///< a copy of the cursor's `guess`, known one load earlier

    alignas(kCacheLine) Ring ring; ///< written by control, read by the lcore
    const Selection *selection = nullptr;
    std::array<SubQueue, kMaxSubDevices> subs; ///< by SubIndex
};

/// A Tx queue of a virtual port.
struct alignas(kCacheLine) TxQueue {
    const Selection *selection = nullptr;  ///< the port's; written when `active` moves
    void *guess = nullptr;                 ///< what the driver's Tx queue was at the last burst; the lcore's own
    std::atomic<std::uint64_t> refused{0}; ///< bursts that found no active sub-device; the lcore's own
    std::array<SubQueue, kMaxSubDevices> subs;
};

/// Polls each sub-device at most once, from where the last call stopped, until one has packets: each gets its turn with
/// the whole array, which vector drivers need. Stamps the virtual port's id on what came. The packets are the caller's.
/// Bound: one burst call per sub-device. Thread: the one that uses this queue.
std::uint16_t rx_burst(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sends to the active sub-device. What it did not take stays the caller's, in order and untouched; without an active
/// sub-device that is all of it. One burst never splits over two sub-devices.
/// Bound: one burst call. Thread: the one that uses this queue.
std::uint16_t tx_burst(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Prepares packets for the active sub-device. Without one all are said to be fine: tx_burst will not send them anyway.
/// Thread: the one that uses this queue.
std::uint16_t tx_prepare(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sum of the used descriptors over the sub-devices, or -ENOTSUP when none can tell. Any thread.
int rx_queue_count(void *rx_queue) noexcept;

/// Used descriptors of the active sub-device; -ENODEV without one. Any thread.
int tx_queue_count(void *tx_queue) noexcept;

/// Status of a descriptor of the active sub-device; -ENODEV without one. Any thread.
int rx_descriptor_status(void *rx_queue, std::uint16_t offset) noexcept;
int tx_descriptor_status(void *tx_queue, std::uint16_t offset) noexcept;

/// Frees done mbufs of the active sub-device's Tx queue. Any thread that may do so by the sub-device's own rules.
int tx_done_cleanup(void *tx_queue, std::uint32_t free_count) noexcept;

/// @name For a port that is stopped or belongs to another process: nothing comes, nothing is taken.
/// @{
std::uint16_t no_rx_burst(void *, rte_mbuf **, std::uint16_t) noexcept;
std::uint16_t no_tx_burst(void *, rte_mbuf **, std::uint16_t) noexcept;
/// @}

} // namespace holdfast::datapath
