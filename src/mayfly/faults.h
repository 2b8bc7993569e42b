// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/mutex.h"
#include "mayfly/op.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::mayfly {

/// What is armed against one call, taken out of the faults when the call comes.
struct Ambush {
    std::uint32_t events = 0; ///< bit n: raise event n
    bool unplug = false;
    std::uint32_t delay_us = 0;
};

/// Armed failures, delays and events of one device, and how often each operation was called. Arming may happen on any
/// thread; operations take what is armed without a lock, on any thread or lcore.
class Faults {
  public:
    /// Counts a call. Not for bursts, whose queues count themselves.
    void count(Op op) noexcept {
        // pairs: counter (Faults::calls): a number, it publishes nothing.
        at(op).calls.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t calls(Op op) const noexcept {
        // pairs: counter (Faults::count).
        return at(op).calls.load(std::memory_order_relaxed);
    }

    /// Is anything armed for this operation? One load: all that an undisturbed burst pays.
    [[nodiscard]] bool armed(Op op) const noexcept {
        // pairs: armed (Faults::mark): what was armed before is seen.
        return (at(op).armed.load(std::memory_order_acquire) & 1U) != 0;
    }

    /// What waits for this call; events and unplug are for one call and are gone then.
    [[nodiscard]] Ambush take(Op op) noexcept;
    /// The errno this call has to fail with, negative, or 0. Uses up one failure.
    [[nodiscard]] int take_failure(Op op) noexcept;

    void fail(Op op, std::int32_t calls, int error) noexcept;
    void delay(Op op, std::uint32_t microseconds) noexcept;
    void raise_in(Op op, int event) noexcept;
    void unplug_in(Op op) noexcept;
    void clear() noexcept;

  private:
    struct PerOp {
        std::atomic<std::uint64_t> calls{0};
        std::atomic<std::uint32_t> armed{0}; ///< odd: something is armed; each arming changes it
        /// Error and number of calls in one word, so that a call never pairs one arming's error with another's count.
        std::atomic<std::uint64_t> failure{0};
        std::atomic<std::uint32_t> delay_us{0};
        std::atomic<std::uint32_t> events{0};
        std::atomic<std::uint32_t> unplug{0};
    };

    [[nodiscard]] PerOp &at(Op op) noexcept { return ops_[index(op)]; }
    [[nodiscard]] const PerOp &at(Op op) const noexcept { return ops_[index(op)]; }
    static void mark(PerOp &op) noexcept;
    static void disarm_if_empty(PerOp &op) noexcept;

    std::array<PerOp, kOps> ops_;
};

} // namespace holdfast::mayfly
