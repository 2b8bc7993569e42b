// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <atomic>
#include <cstdint>

namespace holdfast {

/// May lcores enter a sub-device? Written by the control side and by the event that reports a loss; read by lcores.
///
/// Control closes the gate, waits until every guard of the sub-device was seen clear, and then owns the sub-device
/// alone: an lcore that set its mark after the close sees the gate shut and turns round.
class Gate {
  public:
    [[nodiscard]] bool is_open() const noexcept {
        // pairs: guard-dekker (Gate::close). pairs: gate-open (Gate::open): what control wrote before it opened is
        // seen.
        return open_.load(std::memory_order_seq_cst) != 0;
    }

    /// Lets lcores in. Everything they will read of the sub-device must be written before. Control side only.
    void open() noexcept {
        // pairs: gate-open (Gate::is_open).
        open_.store(1, std::memory_order_release);
    }

    /// Lets nobody in any more; those inside stay until they leave. Any thread, also an event callback.
    void close() noexcept {
        // pairs: guard-dekker (Guard::enter). Either enter() sees the gate shut or busy() sees the mark; with a weaker
        // order both could miss each other.
        open_.store(0, std::memory_order_seq_cst);
    }

  private:
    std::atomic<std::uint32_t> open_{0};
};

/// Is this lcore inside the sub-device? One per (queue, sub-device), so there is one writer: the thread that uses the
/// queue.
class Guard {
  public:
    /// Enters, unless the gate is closed. Bound: one locked store and one load.
    [[nodiscard]] bool enter(const Gate &gate) noexcept {
        // pairs: guard-dekker (Gate::close). A plain or release store would let the load of the gate pass it.
        inside_.store(1, std::memory_order_seq_cst);
        if (gate.is_open()) [[likely]]
            return true;
        // pairs: guard-none (nothing): we touched nothing, so there is nothing to publish.
        inside_.store(0, std::memory_order_relaxed);
        return false;
    }

    void leave() noexcept {
        // pairs: guard-leave (Guard::busy). What we did inside is done before control may take the sub-device apart.
        inside_.store(0, std::memory_order_release);
    }

    /// Control side, after Gate::close: still inside?
    [[nodiscard]] bool busy() const noexcept {
        // pairs: guard-dekker (Guard::enter). pairs: guard-leave (Guard::leave).
        return inside_.load(std::memory_order_seq_cst) != 0;
    }

  private:
    std::atomic<std::uint32_t> inside_{0};
};

/// A guard for any number of threads at once: calls that may come from a command thread while an lcore uses the queue
/// (queue counts, descriptor status). One per sub-device. A shared Guard would not do: the first to leave would clear
/// the mark of the others.
class CountedGuard {
  public:
    [[nodiscard]] bool enter(const Gate &gate) noexcept {
        // pairs: guard-dekker (Gate::close).
        inside_.fetch_add(1, std::memory_order_seq_cst);
        if (gate.is_open()) [[likely]]
            return true;
        // pairs: guard-none (nothing).
        inside_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }

    void leave() noexcept {
        // pairs: guard-leave (CountedGuard::busy).
        inside_.fetch_sub(1, std::memory_order_release);
    }

    [[nodiscard]] bool busy() const noexcept {
        // pairs: guard-dekker (CountedGuard::enter). pairs: guard-leave (CountedGuard::leave).
        return inside_.load(std::memory_order_seq_cst) != 0;
    }

  private:
    std::atomic<std::uint32_t> inside_{0};
};

/// A sub-device's door: its gate, read at every burst, and the guard of the slow calls, which has other writers and so
/// a line of its own.
struct Door {
    alignas(kCacheLine) Gate gate;
    alignas(kCacheLine) CountedGuard slow;
};
static_assert(sizeof(Door) == 2 * kCacheLine);

} // namespace holdfast
