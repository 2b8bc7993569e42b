// SPDX-License-Identifier: BSD-3-Clause
// The fast path. No allocation but of the packets, no lock, no log; a system call only where a delay or an
// interrupt was asked for.
#include "mayfly/clock.h"
#include "mayfly/generate.h"
#include "mayfly/queue.h"

#include <rte_ether.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>

namespace holdfast::mayfly {
namespace {

/// Marks its queue as visited by the lcore for its scope. The first access to a queue, so the one that faults on a
/// closed page.
class Visit {
  public:
    explicit Visit(Queue &queue) noexcept : burst_(queue.visitors.burst) {
        // pairs: visit (Visitors::anybody): a stop that comes after this store sees it.
        burst_.store(1, std::memory_order_seq_cst);
    }
    ~Visit() { burst_.store(0, std::memory_order_release); } // pairs: visit (Visitors::anybody)
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;

  private:
    std::atomic<std::uint32_t> &burst_;
};

enum class Can : std::uint8_t { kNothing, kDead, kUnlinked, kMove };

/// What the hardware would do now; everything that was armed for this call happens here. Reads the queue again after a
/// delay, so that a caller who was late to leave is caught.
Can look(Queue &queue, const QueueParts &parts, Op op) noexcept {
    QueueCounts::add(parts.counts->calls, 1);
    if (parts.device->faults.armed(op) && parts.device->disturb(op) != 0) [[unlikely]]
        return Can::kNothing;
    // pairs: running (Port::start): what control wrote for this run is seen.
    const Running running = queue.running.load(std::memory_order_acquire);
    if (running != Running::kStarted) [[unlikely]] {
        if (running == Running::kPortStopped)
            parts.device->count(Device::Count::kLateCalls);
        return Can::kNothing;
    }
    if (!parts.device->alive(parts.life)) [[unlikely]]
        return Can::kDead;
    if (parts.device->health() != Device::Health::kGood) [[unlikely]]
        return Can::kNothing;
    return parts.device->carrier() ? Can::kMove : Can::kUnlinked;
}

std::uint16_t receive(Inbox &inbox, std::uint16_t port, rte_mbuf **packets, std::uint16_t n) noexcept {
    if (!inbox.reader.enter(inbox.gate))
        return 0;
    const auto got = static_cast<std::uint16_t>(inbox.ring->pop(packets, n));
    inbox.reader.leave();
    for (std::uint16_t i = 0; i < got; i++) {
        rte_mbuf *m = packets[i];
        // The sender's requests end here; what says how the data is held has to stay.
        m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
        m->tx_offload = 0;
        m->packet_type = RTE_PTYPE_UNKNOWN;
        m->port = port;
    }
    return got;
}

std::uint64_t bytes_of(rte_mbuf *const *packets, std::uint16_t n) noexcept {
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < n; i++)
        bytes += packets[i]->pkt_len;
    return bytes;
}

/// Every packet gets the time at which the device had it.
void stamp_time(const QueueParts &parts, rte_mbuf **packets, std::uint16_t n) noexcept {
    const rte_mbuf_timestamp_t now = device_clock();
    for (std::uint16_t i = 0; i < n; i++) {
        *RTE_MBUF_DYNFIELD(packets[i], parts.stamp_at, rte_mbuf_timestamp_t *) = now;
        packets[i]->ol_flags |= parts.stamp_flag;
    }
}

bool is_ptp(const rte_mbuf &m) noexcept {
    const auto *header = rte_pktmbuf_mtod(&m, const rte_ether_hdr *);
    return m.data_len >= sizeof(*header) && header->ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_1588);
}

/// IEEE 1588: notes when such packets came, for timesync_read_rx_timestamp.
void note_ptp_received(Device &device, rte_mbuf **packets, std::uint16_t n) noexcept {
    for (std::uint16_t i = 0; i < n; i++) {
        if (!is_ptp(*packets[i]))
            continue;
        packets[i]->packet_type = RTE_PTYPE_L2_ETHER_TIMESYNC;
        packets[i]->ol_flags |= RTE_MBUF_F_RX_IEEE1588_PTP | RTE_MBUF_F_RX_IEEE1588_TMST;
        packets[i]->timesync = 0;
        device.ptp_received.store(device_clock(), std::memory_order_relaxed); // pairs: ptp (Port::timesync_read_rx)
    }
}

