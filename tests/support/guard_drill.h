// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "support/drill.h"

#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::drill {

/// What a gate protects. `owner` goes up when control takes it (odd: taken) and when it gives it back, so that an lcore
/// which did not run meanwhile sees it too; the counters are plain, so that ThreadSanitizer sees an owner that came too
/// early or a view that is too old.
struct Protected {
    alignas(64) std::atomic<std::uint64_t> owner{0};
    alignas(64) std::uint64_t by_control = 0;
    alignas(64) std::array<std::uint64_t, 4> by_lcore{}; ///< one per thread
};

/// How long things take in a drill, in turns of linger(). A barrier for others takes its time, in a virtual machine as
/// much as 50 us: there some visits have to be longer than that, or nobody would ever be inside when it is over.
inline unsigned pace(Marking marking) noexcept {
    return marking == Marking::kBarrier ? 64 : 1;
}
inline unsigned visit(Marking marking, std::uint64_t round) noexcept {
    return marking == Marking::kBarrier && round % 16 == 1 ? 400'000 : static_cast<unsigned>(round % 16);
}

/// Something that happens inside. Returns true if control was there too.
inline bool trespass(Protected &p, unsigned thread, std::uint64_t round, Marking marking) noexcept {
    const std::uint64_t before = p.owner.load(std::memory_order_relaxed);
    p.by_lcore[thread] += 1 + (p.by_control & 1);
    linger(visit(marking, round));
    if (thread != 0 && round % 32 == thread)
        std::this_thread::yield(); // so that others come and go meanwhile, also on few processors
    return before % 2 != 0 || p.owner.load(std::memory_order_relaxed) != before;
}

/// The control side of a hammer: closes, waits until quiet, owns, opens, again and again.
template <class Busy> void control_side(Gate &gate, Protected &p, Tally &tally, const Limits &limits, Busy busy) {
    const Clock::time_point end = Clock::now() + limits.run;
    const unsigned turns = pace(gate.marking());
    bool borrowed = false;
    for (std::uint64_t round = 0; round % 64 != 0 || Clock::now() < end; round++) {
        if (borrowed)
            gate.give_back();
        else
            gate.open();
        linger(static_cast<unsigned>(round * 7 % 61) * turns);
        borrowed = round % 2 != 0 && gate.borrow();
        if (!borrowed)
            gate.close();
        tally.violations += gate.settle() ? 0 : 1;
        Spin spin;
        bool met = false;
        while (busy()) {
            met = true;
            spin.turn();
            if (spin.longer_than(limits.patience)) {
                std::printf("stuck: a mark was never cleared\n");
                tally.violations++;
                return;
            }
        }
        p.owner.store(2 * round + 1, std::memory_order_relaxed);
        std::uint64_t sum = 0;
        for (const std::uint64_t n : p.by_lcore)
            sum += n;
        p.by_control += 1 + (sum & 1);
        linger(static_cast<unsigned>(round * 5 % 37) * turns);
        p.owner.store(2 * round + 2, std::memory_order_relaxed);
        tally.meetings += met ? 1 : 0;
        tally.rounds++;
        // Let the others see it shut now and then, also when they share a processor with us.
        if (round % 1024 == 0)
            std::this_thread::yield();
    }
}

/// lcore threads that enter and leave, and a control thread that takes the thing away from them. One thread: Guard's
/// contract; CountedGuard stands several.
template <class G> Tally hammer(const Limits &limits, Marking marking, unsigned threads = 1) {
    struct alignas(64) Seen {
        std::uint64_t refusals = 0;
        std::uint64_t trespasses = 0;
    };
    alignas(64) Gate gate(marking);
    alignas(64) G guard;
    Protected p;
    std::atomic<bool> stop{false};
    std::array<Seen, 4> seen;
    std::vector<std::thread> lcores;
    for (unsigned t = 0; t < threads; t++)
        lcores.emplace_back([&, t] {
            const Pinned pinned(1 + t);
            for (std::uint64_t round = 0; !stop.load(std::memory_order_relaxed); round++) {
                if (guard.enter(gate)) {
                    seen[t].trespasses += trespass(p, t, round, gate.marking()) ? 1 : 0;
                    guard.leave();
                    continue;
                }
                seen[t].refusals++;
                // The first does not knock again while it is shut: a mark that it left behind would go unnoticed. The
                // others do, so that some are refused while others are still inside.
                for (Spin spin; t == 0 && !gate.is_open() && !stop.load(std::memory_order_relaxed);)
                    spin.turn();
                if (t != 0 && seen[t].refusals % 64 == 0)
                    std::this_thread::yield();
            }
        });
    Tally tally;
    const Pinned pinned(0);
    control_side(gate, p, tally, limits, [&guard] { return guard.busy(); });
    stop.store(true, std::memory_order_relaxed);
    for (std::thread &t : lcores)
        t.join();
    for (const Seen &s : seen) {
        tally.refusals += s.refusals;
        tally.violations += s.trespasses;
    }
    return tally;
}

