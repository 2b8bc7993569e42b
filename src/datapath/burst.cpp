// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"
#include "base/ids.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/datapath.h"

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// Sub-devices are called as ethdev's inline functions do it, callbacks included, from their public entry in
// rte_eth_fp_ops, which is read anew at each burst: some drivers rewrite theirs while they run, and capture tools hook
// in there.
//
// What costs time here is less the number of instructions than the waiting for one load after the other, and the
// stores. So what is rare is out of line: the registers that it needs would be saved and restored at each burst.

namespace holdfast::datapath {

static_assert(kCacheLine == RTE_CACHE_LINE_SIZE);

namespace {

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

[[gnu::noinline, gnu::cold]] std::uint16_t rx_callbacks(const SubQueue &sub, rte_mbuf **pkts, std::uint16_t got,
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

} // namespace

[[gnu::aligned(kCacheLine)]] std::uint16_t rx_burst(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<RxQueue *>(rx_queue);
    RingNode *at = q.cursor;
    void *guess = q.ahead;
    std::uint32_t passed = 0;
    do {
        auto &sub = *static_cast<SubQueue *>(at);
        at = at->next();
        std::uint16_t got = 0;
        if (sub.guard.enter(sub.door->gate)) [[likely]] {
            got = receive(sub, guess, pkts, n);
            sub.guard.leave();
        }
        guess = static_cast<const SubQueue *>(at)->guess;
        if (got != 0) {
            q.cursor = at;
            q.ahead = guess;
            stamp(pkts, got, q.port);
            return got;
        }
        // Round, or, if the cursor stands outside of the ring, past all that are in it.
    } while (at != q.cursor && passed++ != q.ring.size());
    q.cursor = at;
    q.ahead = guess;
    return 0;
}

namespace {

/// Calls `burst` on the active sub-device, inside its guard; false when there is none. `active` may move between the
/// look at it and the gate: then the second try finds the new one.
template <class F> [[gnu::always_inline]] inline bool on_active(TxQueue &q, F burst) noexcept {
    for (int tries = 0; tries < 2; tries++) {
        const SubIndex active = q.selection->active();
        if (!active.valid()) [[unlikely]]
            return false;
        SubQueue &sub = q.subs[active.raw()];
        if (!sub.guard.enter(sub.door->gate)) [[unlikely]]
            continue;
        burst(sub);
        sub.guard.leave();
        return true;
    }
    return false;
}

/// tx_burst when something is not as it nearly always is: a callback, or `active` on its way.
[[gnu::noinline, gnu::cold]] std::uint16_t tx_burst_rare(TxQueue &q, rte_mbuf **pkts, std::uint16_t n) noexcept {
    std::uint16_t sent = 0;
    if (on_active(q, [&](const SubQueue &sub) noexcept { sent = rte_eth_tx_burst(sub.port, sub.queue, pkts, n); }))
        return sent;
    // One writer, so no read-modify-write is needed. pairs: tx-refused (VirtualPort::xstats reads it as a statistic).
    q.refused.store(q.refused.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return 0;
}

} // namespace

[[gnu::aligned(kCacheLine)]] std::uint16_t tx_burst(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    const SubIndex active = q.selection->active();
    if (!active.valid()) [[unlikely]]
        return tx_burst_rare(q, pkts, n);
    SubQueue &sub = q.subs[active.raw()];
    if (!sub.guard.enter(sub.door->gate)) [[unlikely]]
        return tx_burst_rare(q, pkts, n);
    const struct rte_eth_fp_ops &ops = *sub.ops;
    if (__atomic_load_n(&ops.txq.clbk[sub.queue], __ATOMIC_RELAXED) != nullptr) [[unlikely]] {
        sub.guard.leave();
        return tx_burst_rare(q, pkts, n);
    }
    const std::uint16_t sent = ops.tx_pkt_burst(sooner(q.guess, ops.txq.data[sub.queue], q.guess), pkts, n);
    sub.guard.leave();
    return sent;
}

std::uint16_t tx_prepare(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    std::uint16_t good = n;
    (void)on_active(*static_cast<TxQueue *>(tx_queue),
                    [&](const SubQueue &sub) noexcept { good = rte_eth_tx_prepare(sub.port, sub.queue, pkts, n); });
    return good;
}

std::uint16_t no_rx_burst(void *, rte_mbuf **, std::uint16_t) noexcept {
    return 0;
}

std::uint16_t no_tx_burst(void *, rte_mbuf **, std::uint16_t) noexcept {
    return 0;
}

} // namespace holdfast::datapath