void note_ptp_sent(Device &device, rte_mbuf *const *packets, std::uint16_t n) noexcept {
    for (std::uint16_t i = 0; i < n; i++)
        if ((packets[i]->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) != 0)
            device.ptp_sent.store(device_clock(), std::memory_order_relaxed); // pairs: ptp (Port::timesync_read_tx)
}

bool timesync(const Device &device) noexcept {
    return device.timesync.load(std::memory_order_relaxed) != 0; // pairs: ptp (Port::timesync_enable)
}

std::uint16_t drop(std::atomic<std::uint64_t> &reason, rte_mbuf **packets, std::uint16_t n) noexcept {
    QueueCounts::add(reason, n);
    rte_pktmbuf_free_bulk(packets, n);
    return n;
}

/// Hands packets to the reader of an inbox. What does not fit stays the caller's.
std::uint16_t send(const QueueParts &parts, rte_mbuf **packets, std::uint16_t n) noexcept {
    Inbox &inbox = *parts.inbox;
    if (!inbox.writer.enter(inbox.gate))
        return drop(parts.counts->no_peer, packets, n);
    const auto fit = static_cast<std::uint16_t>(std::min<std::uint32_t>(n, inbox.ring->room(inbox.limit)));
    const std::uint64_t bytes = bytes_of(packets, fit); // afterwards they are the reader's
    if (timesync(*parts.device)) [[unlikely]]
        note_ptp_sent(*parts.device, packets, fit);
    inbox.ring->push(packets, fit);
    if (inbox.bell != nullptr && fit != 0) [[unlikely]]
        inbox.bell->ring();
    inbox.writer.leave();
    QueueCounts::add(parts.counts->packets, fit);
    QueueCounts::add(parts.counts->bytes, bytes);
    return fit;
}

} // namespace

/// Bound: at most n packets are made or taken out of one ring.
std::uint16_t rx_burst(void *opaque, rte_mbuf **packets, std::uint16_t n) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const Visit visit(queue);
    const QueueParts parts = queue.parts;
    if (parts.device == nullptr || look(queue, parts, Op::kRxBurst) != Can::kMove) [[unlikely]]
        return 0;
    std::uint16_t got = 0;
    if (parts.mode == Mode::kGenerate)
        got = generate(queue, parts, packets, n);
    else if (parts.inbox != nullptr)
        got = receive(*parts.inbox, parts.port, packets, n);
    if (parts.stamp_at >= 0) [[unlikely]]
        stamp_time(parts, packets, got);
    if (timesync(*parts.device)) [[unlikely]]
        note_ptp_received(*parts.device, packets, got);
    QueueCounts::add(parts.counts->packets, got);
    QueueCounts::add(parts.counts->bytes, bytes_of(packets, got));
    return got;
}

/// What it does not accept stays the caller's. Bound: n packets are freed or put into one ring.
std::uint16_t tx_burst(void *opaque, rte_mbuf **packets, std::uint16_t n) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const Visit visit(queue);
    const QueueParts parts = queue.parts;
    if (parts.device == nullptr) [[unlikely]]
        return 0;
    switch (look(queue, parts, Op::kTxBurst)) {
    case Can::kNothing:
        return 0;
    case Can::kDead:
        return parts.refuse_when_dead ? std::uint16_t{0} : drop(parts.counts->dead, packets, n);
    case Can::kUnlinked:
        return drop(parts.counts->no_link, packets, n);
    case Can::kMove:
        break;
    }
    if (parts.inbox != nullptr)
        return send(parts, packets, n);
    if (timesync(*parts.device)) [[unlikely]]
        note_ptp_sent(*parts.device, packets, n);
    QueueCounts::add(parts.counts->packets, n);
    QueueCounts::add(parts.counts->bytes, bytes_of(packets, n));
    rte_pktmbuf_free_bulk(packets, n);
    return n;
}

} // namespace holdfast::mayfly
