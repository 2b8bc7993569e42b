// SPDX-License-Identifier: BSD-3-Clause
#include "port/bell.h"

#include <rte_eal.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast {
namespace {

constexpr const char *kZone = "holdfast_bell";

/// Has `at` come to `turn`?
bool reached(Bell::Turn at, Bell::Turn turn) noexcept {
    return static_cast<std::int32_t>(at - turn) >= 0;
}

} // namespace

Bell::Turn Bell::ring() noexcept {
    const Turn turn = turn_.fetch_add(1, std::memory_order_release) + 1; // pairs: bell-turn (Bell::turn)
    (void)::syscall(SYS_futex, &turn_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return turn;
}

bool Bell::heard(Turn turn) const noexcept {
    return std::all_of(places_.begin(), places_.end(), [turn](const Place &place) {
        // pairs: bell-place (Bell::join, Bell::leave)
        return place.who.load(std::memory_order_acquire) == 0 ||
               reached(place.done.load(std::memory_order_acquire), turn); // pairs: bell-done (Bell::done)
    });
}

void Bell::give_up(Turn turn) noexcept {
    for (Place &place : places_) {
        std::uint32_t who = place.who.load(std::memory_order_acquire); // pairs: bell-place (Bell::join, Bell::leave)
        // pairs: bell-done (Bell::done), bell-place (Bell::join)
        if (who != 0 && !reached(place.done.load(std::memory_order_acquire), turn))
            (void)place.who.compare_exchange_strong(who, 0, std::memory_order_acq_rel, std::memory_order_acquire);
    }
}

unsigned Bell::join(std::uint32_t who) noexcept {
    for (unsigned i = 0; i < kListeners; i++) {
        std::uint32_t nobody = 0;
        Place &place = places_[i];
        // pairs: bell-place (Bell::heard, Bell::give_up)
        if (!place.who.compare_exchange_strong(nobody, who, std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        // It has done nothing about the last ring yet.
        place.done.store(turn() - 1, std::memory_order_release); // pairs: bell-done (Bell::heard, Bell::give_up)
        return i;
    }
    return kListeners;
}

void Bell::leave(unsigned place, std::uint32_t who) noexcept {
    // pairs: bell-place (Bell::heard, Bell::give_up)
    (void)places_[place].who.compare_exchange_strong(who, 0, std::memory_order_acq_rel, std::memory_order_acquire);
}

bool Bell::done(unsigned place, std::uint32_t who, Turn turn) noexcept {
    Place &mine = places_[place];
    if (mine.who.load(std::memory_order_acquire) != who) // pairs: bell-place (Bell::give_up)
        return false;
    mine.done.store(turn, std::memory_order_release); // pairs: bell-done (Bell::heard, Bell::give_up)
    return true;
}

Bell::Turn Bell::turn() const noexcept {
    return turn_.load(std::memory_order_acquire); // pairs: bell-turn (Bell::ring)
}

void Bell::wait(Turn turn, std::chrono::milliseconds limit) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec relative{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(limit - seconds).count()};
    (void)::syscall(SYS_futex, &turn_, FUTEX_WAIT, turn, &relative, nullptr, 0);
}

Bell *bell() noexcept {
    static Bell *const made = [] {
        const rte_memzone *zone = rte_memzone_lookup(kZone);
        if (zone == nullptr && rte_eal_process_type() == RTE_PROC_PRIMARY) {
            zone = rte_memzone_reserve_aligned(kZone, sizeof(Bell), SOCKET_ID_ANY, 0, alignof(Bell));
            if (zone != nullptr)
                std::memset(zone->addr, 0, sizeof(Bell));
        }
        return zone != nullptr ? static_cast<Bell *>(zone->addr) : nullptr;
    }();
    return made;
}

} // namespace holdfast
