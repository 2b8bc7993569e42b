// SPDX-License-Identifier: BSD-3-Clause
#include "base/selection.h"

#include "support/selection_drill.h"

#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

SubIndex sub(unsigned n) {
    return SubIndex{static_cast<std::uint8_t>(n)};
}

TEST(Selection, HasNothingAtFirst) {
    const Selection s;
    EXPECT_FALSE(s.active().valid());
    EXPECT_EQ(s.view().usable, 0);
    EXPECT_FALSE(s.view().pinned);
}

TEST(Selection, TheFirstThatComesBecomesActive) {
    Selection s;
    EXPECT_TRUE(s.gain(sub(2)));
    EXPECT_EQ(s.active(), sub(2));
    EXPECT_FALSE(s.gain(sub(1)));
    EXPECT_EQ(s.active(), sub(2));
}

TEST(Selection, ThePreferredOneTakesOver) {
    Selection s;
    s.gain(sub(1));
    EXPECT_TRUE(s.gain(sub(0)));
    EXPECT_EQ(s.active(), sub(0));
    EXPECT_FALSE(s.gain(sub(0)));
}

TEST(Selection, ThePreferredOneDoesNotTakeOverFromOneChosenByHand) {
    Selection s;
    s.gain(sub(1));
    ASSERT_TRUE(s.pin(sub(1)));
    EXPECT_FALSE(s.gain(sub(0)));
    EXPECT_EQ(s.active(), sub(1));
    EXPECT_TRUE(s.view().pinned);
}

TEST(Selection, ALossMovesActiveToTheFirstUsableOne) {
    Selection s;
    for (unsigned i = 0; i < 4; i++)
        s.gain(sub(i));
    EXPECT_TRUE(s.lose(sub(0)));
    EXPECT_EQ(s.active(), sub(1));
    EXPECT_FALSE(s.lose(sub(3)));
    EXPECT_FALSE(s.lose(sub(0)));
    EXPECT_EQ(s.active(), sub(1));
    EXPECT_TRUE(s.lose(sub(1)));
    EXPECT_EQ(s.active(), sub(2));
    EXPECT_TRUE(s.lose(sub(2)));
    EXPECT_FALSE(s.active().valid());
}

TEST(Selection, ThePinEndsWithTheLossOfThePinnedOneOnly) {
    Selection s;
    for (unsigned i = 0; i < 3; i++)
        s.gain(sub(i));
    ASSERT_TRUE(s.pin(sub(2)));
    s.lose(sub(1));
    EXPECT_TRUE(s.view().pinned);
    s.lose(sub(2));
    EXPECT_FALSE(s.view().pinned);
    EXPECT_EQ(s.active(), sub(0));
}

TEST(Selection, OnlyAUsableOneCanBePinned) {
    Selection s;
    EXPECT_FALSE(s.pin(sub(0)));
    s.gain(sub(0));
    EXPECT_FALSE(s.pin(sub(1)));
    EXPECT_EQ(s.active(), sub(0));
    EXPECT_FALSE(s.view().pinned);
}

TEST(Selection, TheLastOneHasItsOwnBit) {
    Selection s;
    EXPECT_TRUE(s.gain(sub(kMaxSubDevices - 1)));
    EXPECT_EQ(s.view().usable, 1U << (kMaxSubDevices - 1));
    EXPECT_EQ(s.active(), sub(kMaxSubDevices - 1));
    EXPECT_TRUE(s.lose(sub(kMaxSubDevices - 1)));
}

/// The same in the plainest words.
struct Model {
    std::set<unsigned> usable;
    std::optional<unsigned> active;
    bool pinned = false;

    bool lose(unsigned n) {
        usable.erase(n);
        if (active != n)
            return false;
        active = usable.empty() ? std::optional<unsigned>{} : *usable.begin();
        pinned = false;
        return true;
    }
    bool gain(unsigned n) {
        usable.insert(n);
        if (active && (n != 0 || pinned || *active == 0))
            return false;
        active = n;
        return true;
    }
    bool pin(unsigned n) {
        if (!usable.contains(n))
            return false;
        active = n;
        pinned = true;
        return true;
    }
};

TEST(Selection, EverySequenceOfSixChangesOfThreeIsAsTheModelSays) {
    constexpr unsigned kSubs = 3;
    constexpr unsigned kMoves = 3 * kSubs;
    unsigned sequences = 1;
    for (int i = 0; i < 6; i++)
        sequences *= kMoves;
    unsigned checked = 0;
    for (unsigned sequence = 0; sequence < sequences; sequence++) {
        Selection s;
        Model m;
        unsigned rest = sequence;
        for (int step = 0; step < 6; step++, rest /= kMoves) {
            const unsigned n = rest % kMoves % kSubs;
            bool ours = false;
            bool models = false;
            switch (rest % kMoves / kSubs) {
            case 0:
                ours = s.lose(sub(n));
                models = m.lose(n);
                break;
            case 1:
                ours = s.gain(sub(n));
                models = m.gain(n);
                break;
            default:
                ours = s.pin(sub(n));
                models = m.pin(n);
                break;
            }
            unsigned bits = 0;
            for (const unsigned u : m.usable)
                bits |= 1U << u;
            const Selection::View v = s.view();
            const SubIndex active = m.active ? sub(*m.active) : SubIndex{};
            if (ours != models || v.usable != bits || v.active != active || s.active() != active ||
                v.pinned != m.pinned) {
                FAIL() << "sequence " << sequence << ", step " << step;
            }
            checked++;
        }
    }
    EXPECT_EQ(checked, 6 * sequences);
}

TEST(Selection, HammerOfTwoLossesMovesActiveOnceAndForgetsNone) {
    const drill::Tally tally = drill::until_met([] { return drill::selection_losses({}); });
    tally.print("selection losses");
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_GT(tally.meetings, 0U) << "one side was always first, so this run says nothing";
    EXPECT_GT(tally.refusals, 0U) << "one side was always first, so this run says nothing";
}

TEST(Selection, OfManyThreadsThatReportTheSameLossOneMovesActive) {
    constexpr int kThreads = 4;
    for (int round = 0; round < 200; round++) {
        Selection s;
        s.gain(sub(0));
        s.gain(sub(1));
        std::atomic<int> movers{0};
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; t++)
            threads.emplace_back([&] {
                ready.fetch_add(1);
                while (ready.load() < kThreads)
                    std::this_thread::yield();
                if (s.lose(sub(0)))
                    movers.fetch_add(1);
            });
        for (std::thread &t : threads)
            t.join();
        ASSERT_EQ(movers.load(), 1);
        ASSERT_EQ(s.active(), sub(1));
    }
}

} // namespace
} // namespace holdfast
