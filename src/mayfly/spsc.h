// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/ids.h"

#include <atomic>
#include <cstdint>
#include <memory>

struct rte_mbuf;

namespace holdfast::mayfly {

/// A ring of packets with one writer and one reader, without locks. The capacity is a power of two.
template <class T, std::uint32_t Capacity> class Spsc {
    static_assert((Capacity & (Capacity - 1)) == 0);

  public:
    /// Writer: how many more fit, if at most `limit` may wait.
    [[nodiscard]] std::uint32_t room(std::uint32_t limit) const noexcept {
        // pairs: spsc-taken (Spsc::pop): slots are reused only after the reader has copied them. tail_ is our own.
        const std::uint32_t waiting = tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire);
        return waiting >= limit ? 0 : limit - waiting;
    }

    /// Writer, after room().
    void push(T *const *items, std::uint32_t n) noexcept {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed); // pairs: own (nobody else writes it)
        for (std::uint32_t i = 0; i < n; i++)
            slots_[(tail + i) & (Capacity - 1)] = items[i];
        // pairs: spsc-filled (Spsc::pop).
        tail_.store(tail + n, std::memory_order_release);
    }

    /// Reader: takes up to n.
    std::uint32_t pop(T **items, std::uint32_t n) noexcept {
        const std::uint32_t head = head_.load(std::memory_order_relaxed); // pairs: own (nobody else writes it)
        // pairs: spsc-filled (Spsc::push).
        const std::uint32_t waiting = tail_.load(std::memory_order_acquire) - head;
        const std::uint32_t taken = waiting < n ? waiting : n;
        for (std::uint32_t i = 0; i < taken; i++)
            items[i] = slots_[(head + i) & (Capacity - 1)];
        // pairs: spsc-taken (Spsc::room).
        head_.store(head + taken, std::memory_order_release);
        return taken;
    }

    /// Any thread; true at some moment of the call. head_ first: the other way round it could come out negative.
    [[nodiscard]] std::uint32_t waiting() const noexcept {
        // pairs: spsc-taken (Spsc::pop). pairs: spsc-filled (Spsc::push).
        const std::uint32_t head = head_.load(std::memory_order_acquire);
        const std::uint32_t waiting = tail_.load(std::memory_order_acquire) - head;
        return waiting < Capacity ? waiting : Capacity;
    }

  private:
    alignas(kCacheLine) std::atomic<std::uint32_t> tail_{0}; ///< the writer's
    alignas(kCacheLine) std::atomic<std::uint32_t> head_{0}; ///< the reader's
    alignas(kCacheLine) T *slots_[Capacity]{};
};

} // namespace holdfast::mayfly
