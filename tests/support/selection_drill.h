// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/selection.h"
#include "support/drill.h"

#include <optional>
#include <thread>

namespace holdfast::drill {

/// Two threads report losses at once: of the same sub-device (one of them has moved `active`, not both and not none),
/// and of two (no loss is forgotten).
inline Tally selection_losses(const Limits &limits) {
    alignas(64) std::optional<Selection> selection;
    alignas(64) bool theirs = false;
    Rendezvous start;
    Rendezvous finish;
    const auto sub_of = [](std::uint32_t round) { return SubIndex{static_cast<std::uint8_t>(round % 2)}; };
    std::thread other([&] {
        const Pinned pinned(1);
        for (std::uint32_t round = 0; start.meet(0); round++) {
            linger(round / 8 % 8);
            theirs = selection->lose(SubIndex{0});
            if (!finish.meet(0))
                break;
        }
    });
    Tally tally;
    const Pinned pinned(0);
    const Clock::time_point end = Clock::now() + limits.run;
    for (std::uint32_t round = 0; round % 256 != 0 || Clock::now() < end; round++) {
        selection.emplace();
        selection->gain(SubIndex{0});
        selection->gain(SubIndex{1});
        selection->gain(SubIndex{2});
        start.meet(1);
        linger(round % 8);
        const bool ours = selection->lose(sub_of(round));
        finish.meet(1);
        const Selection::View now = selection->view();
        if (sub_of(round).raw() == 0) {
            tally.violations +=
                (ours ? 1 : 0) + (theirs ? 1 : 0) == 1 && now.usable == 0b110 && now.active == SubIndex{1} ? 0 : 1;
            (ours ? tally.meetings : tally.refusals)++; // who came first
        } else {
            // Lost 0 and 1: `active` went to 2, over 1 if 0 was lost first.
            tally.violations += theirs && now.usable == 0b100 && now.active == SubIndex{2} ? 0 : 1;
        }
        tally.rounds++;
    }
    start.end();
    finish.end();
    other.join();
    return tally;
}

} // namespace holdfast::drill
