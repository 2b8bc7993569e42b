// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "datapath/datapath.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

// Sub-devices are called as ethdev's inline functions do it, callbacks included, from their public entry in
// rte_eth_fp_ops, which is read anew at each burst: some drivers rewrite theirs while they run, and capture tools hook
// in there.
//
// What costs time here is less the number of instructions than the waiting for one load after the other, and the
// stores. So what is rare is out of line: the registers that it needs would be saved and restored at each burst.

namespace holdfast::datapath {

/// `truth`, but sooner. A driver can do nothing before it knows its queue, and that lies at the end of a chain of
/// loads. Nearly always it is what it was at the last burst: so that is used at once, and compared when the true one
/// has come. A branch that the processor foretells takes the place of the wait. What is used is always the true one.
[[gnu::always_inline]] inline void *sooner(void *guess, void *truth, void *&last) noexcept {
    void *used = guess;
    asm("" : "+r"(used)); // else the compiler, which sees that both are the same, waits for the true one
    if (truth != guess) [[unlikely]] {
        last = truth;
        used = truth;
    }
    return used;
}

[[gnu::noinline, gnu::cold]] inline std::uint16_t rx_callbacks(const SubQueue &sub, rte_mbuf **pkts, std::uint16_t got,
                                                               std::uint16_t n, void *first) noexcept {
    return rte_eth_call_rx_callbacks(sub.port, sub.queue, pkts, got, n, first);
}

/// One Rx burst of a sub-device, inside its guard.
[[gnu::always_inline]] inline std::uint16_t receive(SubQueue &sub, void *guess, rte_mbuf **pkts,
                                                    std::uint16_t n) noexcept {
    const std::uint16_t got = sub.ops->rx_pkt_burst(sooner(guess, sub.ops->rxq.data[sub.queue], sub.guess), pkts, n);
    // Relaxed: what hangs on it is reached through it, as ethdev has it.
    void *const callbacks = __atomic_load_n(&sub.ops->rxq.clbk[sub.queue], __ATOMIC_RELAXED);
    if (callbacks != nullptr) [[unlikely]]
        return rx_callbacks(sub, pkts, got, n, callbacks);
    return got;
}

[[gnu::noinline, gnu::cold]] inline std::uint16_t transmit_with_callbacks(const SubQueue &sub, rte_mbuf **pkts,
                                                                          std::uint16_t n) noexcept {
    return rte_eth_tx_burst(sub.port, sub.queue, pkts, n);
}

/// One Tx burst of a sub-device, inside its guard.
[[gnu::always_inline]] inline std::uint16_t transmit(SubQueue &sub, rte_mbuf **pkts, std::uint16_t n) noexcept {
    const struct rte_eth_fp_ops &ops = *sub.ops;
    if (__atomic_load_n(&ops.txq.clbk[sub.queue], __ATOMIC_RELAXED) != nullptr) [[unlikely]]
        return transmit_with_callbacks(sub, pkts, n);
    return ops.tx_pkt_burst(sooner(sub.guess, ops.txq.data[sub.queue], sub.guess), pkts, n);
}

/// One Tx burst of the one sub-device in `subs`; `shut` if its gate is closed.
[[gnu::always_inline]] inline std::uint16_t transmit_on_one(TxQueue &q, std::uint32_t subs, rte_mbuf **pkts,
                                                            std::uint16_t n, bool &shut) noexcept {
    SubQueue &sub = q.subs[static_cast<std::size_t>(std::countr_zero(subs))];
    shut = !sub.guard.enter(sub.door->gate);
    if (shut) [[unlikely]]
        return 0;
    const std::uint16_t sent = transmit(sub, pkts, n);
    sub.guard.leave();
    return sent;
}

/// Writes mbuf::port. Several at a time: the loop itself would cost as much as the stores.
[[gnu::always_inline]] inline void stamp(rte_mbuf **pkts, std::uint16_t n, std::uint16_t port) noexcept {
    constexpr std::ptrdiff_t kAtOnce = 8;
    rte_mbuf **const end = pkts + n;
    for (; end - pkts >= kAtOnce; pkts += kAtOnce) {
        pkts[0]->port = port;
        pkts[1]->port = port;
        pkts[2]->port = port;
        pkts[3]->port = port;
        pkts[4]->port = port;
        pkts[5]->port = port;
        pkts[6]->port = port;
        pkts[7]->port = port;
    }
    for (; pkts != end; pkts++)
        (*pkts)->port = port;
}

/// Adds to a counter that only this lcore writes, so no read-modify-write is needed.
inline void count(std::atomic<std::uint64_t> &counter, std::uint64_t more) noexcept {
    // pairs: lcore-counts (Queues::count reads them as statistics).
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// For a burst that nobody can send now. `gone`: nor is there anybody who could. What becomes of the packets then is
/// the port's policy; who is only passing through a closed gate gets them back in any case.
[[gnu::cold]] std::uint16_t nobody(TxQueue &q, rte_mbuf **pkts, std::uint16_t n, bool gone) noexcept;

} // namespace holdfast::datapath
