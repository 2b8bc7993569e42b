// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/ids.h"
#include "base/policy.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/shares.h"

#include <array>
#include <atomic>
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
    void *guess = nullptr;                      ///< what its driver's queue was at the last burst (sooner())
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
    std::atomic<std::uint64_t> stale{0}; ///< rx_burst_active(): packets of others than the active one, freed
    std::uint32_t stale_ahead = 0;       ///< so many at most are still to come of the active one, from before it was
    SubIndex heard;                      ///< the one that packets are taken from

    alignas(kCacheLine) Ring ring; ///< written by control, read by the lcore
    const Selection *selection = nullptr;
    std::array<SubQueue, kMaxSubDevices> subs; ///< by SubIndex
};

/// A Tx queue of a virtual port.
struct alignas(kCacheLine) TxQueue {
    const Selection *selection = nullptr;  ///< the port's; written when `active` moves
    void *guess = nullptr;                 ///< what the driver's Tx queue was at the last burst; the lcore's own
    std::atomic<std::uint64_t> refused{0}; ///< bursts that found no sub-device to send on; the lcore's own
    std::atomic<std::uint64_t> dropped{0}; ///< packets that were freed because nobody could send them; the lcore's own
    NoActive no_active = NoActive::kHold;  ///< control's, before the queue is used
    std::uint8_t turn = 0;                 ///< tx_burst_round_robin(): whose turn is next; the lcore's own
    std::uint16_t members = 0;             ///< who has the shares; 0: nobody yet. The lcore's own
    std::array<SubQueue, kMaxSubDevices> subs;
    Shares shares; ///< tx_burst_balance(): valid for `members`; the lcore's own
};

/// @name tx=active, rx=all
/// @{

/// Polls each sub-device at most once, from where the last call stopped, until one has packets: each gets its turn with
/// the whole array, which vector drivers need. Stamps the virtual port's id on what came. The packets are the caller's.
/// Bound: one burst call per sub-device. Thread: the one that uses this queue.
std::uint16_t rx_burst(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sends to the active sub-device. What it did not take stays the caller's, in order and untouched; without an active
/// sub-device that is all of it, or (no_active=drop) they are freed. One burst never splits over two sub-devices.
/// Bound: one burst call. Thread: the one that uses this queue.
std::uint16_t tx_burst(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Prepares packets for the active sub-device. Without one all are said to be fine: tx_burst will not send them anyway.
/// Thread: the one that uses this queue.
std::uint16_t tx_prepare(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;
/// @}

/// @name The other policies. "Carriers" are the sub-devices that can carry traffic now. Without any, all of these do as
/// tx_burst() does. Thread: the one that uses this queue.
/// @{

/// Receives from the active sub-device only. What the others receive is freed and counted, one of them a call; so is
/// what a sub-device had received before it became the active one. Bound: two burst calls.
std::uint16_t rx_burst_active(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sends each flow on one of the carriers, always the same as long as those are the same. The packets that are not
/// taken are moved to the end of the array, in the order in which they came; none of a flow is sent after one of the
/// same that was not taken. Bound: per 64 packets two burst calls per carrier; when the carriers change, 4096 steps.
template <XmitPolicy P> std::uint16_t tx_burst_balance(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sends whole bursts on the carriers in turn. What was not taken stays the caller's. Bound: one burst call.
std::uint16_t tx_burst_round_robin(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Sends each packet on every carrier; it is sent when one of them took it. The others are moved to the end of the
/// array, in the order in which they came. Bound: per 64 packets one burst call per carrier.
std::uint16_t tx_burst_broadcast(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;

/// Prepares packets for all carriers: they are fine up to the first one that a carrier finds fault with. Bound: one
/// call per carrier.
std::uint16_t tx_prepare_all(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept;
/// @}

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
