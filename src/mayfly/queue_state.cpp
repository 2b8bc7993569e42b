// SPDX-License-Identifier: BSD-3-Clause
// What may be asked of a queue beside its bursts: by its lcore, or by any other thread meanwhile.
#include "mayfly/generate.h"
#include "mayfly/queue.h"

#include <rte_cycles.h>
#include <rte_errno.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::mayfly {
namespace {

/// Marks a visit of a thread that may not be the queue's lcore, and springs what is armed for the operation.
class SideVisit {
  public:
    SideVisit(Queue &queue, Op op) noexcept : others_(queue.visitors.others) {
        others_.fetch_add(1, std::memory_order_seq_cst); // pairs: visit (Visitors::anybody)
        parts_ = queue.parts;
        if (parts_.device == nullptr)
            return; // the empty page of a late accessor
        armed_ = parts_.device->enter(op);
        // pairs: running (Port::start).
        const Running running = queue.running.load(std::memory_order_acquire);
        if (running == Running::kPortStopped)
            parts_.device->count(Device::Count::kLateCalls);
        idle_ = running != Running::kStarted || parts_.device->health() != Device::Health::kGood;
        dead_ = !parts_.device->alive(parts_.life);
    }
    ~SideVisit() { others_.fetch_sub(1, std::memory_order_release); } // pairs: visit (Visitors::anybody)
    SideVisit(const SideVisit &) = delete;
    SideVisit &operator=(const SideVisit &) = delete;

    /// What was armed for this call.
    [[nodiscard]] int armed() const noexcept { return parts_.device == nullptr ? -ENODEV : armed_; }
    /// What the call has to answer instead of a number.
    [[nodiscard]] int error() const noexcept { return armed() != 0 || !dead_ ? armed() : -EIO; }
    [[nodiscard]] bool idle() const noexcept { return idle_; }
    [[nodiscard]] const QueueParts &parts() const noexcept { return parts_; }

  private:
    std::atomic<std::uint32_t> &others_;
    QueueParts parts_;
    int armed_ = 0;
    bool dead_ = false;
    bool idle_ = false;
};

std::uint16_t ready(const Queue &queue, const SideVisit &visit) noexcept {
    return visit.idle() ? std::uint16_t{0} : waiting(queue, visit.parts());
}

/// Descriptors that hold packets which the other end has not taken.
std::uint16_t unsent(const SideVisit &visit) noexcept {
    const QueueParts &parts = visit.parts();
    if (visit.idle() || parts.inbox == nullptr || !parts.inbox->gate.is_open())
        return 0;
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(parts.inbox->ring->waiting(), parts.descriptors));
}

} // namespace

std::uint16_t waiting(const Queue &queue, const QueueParts &parts) noexcept {
    if (!parts.device->carrier())
        return 0;
    if (parts.mode == Mode::kGenerate) {
        std::uint64_t interval = 0;
        if (!pace(queue, parts, interval))
            return 0;
        std::uint64_t next = queue.visitors.next_cycle.load(std::memory_order_relaxed); // pairs: own (generate)
        return due(rte_rdtsc(), interval, rte_get_tsc_hz() / kBacklogPart, next, parts.descriptors);
    }
    if (parts.inbox == nullptr || !parts.inbox->gate.is_open())
        return 0;
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(parts.inbox->ring->waiting(), parts.descriptors));
}

int rx_queue_count(void *opaque) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kRxQueueCount);
    return visit.error() != 0 ? visit.error() : static_cast<int>(ready(queue, visit));
}

int tx_queue_count(void *opaque) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kTxQueueCount);
    return visit.error() != 0 ? visit.error() : unsent(visit);
}

int rx_descriptor_status(void *opaque, std::uint16_t offset) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kRxDescriptorStatus);
    if (visit.error() != 0)
        return visit.error();
    if (offset >= visit.parts().descriptors)
        return -EINVAL;
    return offset < ready(queue, visit) ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
}

int tx_descriptor_status(void *opaque, std::uint16_t offset) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kTxDescriptorStatus);
    if (visit.error() != 0)
        return visit.error();
    if (offset >= visit.parts().descriptors)
        return -EINVAL;
    return offset < unsent(visit) ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

int tx_done_cleanup(void *opaque, std::uint32_t /*count*/) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kTxDoneCleanup);
    return visit.error(); // packets are freed or handed over in the burst: there is never one to clean up
}

std::uint16_t tx_prepare(void *opaque, rte_mbuf **packets, std::uint16_t n) noexcept {
    auto &queue = *static_cast<Queue *>(opaque);
    const SideVisit visit(queue, Op::kTxPrepare);
    if (visit.armed() != 0) {
        rte_errno = -visit.armed();
        return 0;
    }
    for (std::uint16_t i = 0; i < n; i++) {
        if (packets[i]->nb_segs > 1 && (queue.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0) {
            rte_errno = ENOTSUP;
            return i;
        }
    }
    return n;
}

} // namespace holdfast::mayfly
