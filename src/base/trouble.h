// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast {

/// What a device that is still there reports of itself: it recovers from an error, or it wants to be reset. Events
/// write it on any thread, without a lock; the control side deals with it and then settles exactly what it saw, so that
/// an event in between is never lost.
class Trouble {
  public:
    using Seen = std::uint8_t;

    /// Recovers by itself; a recovery that was over has begun again.
    void begin() noexcept {
        change([](Seen s) { return static_cast<Seen>((s & ~kOver) | kRecovering); });
    }
    /// Its recovery ended well. Nothing, if none had begun.
    void end() noexcept {
        change([](Seen s) { return (s & kRecovering) != 0 ? static_cast<Seen>(s | kOver) : s; });
    }
    /// Waits for somebody to reset it.
    void want_reset() noexcept {
        change([](Seen s) { return static_cast<Seen>(s | kReset); });
    }
    /// It was in other hands for a while, and missed what happened meanwhile.
    void give_back() noexcept {
        change([](Seen s) { return static_cast<Seen>(s | kOver); });
    }
    void clear() noexcept {
        change([](Seen) { return Seen{0}; });
    }

    [[nodiscard]] Seen look() const noexcept {
        // pairs: trouble (Trouble::change). As with a loss: either who opens the gate sees this, or what the event does
        // next comes after the opening.
        return seen_.load(std::memory_order_seq_cst);
    }
    [[nodiscard]] bool any() const noexcept { return look() != 0; }
    /// It was dealt with as far as it was seen. False: there is more by now.
    [[nodiscard]] bool settle(Seen seen) noexcept {
        // pairs: trouble (Trouble::look).
        return seen_.compare_exchange_strong(seen, 0, std::memory_order_seq_cst);
    }

    /// Is it the control side's turn, or does the device still work on it alone?
    [[nodiscard]] static constexpr bool wants_us(Seen seen) noexcept { return (seen & (kOver | kReset)) != 0; }
    /// Has it an error, or was it only in other hands?
    [[nodiscard]] static constexpr bool is_error(Seen seen) noexcept { return (seen & (kRecovering | kReset)) != 0; }
    [[nodiscard]] static constexpr bool wants_reset(Seen seen) noexcept { return (seen & kReset) != 0; }

  private:
    static constexpr Seen kRecovering = 1;
    static constexpr Seen kOver = 2;
    static constexpr Seen kReset = 4;

    template <class F> void change(F f) noexcept {
        Seen old = seen_.load(std::memory_order_seq_cst);
        // pairs: trouble (Trouble::look).
        while (!seen_.compare_exchange_weak(old, f(old), std::memory_order_seq_cst)) {}
    }

    std::atomic<Seen> seen_{0};
};

} // namespace holdfast
