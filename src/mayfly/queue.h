// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/config.h"
#include "mayfly/device.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::mayfly {

/// May a queue be used? Written by control, read by its lcore.
enum class Running : std::uint32_t {
    kPortStopped, ///< nobody has any business here
    kStopped,     ///< the queue alone is stopped: nothing moves
    kStarted,
};

/// Who is inside a queue's functions, so that control can tell trespassers: on a line that lcores write.
struct alignas(kCacheLine) Visitors {
    std::atomic<std::uint32_t> burst{0};      ///< written by the queue's lcore only
    std::atomic<std::uint32_t> others{0};     ///< counts, status: from any thread
    std::atomic<std::uint64_t> next_cycle{0}; ///< Rx with a rate: when the next packet is due; the lcore's
    std::atomic<std::uint32_t> next_flow{0};  ///< Rx with flows: where to look for the next one; the lcore's

    [[nodiscard]] bool anybody() const noexcept {
        // pairs: visit (Visit::Visit).
        return burst.load(std::memory_order_seq_cst) != 0 || others.load(std::memory_order_seq_cst) != 0;
    }
};

/// What a queue is made of; fixed at its set-up, so that lcores may copy it. All it points to outlives the queue, but
/// for the mempool.
struct QueueParts {
    Device *device = nullptr; ///< nullptr: the empty page that a late accessor was given
    QueueCounts *counts = nullptr;
    Inbox *inbox = nullptr; ///< Rx: its own; Tx: where packets go; nullptr: nowhere
    rte_mempool *pool = nullptr;
    std::uint32_t life = 0;
    std::uint16_t port = 0;
    std::uint16_t queue = 0;
    std::uint16_t descriptors = 0;
    std::uint16_t size = 0; ///< of generated packets
    std::uint16_t flows = 0;
    std::int16_t stamp_at = -1;   ///< Rx timestamp in the mbuf, -1: none wanted
    std::uint64_t stamp_flag = 0; ///< that says so
    std::uint64_t rx_flags = 0;   ///< of every generated flow packet
    bool rss_hash = false;        ///< the hash is to be in the mbuf
    Mode mode = Mode::kSink;
    bool refuse_when_dead = false;
};

/// One queue, on a page of its own. `parts` and `header` are written by control before the queue starts.
struct Queue {
    QueueParts parts;
    std::array<std::uint8_t, RTE_ETHER_HDR_LEN> header{}; ///< of generated packets
    /// Cycles between packets; with flows: between packets of one flow's share of the rate. 0: no rate.
    std::uint64_t interval = 0;
    bool deferred = false;
    std::uint64_t offloads = 0;
    alignas(kCacheLine) std::atomic<Running> running{Running::kPortStopped};
    Visitors visitors;
};
static_assert(sizeof(Queue) <= 4096);

/// Packets that an Rx burst would get now; the queue runs.
std::uint16_t waiting(const Queue &queue, const QueueParts &parts) noexcept;

std::uint16_t rx_burst(void *queue, rte_mbuf **packets, std::uint16_t n) noexcept;
std::uint16_t tx_burst(void *queue, rte_mbuf **packets, std::uint16_t n) noexcept;
std::uint16_t tx_prepare(void *queue, rte_mbuf **packets, std::uint16_t n) noexcept;
int rx_queue_count(void *queue) noexcept;
int tx_queue_count(void *queue) noexcept;
int rx_descriptor_status(void *queue, std::uint16_t offset) noexcept;
int tx_descriptor_status(void *queue, std::uint16_t offset) noexcept;
int tx_done_cleanup(void *queue, std::uint32_t count) noexcept;

} // namespace holdfast::mayfly
