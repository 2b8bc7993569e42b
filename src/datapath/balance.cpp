// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"
#include "base/ids.h"
#include "base/policy.h"
#include "base/selection.h"
#include "datapath/call.h"
#include "datapath/datapath.h"
#include "datapath/flow_hash.h"
#include "datapath/shares.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// tx=balance. One pass over the packets: the flow's number, its share, the share's sub-device, the list of that one.

namespace holdfast::datapath {
namespace {

constexpr std::uint16_t kAtOnce = 64;

/// The number of a packet that is not of the most frequent kinds. Its headers may lie in several segments.
[[gnu::noinline]] std::uint32_t rare_hash(const rte_mbuf &m, XmitPolicy policy) noexcept {
    if (m.next == nullptr || m.data_len >= kFlowReach)
        return flow_hash(rte_pktmbuf_mtod(&m, const std::uint8_t *), m.data_len, policy);
    std::array<std::uint8_t, kFlowReach> headers;
    std::size_t size = 0;
    for (const rte_mbuf *part = &m; part != nullptr && size != headers.size(); part = part->next) {
        const std::size_t more = std::min<std::size_t>(part->data_len, headers.size() - size);
        std::copy_n(rte_pktmbuf_mtod(part, const std::uint8_t *), more, headers.data() + size);
        size += more;
    }
    return flow_hash(headers.data(), size, policy);
}

template <XmitPolicy P> [[gnu::always_inline]] inline std::uint32_t hash_of(const rte_mbuf &m) noexcept {
    std::uint32_t hash = 0;
    if (flow::quick<P>(rte_pktmbuf_mtod(&m, const std::uint8_t *), m.data_len, hash)) [[likely]]
        return hash;
    return rare_hash(m, P);
}

/// A burst by sub-device. What is not used of it is not written.
struct Lists {
    std::array<std::uint16_t, kMaxSubDevices> length;
    std::array<std::uint16_t, kMaxSubDevices> unsent; ///< the last so many; valid where length is not 0
    std::array<std::uint8_t, kAtOnce> of;             ///< by place in the burst: whose it is
    std::array<std::array<rte_mbuf *, kAtOnce>, kMaxSubDevices> packets;
};

/// Moves what was not sent to the end of the burst, in its order.
[[gnu::noinline, gnu::cold]] void keep_unsent(Lists &lists, rte_mbuf **pkts, std::uint16_t n) noexcept {
    std::uint16_t end = n;
    for (std::uint16_t i = n; i-- != 0;) {
        const std::uint8_t sub = lists.of[i];
        if (lists.unsent[sub] == 0)
            continue;
        lists.unsent[sub]--;
        // From the list: a driver that spreads packets itself may have moved what it did not take.
        pkts[--end] = lists.packets[sub][--lists.length[sub]];
    }
}

[[gnu::noinline, gnu::cold]] void renew_shares(TxQueue &q, std::uint16_t carriers) noexcept {
    share_out(carriers, q.shares);
    q.members = carriers;
}

/// Sends up to kAtOnce packets; says how many. `shut`: a gate was closed.
template <XmitPolicy P>
[[gnu::always_inline]] inline std::uint16_t spread(TxQueue &q, rte_mbuf **pkts, std::uint16_t n, std::uint16_t carriers,
                                                   bool &shut) noexcept {
    if (q.members != carriers) [[unlikely]]
        renew_shares(q, carriers);
    Lists lists;
    lists.length.fill(0);
    for (std::uint16_t i = 0; i < n; i++) {
        const std::uint8_t sub = q.shares[share_of(hash_of<P>(*pkts[i]))];
        lists.of[i] = sub;
        lists.packets[sub][lists.length[sub]++] = pkts[i];
    }
    std::uint16_t sent = 0;
    for (std::uint32_t left = carriers; left != 0; left &= left - 1) {
        const auto sub = static_cast<std::uint8_t>(std::countr_zero(left));
        const std::uint16_t length = lists.length[sub];
        if (length == 0)
            continue;
        lists.unsent[sub] = length;
        SubQueue &to = q.subs[sub];
        if (!to.guard.enter(to.door->gate)) [[unlikely]] {
            shut = true;
            continue;
        }
        const std::uint16_t took = transmit(to, lists.packets[sub].data(), length);
        to.guard.leave();
        lists.unsent[sub] = static_cast<std::uint16_t>(length - took);
        sent = static_cast<std::uint16_t>(sent + took);
    }
    if (sent != n) [[unlikely]]
        keep_unsent(lists, pkts, n);
    return sent;
}

} // namespace

template <XmitPolicy P> std::uint16_t tx_burst_balance(void *tx_queue, rte_mbuf **pkts, std::uint16_t n) noexcept {
    auto &q = *static_cast<TxQueue *>(tx_queue);
    std::uint16_t carriers = q.selection->view().carriers();
    std::uint16_t sent = 0;
    bool again = true; // once a call: the carriers may change between the look at them and a gate
    while (sent != n) {
        if (carriers == 0) [[unlikely]]
            return static_cast<std::uint16_t>(sent +
                                              nobody(q, pkts + sent, static_cast<std::uint16_t>(n - sent), true));
        const bool alone = std::has_single_bit(carriers);
        const auto left = static_cast<std::uint16_t>(n - sent);
        const std::uint16_t part = alone ? left : std::min(left, kAtOnce);
        bool shut = false;
        const std::uint16_t took = alone ? transmit_on_one(q, carriers, pkts + sent, part, shut)
                                         : spread<P>(q, pkts + sent, part, carriers, shut);
        sent = static_cast<std::uint16_t>(sent + took);
        if (took == part) [[likely]]
            continue;
        if (!shut)
            break; // what comes behind must not overtake it
        if (!again)
            return sent != 0 ? sent : nobody(q, pkts, n, false);
        again = false;
        carriers = q.selection->view().carriers();
    }
    return sent;
}

template std::uint16_t tx_burst_balance<XmitPolicy::kL2>(void *, rte_mbuf **, std::uint16_t) noexcept;
template std::uint16_t tx_burst_balance<XmitPolicy::kL23>(void *, rte_mbuf **, std::uint16_t) noexcept;
template std::uint16_t tx_burst_balance<XmitPolicy::kL34>(void *, rte_mbuf **, std::uint16_t) noexcept;

} // namespace holdfast::datapath
