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
#include <cstdint>
#include <span>

// Sub-devices are called through ethdev's inline functions, which read rte_eth_fp_ops anew at each burst: some drivers
// rewrite their entry while they run, and capture tools hook in there.

namespace holdfast::datapath {

static_assert(kCacheLine == RTE_CACHE_LINE_SIZE);

std::uint16_t rx_burst(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<RxQueue *>(rx_queue);
    std::uint16_t got = 0;
    RingNode *at = q.cursor;
    for (std::uint32_t turns = q.ring.size(); turns != 0 && got == 0; turns--) {
        at = at->next();
        auto &sub = *static_cast<SubQueue *>(at);
        if (!sub.guard.enter(sub.door->gate))
            continue;
        got = rte_eth_rx_burst(sub.port, sub.queue, pkts, n);
        sub.guard.leave();
    }
    q.cursor = at;
    for (rte_mbuf *m : std::span(pkts, got))
        m->port = q.port;
    return got;
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

} // namespace

std::uint16_t tx_burst(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    std::uint16_t sent = 0;
    if (on_active(q, [&](const SubQueue &sub) noexcept { sent = rte_eth_tx_burst(sub.port, sub.queue, pkts, n); }))
        return sent;
    // One writer, so no read-modify-write is needed. pairs: tx-refused (VirtualPort::xstats reads it as a statistic).
    q.refused.store(q.refused.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return 0;
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
