// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"
#include "base/ids.h"
#include "base/selection.h"
#include "datapath/call.h"
#include "datapath/datapath.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

// tx=round-robin and tx=broadcast: packets are not looked at.

namespace holdfast::datapath {
namespace {

constexpr std::uint16_t kAtOnce = 64;

constexpr std::uint16_t bit(std::uint8_t sub) noexcept {
    return static_cast<std::uint16_t>(1U << sub);
}

/// The first of `subs`, of which there is one, from `turn` on, round.
constexpr std::uint8_t next_of(std::uint16_t subs, std::uint8_t turn) noexcept {
    const std::uint32_t behind = subs & (~0U << turn);
    return static_cast<std::uint8_t>(std::countr_zero(behind != 0 ? behind : subs));
}

/// Where the i-th packet of a copy of the burst stands in the burst: there, unless a driver has moved it.
std::uint16_t place_of(const rte_mbuf *packet, rte_mbuf *const *pkts, std::uint16_t n, std::uint16_t i) noexcept {
    if (pkts[i] == packet) [[likely]]
        return i;
    return static_cast<std::uint16_t>(std::find(pkts, pkts + n, packet) - pkts);
}

using Owed = std::array<std::uint8_t, kAtOnce>;

/// Writes down what a carrier has left in its copy of the burst, of which it took the first. Says whether that was
/// anything of the burst's.
[[gnu::noinline, gnu::cold]] bool owe(Owed &owed, rte_mbuf *const *copy, std::uint16_t took, rte_mbuf *const *pkts,
                                      std::uint16_t n) noexcept {
    bool any = false;
    for (std::uint16_t i = took; i < n; i++) {
        const std::uint16_t place = place_of(copy[i], pkts, n, i);
        if (place == n) { // a callback has put another packet there: it is nobody's but ours
            rte_pktmbuf_free(copy[i]);
            continue;
        }
        owed[place]++;
        any = true;
    }
    return any;
}

/// After a broadcast that not all took all of. `owed`: how many of the `carriers` did not take a packet, by place.
/// Their references are given back, and what nobody took is moved to the end, in its order. Says how many were sent.
[[gnu::noinline, gnu::cold]] std::uint16_t settle_owed(const Owed &owed, int carriers, rte_mbuf **pkts,
                                                       std::uint16_t n) noexcept {
    std::uint16_t end = n;
    for (std::uint16_t i = n; i-- != 0;) {
        rte_mbuf *const packet = pkts[i];
        if (owed[i] == carriers) {
            rte_pktmbuf_refcnt_update(packet, static_cast<std::int16_t>(1 - carriers));
            pkts[--end] = packet;
            continue;
        }
        for (std::uint8_t k = 0; k < owed[i]; k++)
            rte_pktmbuf_free(packet);
    }
    return end;
}

/// Sends up to kAtOnce packets on several carriers; says how many somebody took.
std::uint16_t send_on_all(TxQueue &q, rte_mbuf **pkts, std::uint16_t n, std::uint16_t carriers) noexcept {
    // All references at first: who takes a packet may free it before the next one is asked.
    const int copies = std::popcount(carriers);
    for (std::uint16_t i = 0; i < n; i++)
        rte_pktmbuf_refcnt_update(pkts[i], static_cast<std::int16_t>(copies - 1));
    Owed owed{};
    bool all = true;
    for (std::uint32_t left = carriers; left != 0; left &= left - 1) {
        SubQueue &sub = q.subs[static_cast<std::size_t>(std::countr_zero(left))];
        std::array<rte_mbuf *, kAtOnce> copy; // the array that a driver gets is its to change
        std::copy_n(pkts, n, copy.data());
        std::uint16_t took = 0;
        if (sub.guard.enter(sub.door->gate)) [[likely]] {
            took = transmit(sub, copy.data(), n);
            sub.guard.leave();
        }
        if (took != n) [[unlikely]]
            all = !owe(owed, copy.data(), took, pkts, n) && all;
    }
    return all ? n : settle_owed(owed, copies, pkts, n);
}

} // namespace

std::uint16_t tx_burst_round_robin(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    std::uint16_t left = q.selection->view().carriers();
    const bool gone = left == 0;
    while (left != 0) {
        const std::uint8_t turn = next_of(left, q.turn);
        SubQueue &sub = q.subs[turn];
        if (!sub.guard.enter(sub.door->gate)) [[unlikely]] {
            left = static_cast<std::uint16_t>(left & ~bit(turn));
            continue;
        }
        q.turn = static_cast<std::uint8_t>((turn + 1U) % kMaxSubDevices);
        const std::uint16_t sent = transmit(sub, pkts, n);
        sub.guard.leave();
        return sent;
    }
    return nobody(q, pkts, n, gone);
}

std::uint16_t tx_burst_broadcast(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    const std::uint16_t carriers = q.selection->view().carriers();
    if (carriers == 0) [[unlikely]]
        return nobody(q, pkts, n, true);
    std::uint16_t sent = 0;
    if (std::has_single_bit(carriers)) {
        bool shut = false;
        sent = transmit_on_one(q, carriers, pkts, n, shut);
        return shut ? nobody(q, pkts, n, false) : sent;
    }
    while (sent != n) {
        const std::uint16_t part = std::min<std::uint16_t>(static_cast<std::uint16_t>(n - sent), kAtOnce);
        const std::uint16_t took = send_on_all(q, pkts + sent, part, carriers);
        sent = static_cast<std::uint16_t>(sent + took);
        if (took != part)
            break;
    }
    return sent;
}

std::uint16_t tx_prepare_all(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    std::uint16_t good = n;
    for (std::uint32_t left = q.selection->view().carriers(); left != 0 && good != 0; left &= left - 1) {
        SubQueue &sub = q.subs[static_cast<std::size_t>(std::countr_zero(left))];
        if (!sub.guard.enter(sub.door->gate)) [[unlikely]]
            continue;
        good = rte_eth_tx_prepare(sub.port, sub.queue, pkts, good);
        sub.guard.leave();
    }
    return good;
}

} // namespace holdfast::datapath
