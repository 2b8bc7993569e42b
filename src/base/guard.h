// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/barrier.h"
#include "base/ids.h"

#include <atomic>
#include <cstdint>

namespace holdfast {

/// Who pays for the order between an lcore's mark and its look at the gate.
enum class Marking : std::uint8_t {
    kExchange, ///< the lcore, at each entry: a locked store
    kBarrier,  ///< control, at each close: Gate::settle(). The lcore's store is a plain one. One process only.
};

/// May lcores enter a sub-device? Written by the control side and by the event that reports a loss; read by lcores.
///
/// Control closes the gate, settles it, waits until every guard of the sub-device was seen clear, and then owns the
/// sub-device alone: an lcore that set its mark after the close sees the gate shut and turns round.
class Gate {
  public:
    /// Where the kernel has no barrier for others, kBarrier becomes kExchange. That is decided here, before an lcore
    /// can know the gate, and never again.
    explicit Gate(Marking wanted = Marking::kExchange) noexcept
        : marking_(wanted == Marking::kBarrier && ProcessBarrier::available() ? Marking::kBarrier
                                                                              : Marking::kExchange) {}

    [[nodiscard]] Marking marking() const noexcept { return marking_; }

    [[nodiscard]] bool is_open() const noexcept {
        // pairs: guard-dekker (Gate::close). pairs: gate-open (Gate::open): what control wrote before it opened is
        // seen.
        return open_.load(std::memory_order_seq_cst) == kOpen;
    }

    /// Lets lcores in. Everything they will read of the sub-device must be written before. Control side only.
    void open() noexcept {
        // pairs: gate-open (Gate::is_open).
        open_.store(kOpen, std::memory_order_release);
    }

    /// Lets nobody in any more; those inside stay until they leave. Any thread, also an event callback.
    void close() noexcept {
        // pairs: guard-dekker (Guard::enter). Either enter() sees the gate shut or busy() sees the mark; with a weaker
        // order both could miss each other.
        open_.store(kClosed, std::memory_order_seq_cst);
    }

    /// Control side, for something brief of its own inside a sub-device that has traffic: keeps lcores out as close()
    /// does, if it is open. What follows is as after close(): settle(), and wait until quiet. False: it was not open.
    [[nodiscard]] bool borrow() noexcept {
        std::uint32_t from = kOpen;
        // pairs: guard-dekker (Guard::enter), as in close().
        return open_.compare_exchange_strong(from, kBorrowed, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    /// Lets lcores in again, unless somebody closed it meanwhile.
    void give_back() noexcept {
        std::uint32_t from = kBorrowed;
        // pairs: gate-open (Gate::is_open): what control did inside is done.
        open_.compare_exchange_strong(from, kOpen, std::memory_order_release, std::memory_order_relaxed);
    }

    /// To be called after close() and before the first busy(). False: nothing is known yet, so nobody may be taken for
    /// absent; to be called again. Any thread.
    ///
    /// Why it makes a plain mark good: each lcore passes a full barrier at one point of its program. Before its mark:
    /// then its look at the gate comes after the barrier, so after the close, and finds it shut. After its mark: then
    /// the mark is out when this returns, and busy() finds it. There is no third place, as long as the compiler leaves
    /// mark and look in their order.
    [[nodiscard]] bool settle() const noexcept {
        // pairs: guard-barrier (Guard::enter).
        return marking_ == Marking::kExchange || ProcessBarrier::pass();
    }

  private:
    static constexpr std::uint32_t kClosed = 0;
    static constexpr std::uint32_t kOpen = 1;
    static constexpr std::uint32_t kBorrowed = 2;

    std::atomic<std::uint32_t> open_{kClosed};
    const Marking marking_; ///< beside open_: an lcore reads both
};

/// Is this lcore inside the sub-device? One per (queue, sub-device), so there is one writer: the thread that uses the
/// queue.
class Guard {
  public:
    /// Enters, unless the gate is closed. Bound: one store, locked where the gate says so, and one load.
    [[nodiscard]] bool enter(const Gate &gate) noexcept {
        if (gate.marking() == Marking::kBarrier) [[likely]] {
            // pairs: guard-barrier (Gate::settle). A store and a look that the processor may do in the other order;
            // settle() sees to that. The fence is for the compiler and makes no instruction.
            inside_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            // pairs: guard-dekker (Gate::close). A plain or release store would let the load of the gate pass it.
            inside_.store(1, std::memory_order_seq_cst);
        }
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

    /// Control side, after Gate::close and Gate::settle: still inside?
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
    alignas(kCacheLine) Gate gate{Marking::kBarrier};
    alignas(kCacheLine) CountedGuard slow;
};
static_assert(sizeof(Door) == 2 * kCacheLine);

} // namespace holdfast
