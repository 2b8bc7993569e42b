// SPDX-License-Identifier: BSD-3-Clause
// The counters of a port. They are the device's, over all its lives; a port shows what came since its last reset.
#include "mayfly/port.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast::mayfly {
namespace {

/// The extended counters of the device as a whole.
struct Extended {
    const char *name;
    Device::Count count;
    bool resets = true;
};
constexpr Extended kExtended[] = {
    {"mayfly_trespasses", Device::Count::kTrespasses},
    {"mayfly_late_calls", Device::Count::kLateCalls},
    {"mayfly_drained", Device::Count::kDrained},
    {"mayfly_lives", Device::Count::kLives, false}, // how many it had, not what happened
};
constexpr unsigned kExtendedCount = static_cast<unsigned>(std::size(kExtended));

/// Those of one queue, behind the others: Rx queue by Rx queue, then Tx queue by Tx queue.
constexpr std::array kPerRx = {"packets", "bytes", "polls", "no_mbuf", "interrupts"};
constexpr std::array kPerTx = {"packets", "bytes", "bursts", "no_peer", "dead", "no_link"};

std::array<std::uint64_t, kPerRx.size()> rx_values(const Port::Reading &r) noexcept {
    return {r.packets, r.bytes, r.calls, r.no_mbuf, r.rung};
}
std::array<std::uint64_t, kPerTx.size()> tx_values(const Port::Reading &r) noexcept {
    return {r.packets, r.bytes, r.calls, r.no_peer, r.dead, r.no_link};
}

/// Which counter an id means.
struct Place {
    enum class Of : std::uint8_t { kDevice, kRx, kTx } of = Of::kDevice;
    std::uint16_t queue = 0;
    unsigned item = 0;
};
Place place_of(unsigned id, std::uint16_t rx_queues) noexcept {
    if (id < kExtendedCount)
        return {.item = id};
    id -= kExtendedCount;
    if (const unsigned rx = rx_queues * static_cast<unsigned>(kPerRx.size()); id >= rx) {
        id -= rx;
        return {.of = Place::Of::kTx,
                .queue = static_cast<std::uint16_t>(id / kPerTx.size()),
                .item = static_cast<unsigned>(id % kPerTx.size())};
    }
    return {.of = Place::Of::kRx,
            .queue = static_cast<std::uint16_t>(id / kPerRx.size()),
            .item = static_cast<unsigned>(id % kPerRx.size())};
}

void name_of(const Place &place, rte_eth_xstat_name &name) noexcept {
    if (place.of == Place::Of::kDevice)
        std::snprintf(name.name, sizeof(name.name), "%s", kExtended[place.item].name);
    else if (place.of == Place::Of::kRx)
        std::snprintf(name.name, sizeof(name.name), "mayfly_rx_q%u_%s", place.queue, kPerRx[place.item]);
    else
        std::snprintf(name.name, sizeof(name.name), "mayfly_tx_q%u_%s", place.queue, kPerTx[place.item]);
}

} // namespace

Port::Reading &Port::Reading::operator-=(const Reading &then) noexcept {
    packets -= then.packets;
    bytes -= then.bytes;
    calls -= then.calls;
    no_mbuf -= then.no_mbuf;
    no_peer -= then.no_peer;
    dead -= then.dead;
    no_link -= then.no_link;
    rung -= then.rung;
    return *this;
}

Port::Reading Port::read(bool rx, std::uint16_t number) const noexcept {
    const QueueCounts &now = (rx ? device_.rx : device_.tx)[number];
    return {.packets = QueueCounts::read(now.packets),
            .bytes = QueueCounts::read(now.bytes),
            .calls = QueueCounts::read(now.calls),
            .no_mbuf = QueueCounts::read(now.no_mbuf),
            .no_peer = QueueCounts::read(now.no_peer),
            .dead = QueueCounts::read(now.dead),
            .no_link = QueueCounts::read(now.no_link),
            .rung = rx ? device_.bells[number].rung() : 0};
}

