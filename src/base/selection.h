// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast {

/// How fast the choice of the active sub-device is.
enum class Hold : std::uint8_t {
    kFree,   ///< the policies choose
    kHeld,   ///< chosen by hand: a preferred one that comes back does not take over
    kPinned, ///< chosen by hand, and not to lose the traffic when only its link is down
};

/// Which sub-devices can carry traffic, and which one does: one word, so that the event that reports a loss moves
/// `active` with one compare-and-swap, without a lock and without the host thread. The standby needs no computing: it
/// is the first in the order of the devargs of those that fit.
///
/// Read by every lcore at every Tx burst; written rarely.
class Selection {
  public:
    struct View {
        std::uint16_t usable = 0; ///< bit i: sub-device i runs, and its gate is open
        std::uint16_t down = 0;   ///< bit i: its link is down, and that counts
        std::uint16_t shaky = 0;  ///< bit i: its link is up, but not for long enough; better than none
        SubIndex active;          ///< none when none fits
        Hold hold = Hold::kFree;

        /// Those that can carry traffic now: with a link that is trusted, or, if there are none, with any.
        [[nodiscard]] constexpr std::uint16_t carriers() const noexcept {
            const auto up = static_cast<std::uint16_t>(usable & ~down);
            const auto good = static_cast<std::uint16_t>(up & ~shaky);
            return good != 0 ? good : up;
        }
        [[nodiscard]] constexpr bool carries(SubIndex sub) const noexcept {
            return sub.valid() && (carriers() & bit(sub)) != 0;
        }
        bool operator==(const View &) const = default;
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

    // ---- any thread, lock-free; each returns true if this call moved `active`

    /// Takes a sub-device out; if it was active, the first that fits becomes active.
    bool lose(SubIndex sub) noexcept {
        return moves([sub](View &v) {
            v.usable = without(v.usable, sub);
            leave(v, sub, true);
        });
    }

    /// Its link went down: the same, unless it is pinned.
    bool lose_link(SubIndex sub) noexcept {
        return moves([sub](View &v) {
            v.down = with(v.down, sub);
            v.shaky = without(v.shaky, sub);
            leave(v, sub, false);
        });
    }

    /// Puts a sub-device in. It becomes active when nobody was and its link is not down.
    bool gain(SubIndex sub) noexcept {
        return moves([sub](View &v) {
            v.usable = with(v.usable, sub);
            fill(v);
        });
    }

    /// Its link is up. It becomes active when nobody was and it is usable.
    bool gain_link(SubIndex sub, bool shaky) noexcept {
        return moves([sub, shaky](View &v) {
            v.down = without(v.down, sub);
            v.shaky = shaky ? with(v.shaky, sub) : without(v.shaky, sub);
            fill(v);
        });
    }

    /// Its link came back: what that is worth is still to be weighed, but it is better than none. Nothing, if its link
    /// was not down.
    bool regain_link(SubIndex sub) noexcept {
        return moves([sub](View &v) {
            if ((v.down & bit(sub)) == 0)
                return;
            v.down = without(v.down, sub);
            v.shaky = with(v.shaky, sub);
            fill(v);
        });
    }

    /// Makes a sub-device active, if `from` still is and it can be: it carries traffic, or, to be pinned, it is usable.
    /// Returns false, and changes nothing, if not.
    bool choose(SubIndex sub, SubIndex from, Hold hold) noexcept {
        bool done = false;
        update([&](View v) {
            const bool can = hold == Hold::kPinned ? (v.usable & bit(sub)) != 0 : (v.usable & ~v.down & bit(sub)) != 0;
            done = can && v.active == from;
            if (done) {
                v.active = sub;
                v.hold = hold;
            }
            return v;
        });
        return done;
    }

    /// The policies choose again. A sub-device that was pinned and has no link loses the traffic to one that has.
    bool release() noexcept {
        return moves([](View &v) {
            v.hold = Hold::kFree;
            if (v.active.valid() && (v.down & bit(v.active)) != 0)
                v.active = first(v.carriers());
        });
    }

  private:
    static constexpr std::uint16_t bit(SubIndex sub) noexcept { return static_cast<std::uint16_t>(1U << sub.raw()); }
    static constexpr std::uint16_t with(std::uint16_t set, SubIndex sub) noexcept {
        return static_cast<std::uint16_t>(set | bit(sub));
    }
    static constexpr std::uint16_t without(std::uint16_t set, SubIndex sub) noexcept {
        return static_cast<std::uint16_t>(set & ~bit(sub));
    }
    static constexpr SubIndex first(std::uint16_t set) noexcept {
        return set == 0 ? SubIndex{} : SubIndex{static_cast<std::uint8_t>(std::countr_zero(set))};
    }
    static constexpr void leave(View &v, SubIndex sub, bool even_pinned) noexcept {
        if (v.active != sub || (v.hold == Hold::kPinned && !even_pinned))
            return;
        v.active = first(v.carriers());
        v.hold = Hold::kFree;
    }
    static constexpr void fill(View &v) noexcept {
        if (!v.active.valid())
            v.active = first(v.carriers());
    }

    static constexpr std::uint64_t pack(View v) noexcept {
        return std::uint64_t{v.active.raw()} | (std::uint64_t{static_cast<std::uint8_t>(v.hold)} << 8U) |
               (std::uint64_t{v.usable} << 16U) | (std::uint64_t{v.down} << 32U) | (std::uint64_t{v.shaky} << 48U);
    }
    static constexpr View unpack(std::uint64_t w) noexcept {
        return {.usable = static_cast<std::uint16_t>(w >> 16U),
                .down = static_cast<std::uint16_t>(w >> 32U),
                .shaky = static_cast<std::uint16_t>(w >> 48U),
                .active = SubIndex{static_cast<std::uint8_t>(w & 0xffU)},
                .hold = static_cast<Hold>((w >> 8U) & 0xffU)};
    }
    template <class F> void update(F change) noexcept {
        std::uint64_t old = word_.load(std::memory_order_relaxed); // pairs: selection (the CAS below checks it)
        // pairs: selection (Selection::active, Selection::view).
        while (!word_.compare_exchange_weak(old, pack(change(unpack(old))), std::memory_order_acq_rel,
                                            std::memory_order_relaxed))
            ;
    }
    template <class F> bool moves(F change) noexcept {
        bool moved = false;
        update([&](View v) {
            const SubIndex before = v.active;
            change(v);
            moved = v.active != before;
            return v;
        });
        return moved;
    }

    std::atomic<std::uint64_t> word_{pack(View{})};
};

static_assert(kMaxSubDevices <= 16, "one bit per sub-device");

} // namespace holdfast
