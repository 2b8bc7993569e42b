// SPDX-License-Identifier: BSD-3-Clause
#include "port/queues.h"

#include "base/ids.h"
#include "base/policy.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/datapath.h"

#include <rte_malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace holdfast {
namespace {

std::array<RingNode *, kMaxSubDevices> nodes(datapath::RxQueue &queue) noexcept {
    std::array<RingNode *, kMaxSubDevices> out{};
    std::transform(queue.subs.begin(), queue.subs.end(), out.begin(), [](datapath::SubQueue &s) { return &s; });
    return out;
}

template <class Queue> void destroy(Queue *queue) noexcept {
    if (queue != nullptr)
        std::destroy_at(queue);
    rte_free(queue);
}

} // namespace

Queues::Queues(const Selection &selection, std::span<Door *const> doors, NoActive no_active) noexcept
    : selection_(selection), no_active_(no_active) {
    std::copy(doors.begin(), doors.end(), doors_.begin());
}

Queues::~Queues() {
    for (std::uint16_t q = 0; q < kMaxQueues; q++) {
        free_rx(QueueId{q});
        free_tx(QueueId{q});
    }
}

template <class Queue> Queue *Queues::make(unsigned socket) noexcept {
    const auto wanted = static_cast<int>(socket);
    void *memory = rte_malloc_socket("holdfast_queue", sizeof(Queue), alignof(Queue), wanted);
    if (memory == nullptr) // the socket was a wish
        memory = rte_malloc_socket("holdfast_queue", sizeof(Queue), alignof(Queue), SOCKET_ID_ANY);
    if (memory == nullptr)
        return nullptr;
    auto *queue = new (memory) Queue;
    queue->selection = &selection_;
    for (std::size_t i = 0; i < queue->subs.size(); i++) {
        queue->subs[i].door = doors_[i];
        queue->subs[i].index = static_cast<std::uint8_t>(i);
    }
    return queue;
}

int Queues::make_rx(PortId port, QueueId id, const RxQueueRecord &asked) noexcept {
    auto *queue = make<datapath::RxQueue>(asked.socket);
    if (queue == nullptr)
        return -ENOMEM;
    queue->port = port.raw();
    queue->cursor = queue->subs.data();
    Ring::prepare(nodes(*queue));
    rx(id) = asked;
    rx(id).queue = queue;
    return 0;
}

int Queues::make_tx(QueueId id, const TxQueueRecord &asked) noexcept {
    auto *queue = make<datapath::TxQueue>(asked.socket);
    if (queue == nullptr)
        return -ENOMEM;
    queue->no_active = no_active_;
    tx(id) = asked;
    tx(id).queue = queue;
    return 0;
}

void Queues::add(Counts &sum, const datapath::RxQueue &queue) noexcept {
    sum.stale += queue.stale.load(std::memory_order_relaxed); // pairs: lcore-counts (datapath::count)
}

void Queues::add(Counts &sum, const datapath::TxQueue &queue) noexcept {
    sum.refused += queue.refused.load(std::memory_order_relaxed); // pairs: lcore-counts (datapath::count)
    sum.dropped += queue.dropped.load(std::memory_order_relaxed); // pairs: lcore-counts (datapath::count)
}

void Queues::free_rx(QueueId id) noexcept {
    if (const datapath::RxQueue *queue = rx(id).queue; queue != nullptr)
        add(before_, *queue);
    destroy(rx(id).queue);
    rx(id) = {};
}

void Queues::free_tx(QueueId id) noexcept {
    if (const datapath::TxQueue *queue = tx(id).queue; queue != nullptr)
        add(before_, *queue);
    destroy(tx(id).queue);
    tx(id) = {};
}

void Queues::put_in(SubIndex sub, PortId port) noexcept {
    const auto bind = [&](datapath::SubQueue &s, std::uint16_t queue) {
        s.ops = &rte_eth_fp_ops[port.raw()];
        s.port = port.raw();
        s.queue = queue;
    };
    for (std::uint16_t q = 0; q < kMaxQueues; q++) {
        if (datapath::RxQueue *queue = rx_[q].queue; queue != nullptr) {
            bind(queue->subs[sub.raw()], q);
            queue->ring.link(queue->subs[sub.raw()], nodes(*queue));
        }
        if (datapath::TxQueue *queue = tx_[q].queue; queue != nullptr)
            bind(queue->subs[sub.raw()], q);
    }
}

void Queues::take_out(SubIndex sub) noexcept {
    for (RxQueueRecord &r : rx_)
        if (r.queue != nullptr)
            r.queue->ring.unlink(r.queue->subs[sub.raw()], nodes(*r.queue));
}

bool Queues::busy(SubIndex sub) const noexcept {
    const Door *door = doors_[sub.raw()];
    return (door != nullptr && door->slow.busy()) ||
           std::any_of(
               rx_.begin(), rx_.end(),
               [&](const RxQueueRecord &r) { return r.queue != nullptr && r.queue->subs[sub.raw()].guard.busy(); }) ||
           std::any_of(tx_.begin(), tx_.end(), [&](const TxQueueRecord &r) {
               return r.queue != nullptr && r.queue->subs[sub.raw()].guard.busy();
           });
}

Queues::Counts Queues::counts() const noexcept {
    Counts sum = before_;
    for (const RxQueueRecord &r : rx_)
        if (r.queue != nullptr)
            add(sum, *r.queue);
    for (const TxQueueRecord &r : tx_)
        if (r.queue != nullptr)
            add(sum, *r.queue);
    return sum;
}

} // namespace holdfast