Port::Reading Port::since_reset(bool rx, std::uint16_t number) const noexcept {
    Reading now = read(rx, number);
    now -= (rx ? rx_base_ : tx_base_)[number];
    return now;
}

Status Port::stats(abi::PortStats *stats) {
    for (std::uint16_t i = 0; i < kMostQueues; i++) {
        const Reading rx = since_reset(true, i);
        const Reading tx = since_reset(false, i);
        stats->ipackets += rx.packets;
        stats->ibytes += rx.bytes;
        stats->rx_nombuf += rx.no_mbuf;
        stats->opackets += tx.packets;
        stats->obytes += tx.bytes;
        stats->oerrors += tx.dropped();
        if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            stats->q_ipackets[i] = rx.packets;
            stats->q_ibytes[i] = rx.bytes;
            stats->q_opackets[i] = tx.packets;
            stats->q_obytes[i] = tx.bytes;
        }
    }
    return {};
}

Status Port::stats_reset() {
    for (std::uint16_t i = 0; i < kMostQueues; i++) {
        rx_base_[i] = read(true, i);
        tx_base_[i] = read(false, i);
    }
    return {};
}

Status Port::xstats_reset() {
    for (const Extended &extended : kExtended)
        if (extended.resets)
            count_base_[static_cast<std::size_t>(extended.count)] = device_.counted(extended.count);
    return stats_reset();
}

unsigned Port::xstats_count() const noexcept {
    return kExtendedCount + dev_.data->nb_rx_queues * static_cast<unsigned>(kPerRx.size()) +
           dev_.data->nb_tx_queues * static_cast<unsigned>(kPerTx.size());
}

std::uint64_t Port::xstat(unsigned id) const noexcept {
    const Place place = place_of(id, dev_.data->nb_rx_queues);
    if (place.of == Place::Of::kRx)
        return rx_values(since_reset(true, place.queue))[place.item];
    if (place.of == Place::Of::kTx)
        return tx_values(since_reset(false, place.queue))[place.item];
    const Device::Count count = kExtended[place.item].count;
    return device_.counted(count) - count_base_[static_cast<std::size_t>(count)];
}

int Port::xstats(rte_eth_xstat *values, unsigned n) {
    const unsigned count = xstats_count();
    if (values == nullptr || n < count)
        return static_cast<int>(count);
    for (unsigned i = 0; i < count; i++)
        values[i] = {.id = i, .value = xstat(i)};
    return static_cast<int>(count);
}

int Port::xstats_names(rte_eth_xstat_name *names, unsigned n) {
    const unsigned count = xstats_count();
    if (names == nullptr || n < count)
        return static_cast<int>(count);
    for (unsigned i = 0; i < count; i++)
        name_of(place_of(i, dev_.data->nb_rx_queues), names[i]);
    return static_cast<int>(count);
}

int Port::xstats_by_id(const std::uint64_t *ids, std::uint64_t *values, unsigned n) {
    const unsigned count = xstats_count();
    if (ids == nullptr || values == nullptr)
        return static_cast<int>(count);
    if (std::any_of(ids, ids + n, [count](std::uint64_t id) { return id >= count; }))
        return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        values[i] = xstat(static_cast<unsigned>(ids[i]));
    return static_cast<int>(n);
}

int Port::xstats_names_by_id(const std::uint64_t *ids, rte_eth_xstat_name *names, unsigned n) {
    const unsigned count = xstats_count();
    if (ids == nullptr || names == nullptr)
        return static_cast<int>(count);
    if (std::any_of(ids, ids + n, [count](std::uint64_t id) { return id >= count; }))
        return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        name_of(place_of(static_cast<unsigned>(ids[i]), dev_.data->nb_rx_queues), names[i]);
    return static_cast<int>(n);
}

} // namespace holdfast::mayfly