/// What a counted guard must remember, one step after another: one of two that leaves, and one that is refused, do not
/// clear the mark of the other who is inside.
inline Tally counted_marks() {
    Gate gate;
    CountedGuard guard;
    Tally tally{.rounds = 2, .meetings = 1, .refusals = 1, .violations = 0};
    gate.open();
    tally.violations += guard.enter(gate) ? 0 : 1;
    tally.violations += guard.enter(gate) ? 0 : 1;
    guard.leave();
    tally.violations += guard.busy() ? 0 : 1;
    gate.close();
    tally.violations += guard.enter(gate) ? 1 : 0;
    tally.violations += guard.busy() ? 0 : 1;
    guard.leave();
    tally.violations += guard.busy() ? 1 : 0;
    return tally;
}

/// One entry against one close at nearly the same moment: the lcore got in and control saw nobody? Neither side looks
/// at anything else, so nothing but the orders of enter() and close() keeps them apart. Both go through a row of pairs
/// from a common start, now one side ahead and now the other.
template <class G, Marking M> Tally litmus(const Limits &limits) {
    constexpr std::size_t kRow = 64;
    struct Pair {
        alignas(64) Gate gate{M};
        alignas(64) G guard;
    };
    struct Row {
        std::array<Pair, kRow> pairs;
        alignas(64) std::array<bool, kRow> entered{}; ///< by the lcore
        alignas(64) std::array<bool, kRow> busy{};    ///< seen by control
    };
    const auto row = std::make_unique<Row>();
    Rendezvous start;
    Rendezvous finish;
    std::thread lcore([&] {
        const Pinned pinned(1);
        for (std::uint32_t lap = 0; start.meet(0); lap++) {
            linger(lap * 11 % 256);
            for (std::size_t i = 0; i < kRow; i++) {
                const bool in = row->pairs[i].guard.enter(row->pairs[i].gate);
                row->entered[i] = in;
            }
            if (!finish.meet(0))
                break;
            for (std::size_t i = 0; i < kRow; i++)
                if (row->entered[i])
                    row->pairs[i].guard.leave();
        }
    });
    Tally tally;
    const Pinned pinned(0);
    const Clock::time_point end = Clock::now() + limits.run;
    for (std::uint32_t lap = 0; lap % 16 != 0 || Clock::now() < end; lap++) {
        for (Pair &pair : row->pairs) {
            for (Spin spin; pair.guard.busy();) // the lcore may still be leaving from the lap before
                spin.turn();
            pair.gate.open();
        }
        start.meet(1);
        linger(lap * 29 % 1024);
        for (std::size_t i = 0; i < kRow; i++) {
            row->pairs[i].gate.close();
            tally.violations += row->pairs[i].gate.settle() ? 0 : 1;
            row->busy[i] = row->pairs[i].guard.busy();
        }
        finish.meet(1);
        bool someone_in = false;
        bool someone_out = false;
        for (std::size_t i = 0; i < kRow; i++) {
            tally.violations += row->entered[i] && !row->busy[i] ? 1 : 0;
            someone_in = someone_in || row->entered[i];
            someone_out = someone_out || !row->entered[i];
        }
        // The order turned within the row: they passed each other.
        tally.meetings += someone_in && someone_out ? 1 : 0;
        tally.refusals += someone_out ? 1 : 0;
        tally.rounds += kRow;
    }
    start.end();
    finish.end();
    lcore.join();
    return tally;
}

} // namespace holdfast::drill
