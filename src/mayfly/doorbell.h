// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::mayfly {

/// The Rx interrupt of one queue: a descriptor that becomes readable when somebody armed it and there are packets. As
/// with NICs, an interrupt is one-shot: who was woken arms it again.
///
/// Opened and closed by control while nobody can ring; armed by the queue's lcore; rung by whoever brings packets: the
/// sender at the other end, or a timer where packets come by the clock.
class Doorbell {
  public:
    enum class Kind : std::uint8_t {
        kEvent, ///< an eventfd
        kTimer, ///< a timerfd, for packets that nobody brings
    };

    [[nodiscard]] int open(Kind kind) noexcept; ///< 0 or a negative errno
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept {
        return fd_.load(std::memory_order_acquire) >= 0; // pairs: bell-fd (Doorbell::open)
    }
    [[nodiscard]] int descriptor() const noexcept {
        return fd_.load(std::memory_order_acquire); // pairs: bell-fd (Doorbell::open)
    }

    /// Asks to be woken. Look for packets after it: what came before is not rung for.
    void arm() noexcept {
        // pairs: bell (Doorbell::ring). Both are exchanges, so one of them is first: either the ringer sees that it
        // is armed, or who arms sees what the ringer brought before it rang.
        armed_.exchange(1, std::memory_order_acq_rel);
    }
    void disarm() noexcept;
    /// Wakes who armed it, if anybody did. Any thread, also an lcore.
    void ring() noexcept {
        // pairs: bell (Doorbell::arm).
        if (armed_.exchange(0, std::memory_order_acq_rel) != 0)
            wake();
    }
    /// Wakes whoever armed it after so many nanoseconds. Timers only; by who armed it.
    void ring_after(std::uint64_t nanoseconds) noexcept;
    /// How often it was rung or set to ring.
    [[nodiscard]] std::uint64_t rung() const noexcept {
        return rung_.load(std::memory_order_relaxed); // pairs: counter (Doorbell::wake)
    }

  private:
    void wake() noexcept;
    void set_timer(std::uint64_t nanoseconds) noexcept;

    std::atomic<int> fd_{-1};
    std::atomic<std::uint32_t> armed_{0};
    std::atomic<std::uint64_t> rung_{0};
    Kind kind_ = Kind::kEvent; ///< written before fd_
};

} // namespace holdfast::mayfly
