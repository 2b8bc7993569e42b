// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"
#include "mayfly/arena.h"
#include "mayfly/clock.h"
#include "mayfly/generate.h"
#include "mayfly/port.h"
#include <rte_pmd_mayfly.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace holdfast::mayfly {

Queue *Port::rx(std::uint16_t queue) const noexcept {
    return queue < dev_.data->nb_rx_queues ? static_cast<Queue *>(dev_.data->rx_queues[queue]) : nullptr;
}

Queue *Port::tx(std::uint16_t queue) const noexcept {
    return queue < dev_.data->nb_tx_queues ? static_cast<Queue *>(dev_.data->tx_queues[queue]) : nullptr;
}

Queue *Port::make_queue() noexcept {
    void *page = arena().take();
    return page == nullptr ? nullptr : new (page) Queue;
}

Status Port::check_descriptors(std::uint16_t descriptors) const noexcept {
    if (descriptors < config_.min_desc || descriptors > config_.max_desc || descriptors % config_.desc_align != 0)
        return {-EINVAL, "set up a queue: not a number of descriptors that this device has"};
    return {};
}

Status Port::rx_queue_setup(std::uint16_t number, std::uint16_t descriptors, unsigned /*socket*/,
                            const rte_eth_rxconf *conf, rte_mempool *pool) {
    if (Status s = check_descriptors(descriptors); !s.ok())
        return s;
    if (config_.mode == Mode::kGenerate && pool != nullptr &&
        rte_pktmbuf_data_room_size(pool) < RTE_PKTMBUF_HEADROOM + config_.packet_size())
        return {-EINVAL, "set up a queue: a packet of size= does not fit into one mbuf of this pool"};
    const std::uint64_t offloads = conf->offloads | dev_.data->dev_conf.rxmode.offloads;
    int stamp_at = -1;
    std::uint64_t stamp_flag = 0;
    if ((offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0 &&
        rte_mbuf_dyn_rx_timestamp_register(&stamp_at, &stamp_flag) != 0)
        return {-ENOMEM, "set up a queue: no room for timestamps in mbufs"};
    Queue *queue = make_queue();
    if (queue == nullptr)
        return {-ENOMEM, "set up a queue: no memory for it"};
    queue->parts = {
        .device = &device_,
        .counts = &device_.rx[number],
        .inbox = reads_inbox() ? &device_.inboxes[number] : nullptr,
        .pool = pool,
        .life = life_,
        .port = dev_.data->port_id,
        .queue = number,
        .descriptors = descriptors,
        .size = config_.packet_size(),
        .flows = config_.flows,
        .stamp_at = static_cast<std::int16_t>(stamp_at),
        .stamp_flag = stamp_flag,
        .rx_flags = (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0,
        .rss_hash = (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0,
        .mode = config_.mode,
    };
    queue->deferred = conf->rx_deferred_start != 0;
    queue->offloads = offloads;
    queue->running.store(dev_.data->dev_started ? Running::kStopped : Running::kPortStopped,
                         std::memory_order_release); // pairs: running (look)
    dev_.data->rx_queues[number] = queue;
    return {};
}

Status Port::tx_queue_setup(std::uint16_t number, std::uint16_t descriptors, unsigned /*socket*/,
                            const rte_eth_txconf *conf) {
    if (Status s = check_descriptors(descriptors); !s.ok())
        return s;
    Queue *queue = make_queue();
    if (queue == nullptr)
        return {-ENOMEM, "set up a queue: no memory for it"};
    queue->parts = {
        .device = &device_,
        .counts = &device_.tx[number],
        .inbox = peer_ != nullptr ? &peer_->inboxes[number] : nullptr,
        .pool = nullptr,
        .life = life_,
        .port = dev_.data->port_id,
        .queue = number,
        .descriptors = descriptors,
        .size = config_.packet_size(),
        .mode = config_.mode,
        .refuse_when_dead = config_.dead_tx_refuses,
    };
    queue->deferred = conf->tx_deferred_start != 0;
    queue->offloads = conf->offloads | dev_.data->dev_conf.txmode.offloads;
    queue->running.store(dev_.data->dev_started ? Running::kStopped : Running::kPortStopped,
                         std::memory_order_release); // pairs: running (look)
    dev_.data->tx_queues[number] = queue;
    return {};
}

void Port::note_trespass(const Queue &queue, const char *where) noexcept {
    if (!queue.visitors.anybody())
        return;
    device_.count(Device::Count::kTrespasses);
    HOLDFAST_LOG(WARNING, "%s: somebody is inside queue %u at its %s", device_.name.c_str(), queue.parts.queue, where);
}

/// Gives a queue's page back; whoever uses it from now on faults.
void Port::release(void **slot) noexcept {
    note_trespass(*static_cast<Queue *>(*slot), "release");
    arena().close(*slot);
    *slot = nullptr;
}

void Port::rx_queue_release(std::uint16_t number) {
    Queue *queue = rx(number);
    if (queue == nullptr)
        return;
    if (reads_inbox())
        device_.close_inbox(number);
    release(&dev_.data->rx_queues[number]);
}

void Port::tx_queue_release(std::uint16_t number) {
    if (tx(number) != nullptr)
        release(&dev_.data->tx_queues[number]);
}

void Port::run_rx(std::uint16_t number, Queue &queue) {
    // Addressed to ourselves, from an address that nobody has.
    const Mac mac = device_.settings([](const Settings &s) { return s.mac; });
    std::memcpy(queue.header.data(), mac.data(), mac.size());
    const Mac sender = {0x02, 'f', 'l', 'y', static_cast<std::uint8_t>(device_.id), static_cast<std::uint8_t>(number)};
    std::memcpy(queue.header.data() + mac.size(), sender.data(), sender.size());
    const unsigned type = config_.flows == 0 ? RTE_PMD_MAYFLY_ETHER_TYPE : RTE_ETHER_TYPE_IPV4;
    queue.header[12] = static_cast<std::uint8_t>(type >> 8);
    queue.header[13] = static_cast<std::uint8_t>(type);
    const std::uint64_t shares = config_.flows == 0 ? dev_.data->nb_rx_queues : config_.flows;
    queue.interval = config_.rate == 0 ? 0 : std::max<std::uint64_t>(1, rte_get_tsc_hz() * shares / config_.rate);
    queue.visitors.next_cycle.store(rte_rdtsc(),
                                    std::memory_order_relaxed);        // pairs: running (look), with the store below
    queue.running.store(Running::kStarted, std::memory_order_release); // pairs: running (look)
    if (reads_inbox())
        device_.open_inbox(number, life_, queue.parts.descriptors);
    dev_.data->rx_queue_state[number] = RTE_ETH_QUEUE_STATE_STARTED;
}

void Port::halt_rx(std::uint16_t number, Queue &queue, Running state) noexcept {
    note_trespass(queue, "stop");
    queue.running.store(state, std::memory_order_release); // pairs: running (look)
    if (reads_inbox())
        device_.close_inbox(number);
    dev_.data->rx_queue_state[number] = RTE_ETH_QUEUE_STATE_STOPPED;
}

void Port::halt_tx(std::uint16_t number, Queue &queue, Running state) noexcept {
    note_trespass(queue, "stop");
    queue.running.store(state, std::memory_order_release); // pairs: running (look)
    dev_.data->tx_queue_state[number] = RTE_ETH_QUEUE_STATE_STOPPED;
}

Status Port::rx_queue_start(std::uint16_t number) {
    Queue *queue = rx(number);
    if (queue == nullptr)
        return {-EINVAL, "start an Rx queue: it was not set up"};
    run_rx(number, *queue);
    device_.ring_all();
    return {};
}

Status Port::rx_queue_stop(std::uint16_t number) {
    Queue *queue = rx(number);
    if (queue == nullptr)
        return {-EINVAL, "stop an Rx queue: it was not set up"};
    halt_rx(number, *queue, Running::kStopped);
    return {};
}

Status Port::tx_queue_start(std::uint16_t number) {
    Queue *queue = tx(number);
    if (queue == nullptr)
        return {-EINVAL, "start a Tx queue: it was not set up"};
    queue->running.store(Running::kStarted, std::memory_order_release); // pairs: running (look)
    dev_.data->tx_queue_state[number] = RTE_ETH_QUEUE_STATE_STARTED;
    return {};
}

Status Port::tx_queue_stop(std::uint16_t number) {
    Queue *queue = tx(number);
    if (queue == nullptr)
        return {-EINVAL, "stop a Tx queue: it was not set up"};
    halt_tx(number, *queue, Running::kStopped);
    return {};
}

Status Port::rx_intr_enable(std::uint16_t number) {
    Queue *queue = rx(number);
    Doorbell &bell = device_.bells[number];
    if (queue == nullptr || !bell.is_open())
        return {-ENOTSUP, "enable an Rx interrupt: the port was configured without"};
    bell.arm();
    // pairs: running (Port::start).
    if (queue->running.load(std::memory_order_acquire) != Running::kStarted)
        return {};
    if (waiting(*queue, queue->parts) != 0) {
        bell.ring();
        return {};
    }
    // A timer may ring for nothing, when the cable is cut or RSS sends all elsewhere before: interrupts may be
    // spurious.
    std::uint64_t interval = 0;
    if (config_.mode == Mode::kGenerate && device_.carrier() && pace(*queue, queue->parts, interval)) {
        const std::uint64_t next = queue->visitors.next_cycle.load(std::memory_order_relaxed); // pairs: own (generate)
        const std::uint64_t now = rte_rdtsc();
        bell.ring_after(next > now ? to_nanoseconds(next - now) : 0);
    }
    return {};
}

Status Port::rx_intr_disable(std::uint16_t number) {
    if (rx(number) == nullptr || !device_.bells[number].is_open())
        return {-ENOTSUP, "disable an Rx interrupt: the port was configured without"};
    device_.bells[number].disarm();
    return {};
}

void Port::rxq_info(std::uint16_t number, rte_eth_rxq_info *info) {
    const Queue *queue = rx(number);
    if (queue == nullptr)
        return;
    info->mp = queue->parts.pool;
    info->nb_desc = queue->parts.descriptors;
    info->conf.offloads = queue->offloads;
    info->conf.rx_deferred_start = queue->deferred ? 1 : 0;
}

void Port::txq_info(std::uint16_t number, rte_eth_txq_info *info) {
    const Queue *queue = tx(number);
    if (queue == nullptr)
        return;
    info->nb_desc = queue->parts.descriptors;
    info->conf.offloads = queue->offloads;
    info->conf.tx_deferred_start = queue->deferred ? 1 : 0;
}

} // namespace holdfast::mayfly
