// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast {

/// Tells other processes that sub-devices came or are about to go, and lets the primary see who has heard it. In shared
/// memory, without locks: the primary never waits in here, and who was killed is known by its silence and forgotten.
/// Zeroed memory is a Bell that has not rung.
class Bell {
  public:
    static constexpr unsigned kListeners = 32;
    /// A ring's number. They go round, so only differences count.
    using Turn = std::uint32_t;

    // ---- the primary
    /// Wakes all listeners. Any thread.
    Turn ring() noexcept;
    /// Has every listener come to this turn, or a later one?
    [[nodiscard]] bool heard(Turn turn) const noexcept;
    /// Those that have not are taken for dead.
    void give_up(Turn turn) noexcept;

    // ---- a secondary
    /// A place of its own, named by `who` (not 0); kListeners when all are taken.
    unsigned join(std::uint32_t who) noexcept;
    void leave(unsigned place, std::uint32_t who) noexcept;
    /// Says that everything up to `turn` was done. False: the primary has given this listener up.
    bool done(unsigned place, std::uint32_t who, Turn turn) noexcept;
    [[nodiscard]] Turn turn() const noexcept;
    /// Sleeps until the bell rings after `turn`, or for `limit`.
    void wait(Turn turn, std::chrono::milliseconds limit) noexcept;

  private:
    struct alignas(kCacheLine) Place {
        std::atomic<std::uint32_t> who; ///< 0: free
        std::atomic<Turn> done;
    };

    alignas(kCacheLine) std::atomic<Turn> turn_;
    std::array<Place, kListeners> places_;
};

/// The process's bell, in a memory zone that stays as long as the primary: made there at the first call, looked up in a
/// secondary. Null if there is none.
[[nodiscard]] Bell *bell() noexcept;

} // namespace holdfast
