// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <sched.h>

// Drills: concurrent exercises of the classes in src/base that run until a deadline and say how often the threads met
// and how often something happened that must not. The unit tests run them on our headers, and drill_main.cpp runs them
// on mutated copies, where each must find something.

namespace holdfast::drill {

using Clock = std::chrono::steady_clock;

/// How long a drill runs, and how long one side waits for the other before it calls it stuck (no judgement of speed:
/// the other side may be off the processor for long).
struct Limits {
    std::chrono::milliseconds run{1000};
    std::chrono::milliseconds patience{30'000};
};

struct Tally {
    std::uint64_t rounds = 0;
    std::uint64_t meetings = 0;   ///< rounds in which both sides were at it at once
    std::uint64_t refusals = 0;   ///< rounds in which the gate held somebody off
    std::uint64_t violations = 0; ///< must be 0

    [[nodiscard]] bool met() const { return meetings > 0 && refusals > 0; }
    void print(const char *name) const {
        std::printf("%s: %llu rounds, %llu meetings, %llu refusals, %llu violations\n", name,
                    static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(meetings),
                    static_cast<unsigned long long>(refusals), static_cast<unsigned long long>(violations));
        std::fflush(stdout);
    }
};

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/// Some time that the compiler cannot take out, without any memory access: a store would drain the others with it.
inline void linger(unsigned turns) noexcept {
    for (; turns > 0; turns--)
        asm volatile("" : "+r"(turns));
}

/// Keeps the calling thread on one of the processors that the process may use, for a scope. Two threads that the
/// scheduler has put on the same processor never meet.
class Pinned {
  public:
    explicit Pinned(unsigned side) noexcept {
        CPU_ZERO(&before_);
        if (sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) < 2)
            return;
        unsigned left = side % static_cast<unsigned>(CPU_COUNT(&before_));
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &before_) || left-- > 0)
                continue;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
            return;
        }
    }
    ~Pinned() {
        if (pinned_)
            sched_setaffinity(0, sizeof before_, &before_);
    }
    Pinned(const Pinned &) = delete;
    Pinned &operator=(const Pinned &) = delete;

  private:
    cpu_set_t before_{};
    bool pinned_ = false;
};

/// Spins, and lets others run when the wait is long: there may be fewer processors than threads.
class Spin {
  public:
    void turn() noexcept {
        relax();
        if (++turns_ % 4096 == 0)
            std::this_thread::yield();
    }
    [[nodiscard]] bool longer_than(std::chrono::milliseconds patience) noexcept {
        if (turns_ == 0 || turns_ % 4096 != 0)
            return false;
        const Clock::time_point now = Clock::now();
        if (since_ == Clock::time_point{})
            since_ = now;
        return now - since_ > patience;
    }

  private:
    std::uint32_t turns_ = 0;
    Clock::time_point since_{};
};

/// Two threads meet here again and again; both go on at nearly the same moment.
class Rendezvous {
  public:
    /// Side 0 or 1. False when the other side has given up.
    bool meet(unsigned side) noexcept {
        const std::uint32_t mine = at_[side].count.fetch_add(1, std::memory_order_acq_rel) + 1;
        Spin spin;
        while (at_[1 - side].count.load(std::memory_order_acquire) < mine) {
            if (over_.load(std::memory_order_acquire))
                return false;
            spin.turn();
        }
        return true;
    }
    void end() noexcept { over_.store(true, std::memory_order_release); }

  private:
    struct alignas(64) Counter {
        std::atomic<std::uint32_t> count{0};
    };
    Counter at_[2];
    std::atomic<bool> over_{false};
};

/// Runs a drill again until its threads have met: on a busy machine they may not run at the same time for a while. Adds
/// up.
template <class F> Tally until_met(F run, unsigned tries = 10) {
    Tally sum;
    for (unsigned i = 0; i < tries && !sum.met() && sum.violations == 0; i++) {
        const Tally one = run();
        sum.rounds += one.rounds;
        sum.meetings += one.meetings;
        sum.refusals += one.refusals;
        sum.violations += one.violations;
    }
    return sum;
}

} // namespace holdfast::drill
