// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"
#include "base/ids.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/call.h"
#include "datapath/datapath.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>

// rx=active. Links that lead to the same network bring the same packets, or old ones; so who is not active is emptied,
// and who becomes active starts with nothing.

namespace holdfast::datapath {
namespace {

/// More than the rings that anybody uses hold. A limit is needed: a sub-device that receives all the time would never
/// be found empty.
constexpr std::uint32_t kMostStale = 4096;
constexpr std::uint16_t kAtOnce = 32;

void discard(RxQueue &q, rte_mbuf **pkts, std::uint16_t n) noexcept {
    rte_pktmbuf_free_bulk(pkts, n);
    count(q.stale, n);
}

/// Another one is active now: what it has received up to here came while it was not. Nothing did, if it is the first.
[[gnu::noinline, gnu::cold]] void hear(RxQueue &q, SubIndex active) noexcept {
    q.stale_ahead = q.heard.valid() ? kMostStale : 0;
    q.heard = active;
}

/// Frees what came from before the switch; nothing is left to be delivered. Its ring was emptied when less came than
/// was asked for; drivers give multiples of 4, and some no more than 32.
[[gnu::noinline, gnu::cold]] std::uint16_t discard_old(RxQueue &q, rte_mbuf **pkts, std::uint16_t got,
                                                       std::uint16_t n) noexcept {
    const bool empty = n != 0 && (got == 0 || got < (std::min(n, kAtOnce) & ~3U));
    q.stale_ahead = empty ? 0 : q.stale_ahead - std::min<std::uint32_t>(q.stale_ahead, got);
    discard(q, pkts, got);
    return 0;
}

/// Empties one of the others.
void empty_another(RxQueue &q, SubIndex active) noexcept {
    RingNode *at = q.cursor;
    if (static_cast<const SubQueue *>(at)->index == active.raw())
        at = at->next();
    auto &sub = *static_cast<SubQueue *>(at);
    q.cursor = sub.next();
    if (sub.index == active.raw() || !sub.guard.enter(sub.door->gate))
        return;
    std::array<rte_mbuf *, kAtOnce> stale;
    const std::uint16_t got = receive(sub, sub.guess, stale.data(), kAtOnce);
    sub.guard.leave();
    if (got != 0)
        discard(q, stale.data(), got);
}

} // namespace

std::uint16_t rx_burst_active(void *rx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<RxQueue *>(rx_queue);
    const SubIndex active = q.selection->active();
    std::uint16_t got = 0;
    if (active.valid()) [[likely]] {
        if (active != q.heard) [[unlikely]]
            hear(q, active);
        SubQueue &sub = q.subs[active.raw()];
        if (sub.guard.enter(sub.door->gate)) [[likely]] {
            got = receive(sub, sub.guess, pkts, n);
            sub.guard.leave();
            if (q.stale_ahead != 0) [[unlikely]]
                got = discard_old(q, pkts, got, n);
        }
        stamp(pkts, got, q.port);
    }
    empty_another(q, active);
    return got;
}

} // namespace holdfast::datapath
