// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast {

/// Which sub-devices can carry traffic, and which one does: one word, so that the event that reports a loss moves
/// `active` with one compare-and-swap, without a lock and without the host thread. The standby needs no computing: it
/// is the first usable one in the order of the devargs.
///
/// Read by every lcore at every Tx burst; written rarely.
class Selection {
  public:
    struct View {
        std::uint16_t usable = 0; ///< bit i: sub-device i can carry traffic
        SubIndex active;          ///< none when nothing is usable
        bool pinned = false;      ///< active was chosen by hand: a preferred one that comes back does not take over
    };

    [[nodiscard]] View view() const noexcept {
        // pairs: selection (Selection::update).
        return unpack(word_.load(std::memory_order_acquire));
    }

    /// For the fast path. The gate orders everything else, so a stale answer costs one refused entry.
    [[nodiscard]] SubIndex active() const noexcept {
        // pairs: selection (Selection::update).
        return SubIndex{static_cast<std::uint8_t>(word_.load(std::memory_order_acquire) & 0xffU)};
    }

    /// Takes a sub-device out; if it was active, the first usable one becomes active. Any thread, lock-free.
    /// Returns true if this call moved `active`.
    bool lose(SubIndex sub) noexcept {
        bool moved = false;
        update([&](View v) {
            v.usable = static_cast<std::uint16_t>(v.usable & ~bit(sub));
            moved = v.active == sub;
            if (moved) {
                v.active = first(v.usable);
                v.pinned = false;
            }
            return v;
        });
        return moved;
    }

    /// Puts a sub-device in. It becomes active when nothing was, or when it is the preferred one and no one was pinned.
    bool gain(SubIndex sub) noexcept {
        bool moved = false;
        update([&](View v) {
            v.usable = static_cast<std::uint16_t>(v.usable | bit(sub));
            moved = !v.active.valid() || (sub.raw() == 0 && !v.pinned && v.active != sub);
            if (moved)
                v.active = sub;
            return v;
        });
        return moved;
    }

    /// Makes a usable sub-device active by hand. Returns false, and changes nothing, if it is not usable.
    bool pin(SubIndex sub) noexcept {
        bool done = false;
        update([&](View v) {
            done = (v.usable & bit(sub)) != 0;
            if (done) {
                v.active = sub;
                v.pinned = true;
            }
            return v;
        });
        return done;
    }

  private:
    static constexpr std::uint16_t bit(SubIndex sub) noexcept { return static_cast<std::uint16_t>(1U << sub.raw()); }
    static constexpr SubIndex first(std::uint16_t usable) noexcept {
        return usable == 0 ? SubIndex{} : SubIndex{static_cast<std::uint8_t>(std::countr_zero(usable))};
    }
    static constexpr std::uint32_t pack(View v) noexcept {
        return std::uint32_t{v.active.raw()} | (v.pinned ? 0x100U : 0U) | (std::uint32_t{v.usable} << 16U);
    }
    static constexpr View unpack(std::uint32_t w) noexcept {
        return {.usable = static_cast<std::uint16_t>(w >> 16U),
                .active = SubIndex{static_cast<std::uint8_t>(w & 0xffU)},
                .pinned = (w & 0x100U) != 0};
    }
    template <class F> void update(F change) noexcept {
        std::uint32_t old = word_.load(std::memory_order_relaxed); // pairs: selection (the CAS below checks it)
        // pairs: selection (Selection::active, Selection::view).
        while (!word_.compare_exchange_weak(old, pack(change(unpack(old))), std::memory_order_acq_rel,
                                            std::memory_order_relaxed))
            ;
    }

    std::atomic<std::uint32_t> word_{pack(View{})};
};

static_assert(kMaxSubDevices <= 16, "one bit per sub-device");

} // namespace holdfast
