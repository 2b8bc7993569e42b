// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/generate.h"

#include <rte_pmd_mayfly.h>

#include <rte_cycles.h>

#include <algorithm>
#include <cstring>

namespace holdfast::mayfly {
namespace {

void write_packet(const Queue &queue, const QueueParts &parts, rte_mbuf &m, std::uint64_t sequence,
                  std::uint64_t now) noexcept {
    const rte_pmd_mayfly_stamp stamp = {
        .magic = RTE_PMD_MAYFLY_STAMP_MAGIC,
        .device = parts.device->id,
        .life = parts.life,
        .queue = parts.queue,
        .zero = 0,
        .sequence = sequence,
        .cycles = now,
    };
    static_assert(RTE_PMD_MAYFLY_STAMP_OFFSET == RTE_ETHER_HDR_LEN);
    static_assert(RTE_ETHER_HDR_LEN + sizeof(stamp) <= kSmallestPacket);
    auto *data = rte_pktmbuf_mtod(&m, std::uint8_t *);
    std::memcpy(data, queue.header.data(), queue.header.size());
    std::memcpy(data + queue.header.size(), &stamp, sizeof(stamp));
    const std::size_t written = queue.header.size() + sizeof(stamp);
    std::memset(data + written, 0, parts.size - written);
    m.pkt_len = parts.size;
    m.data_len = parts.size;
    m.port = parts.port;
    m.packet_type = RTE_PTYPE_L2_ETHER;
}

} // namespace

std::uint16_t due(std::uint64_t now, std::uint64_t interval, std::uint64_t backlog, std::uint64_t &next,
                  std::uint16_t n) noexcept {
    if (interval == 0)
        return n;
    if (now < next)
        return 0;
    if (now - next > backlog)
        next = now - backlog;
    const std::uint64_t ready = (now - next) / interval + 1;
    const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(ready, n));
    next += interval * count;
    return count;
}

std::uint16_t generate(Queue &queue, const QueueParts &parts, rte_mbuf **packets, std::uint16_t n) noexcept {
    const std::uint64_t now = rte_rdtsc();
    std::uint64_t next =
        queue.visitors.next_cycle.load(std::memory_order_relaxed); // pairs: own (nobody else writes it)
    const std::uint16_t wanted = due(now, queue.interval, rte_get_tsc_hz() / kBacklogPart, next, n);
    queue.visitors.next_cycle.store(next, std::memory_order_relaxed); // pairs: own (a number for rx_queue_count)
    if (wanted == 0)
        return 0;
    if (parts.pool == nullptr || rte_pktmbuf_alloc_bulk(parts.pool, packets, wanted) != 0) [[unlikely]] {
        QueueCounts::add(parts.counts->no_mbuf, wanted);
        return 0;
    }
    const std::uint64_t sequence = QueueCounts::read(parts.counts->sequence);
    for (std::uint16_t i = 0; i < wanted; i++)
        write_packet(queue, parts, *packets[i], sequence + i, now);
    QueueCounts::add(parts.counts->sequence, wanted);
    return wanted;
}

} // namespace holdfast::mayfly
