// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/generate.h"

#include "mayfly/clock.h"
#include <rte_pmd_mayfly.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace holdfast::mayfly {
namespace {

/// Most packets of one burst when they are of flows, which are chosen before mbufs are taken.
constexpr std::uint16_t kMostChosen = 256;

constexpr std::size_t kFlowHeaders = RTE_PMD_MAYFLY_FLOW_STAMP_OFFSET;
static_assert(RTE_PMD_MAYFLY_STAMP_OFFSET == RTE_ETHER_HDR_LEN);
static_assert(RTE_ETHER_HDR_LEN + sizeof(rte_pmd_mayfly_stamp) <= kSmallestPacket);
static_assert(kFlowHeaders == RTE_ETHER_HDR_LEN + sizeof(rte_ipv4_hdr) + sizeof(rte_udp_hdr));
static_assert(kFlowHeaders + sizeof(rte_pmd_mayfly_stamp) == kSmallestFlowPacket);

struct Chosen {
    std::uint16_t flow = 0;
    Steering::Target target;
};

/// Puts the stamp behind the headers, zeros behind the stamp, and fills what both kinds of packets have in the mbuf.
void finish(const QueueParts &parts, rte_mbuf &m, std::uint8_t *data, std::size_t headers, std::uint64_t sequence,
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
    std::memcpy(data + headers, &stamp, sizeof(stamp));
    const std::size_t written = headers + sizeof(stamp);
    std::memset(data + written, 0, parts.size - written);
    m.pkt_len = parts.size;
    m.data_len = parts.size;
    m.port = parts.port;
}

void write_packet(const Queue &queue, const QueueParts &parts, rte_mbuf &m, std::uint64_t sequence,
                  std::uint64_t now) noexcept {
    auto *data = rte_pktmbuf_mtod(&m, std::uint8_t *);
    std::memcpy(data, queue.header.data(), queue.header.size());
    finish(parts, m, data, queue.header.size(), sequence, now);
    m.packet_type = RTE_PTYPE_L2_ETHER;
}

void write_flow_packet(const Queue &queue, const QueueParts &parts, rte_mbuf &m, const Chosen &chosen,
                       std::uint64_t sequence, std::uint64_t now) noexcept {
    auto *data = rte_pktmbuf_mtod(&m, std::uint8_t *);
    std::memcpy(data, queue.header.data(), queue.header.size());
    const std::array<std::uint8_t, 12> tuple = flow_tuple(chosen.flow);
    rte_ipv4_hdr ip = {};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(parts.size - RTE_ETHER_HDR_LEN));
    ip.time_to_live = 64;
    ip.next_proto_id = IPPROTO_UDP;
    std::array<rte_be32_t, 2> addresses{}; // ip is packed: nothing may point into it
    std::memcpy(addresses.data(), tuple.data(), sizeof(addresses));
    ip.src_addr = addresses[0];
    ip.dst_addr = addresses[1];
    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    rte_udp_hdr udp = {};
    std::memcpy(&udp.src_port, tuple.data() + 8, sizeof(udp.src_port));
    std::memcpy(&udp.dst_port, tuple.data() + 10, sizeof(udp.dst_port));
    udp.dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(parts.size - RTE_ETHER_HDR_LEN - sizeof(ip)));
    std::memcpy(data + RTE_ETHER_HDR_LEN, &ip, sizeof(ip));
    std::memcpy(data + RTE_ETHER_HDR_LEN + sizeof(ip), &udp, sizeof(udp)); // no checksum, as IPv4 allows
    finish(parts, m, data, kFlowHeaders, sequence, now);
    m.packet_type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP;
    m.ol_flags |= parts.rx_flags;
    if (parts.rss_hash && chosen.target.hashed) {
        m.hash.rss = chosen.target.hash;
        m.ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
    }
}

/// Takes the queue's flows in turn, from where the last burst stopped. Bound: it looks at each flow once per packet.
std::uint16_t choose(Queue &queue, const QueueParts &parts, std::array<Chosen, kMostChosen> &chosen,
                     std::uint16_t n) noexcept {
    std::uint32_t at = queue.visitors.next_flow.load(std::memory_order_relaxed); // pairs: own (nobody else writes it)
    std::uint16_t found = 0;
    while (found < n) {
        std::uint16_t looks = 0;
        Chosen next;
        do {
            next.flow = static_cast<std::uint16_t>(at < parts.flows ? at : 0);
            next.target = parts.device->steering.of(next.flow);
            at = std::uint32_t{next.flow} + 1;
        } while (next.target.queue != parts.queue && ++looks < parts.flows);
        if (next.target.queue != parts.queue)
            break; // the last one was sent elsewhere just now
        chosen[found++] = next;
    }
    queue.visitors.next_flow.store(at, std::memory_order_relaxed); // pairs: own (nobody else reads it)
    return found;
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

bool pace(const Queue &queue, const QueueParts &parts, std::uint64_t &interval) noexcept {
    interval = queue.interval;
    if (parts.flows == 0)
        return true;
    const std::uint16_t share = parts.device->steering.share(parts.queue);
    if (share == 0)
        return false;
    if (interval != 0)
        interval = std::max<std::uint64_t>(1, interval / share);
    return true;
}

std::uint16_t generate(Queue &queue, const QueueParts &parts, rte_mbuf **packets, std::uint16_t n) noexcept {
    const std::uint64_t now = rte_rdtsc();
    std::uint64_t interval = 0;
    if (!pace(queue, parts, interval))
        return 0;
    std::uint64_t next =
        queue.visitors.next_cycle.load(std::memory_order_relaxed); // pairs: own (nobody else writes it)
    std::array<Chosen, kMostChosen> chosen;
    const std::uint16_t most = parts.flows == 0 ? n : std::min(n, kMostChosen);
    std::uint16_t wanted = due(now, interval, rte_get_tsc_hz() / kBacklogPart, next, most);
    queue.visitors.next_cycle.store(next, std::memory_order_relaxed); // pairs: own (a number for rx_queue_count)
    if (parts.flows != 0)
        wanted = choose(queue, parts, chosen, wanted);
    if (wanted == 0)
        return 0;
    if (parts.pool == nullptr || rte_pktmbuf_alloc_bulk(parts.pool, packets, wanted) != 0) [[unlikely]] {
        QueueCounts::add(parts.counts->no_mbuf, wanted);
        return 0;
    }
    const std::uint64_t sequence = QueueCounts::read(parts.counts->sequence);
    for (std::uint16_t i = 0; i < wanted; i++) {
        if (parts.flows == 0)
            write_packet(queue, parts, *packets[i], sequence + i, now);
        else
            write_flow_packet(queue, parts, *packets[i], chosen[i], sequence + i, now);
    }
    QueueCounts::add(parts.counts->sequence, wanted);
    return wanted;
}

} // namespace holdfast::mayfly
