// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"
#include "base/ids.h"
#include "base/policy.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/call.h"
#include "datapath/datapath.h"

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>

namespace holdfast::datapath {

static_assert(kCacheLine == RTE_CACHE_LINE_SIZE);

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
    return nobody(q, pkts, n, !q.selection->active().valid());
}

} // namespace

std::uint16_t nobody(TxQueue &q, rte_mbuf **pkts, std::uint16_t n, bool gone) noexcept {
    if (!gone || q.no_active == NoActive::kHold) {
        count(q.refused, 1);
        return 0;
    }
    rte_pktmbuf_free_bulk(pkts, n);
    count(q.dropped, n);
    return n;
}

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
