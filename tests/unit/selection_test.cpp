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
    EXPECT_EQ(s.view(), Selection::View{});
}

TEST(Selection, TheFirstThatComesBecomesActiveAndStays) {
    Selection s;
    EXPECT_TRUE(s.gain(sub(2)));
    EXPECT_EQ(s.active(), sub(2));
    EXPECT_FALSE(s.gain(sub(0))) << "who takes over is the policies' affair";
    EXPECT_EQ(s.active(), sub(2));
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
    EXPECT_TRUE(s.lose_link(sub(1)));
    EXPECT_EQ(s.active(), sub(2));
    EXPECT_TRUE(s.lose(sub(2)));
    EXPECT_FALSE(s.active().valid()) << "1 has no link";
    EXPECT_TRUE(s.gain_link(sub(1), false));
    EXPECT_EQ(s.active(), sub(1));
}

TEST(Selection, AShakyLinkIsBetterThanNone) {
    Selection s;
    for (unsigned i = 0; i < 3; i++)
        s.gain(sub(i));
    s.gain_link(sub(0), true);
    s.gain_link(sub(1), true);
    EXPECT_EQ(s.view().carriers(), 0b100);
    s.lose(sub(0));
    EXPECT_EQ(s.active(), sub(2)) << "1 is not trusted";
    s.lose_link(sub(2));
    EXPECT_EQ(s.active(), sub(1));
    EXPECT_EQ(s.view().carriers(), 0b010);
}

TEST(Selection, APinnedOneIsKeptWithoutALinkAndNotWhenItIsLost) {
    Selection s;
    for (unsigned i = 0; i < 3; i++)
        s.gain(sub(i));
    ASSERT_TRUE(s.choose(sub(2), sub(0), Hold::kPinned));
    EXPECT_FALSE(s.lose_link(sub(2)));
    EXPECT_EQ(s.active(), sub(2));
    EXPECT_TRUE(s.lose(sub(2)));
    EXPECT_EQ(s.active(), sub(0));
    EXPECT_EQ(s.view().hold, Hold::kFree);
}

TEST(Selection, OneThatIsHeldIsLeftWhenItsLinkIsDown) {
    Selection s;
    s.gain(sub(0));
    s.gain(sub(1));
    ASSERT_TRUE(s.choose(sub(1), sub(0), Hold::kHeld));
    EXPECT_TRUE(s.lose_link(sub(1)));
    EXPECT_EQ(s.active(), sub(0));
    EXPECT_EQ(s.view().hold, Hold::kFree);
}

TEST(Selection, ReleasedFromAPinTheTrafficGoesWhereALinkIs) {
    Selection s;
    s.gain(sub(0));
    s.gain(sub(1));
    s.lose_link(sub(1));
    EXPECT_FALSE(s.choose(sub(1), sub(0), Hold::kHeld)) << "it cannot carry any";
    ASSERT_TRUE(s.choose(sub(1), sub(0), Hold::kPinned));
    EXPECT_TRUE(s.release());
    EXPECT_EQ(s.active(), sub(0));
    EXPECT_EQ(s.view().hold, Hold::kFree);
}

TEST(Selection, AChoiceThatAnEventOvertookIsNone) {
    Selection s;
    s.gain(sub(0));
    s.gain(sub(1));
    s.lose(sub(0)); // after the look of the one who chooses
    EXPECT_FALSE(s.choose(sub(0), sub(0), Hold::kHeld));
    EXPECT_FALSE(s.choose(sub(1), sub(0), Hold::kHeld));
    EXPECT_EQ(s.view().hold, Hold::kFree);
}

TEST(Selection, TheLastOneHasItsOwnBit) {
    Selection s;
    const SubIndex last = sub(kMaxSubDevices - 1);
    EXPECT_TRUE(s.gain(last));
    s.lose_link(sub(0));
    s.gain_link(last, true);
    EXPECT_EQ(s.view(), (Selection::View{.usable = 0x8000, .down = 1, .shaky = 0x8000, .active = last}));
    EXPECT_TRUE(s.lose(last));
    EXPECT_EQ(s.view(), (Selection::View{.usable = 0, .down = 1, .shaky = 0x8000}));
}

/// The same in the plainest words.
struct Model {
    std::set<unsigned> usable, down, shaky;
    std::optional<unsigned> active;
    Hold hold = Hold::kFree;

    [[nodiscard]] std::optional<unsigned> first_that_fits() const {
        for (const bool even_shaky : {false, true})
            for (const unsigned n : usable)
                if (!down.contains(n) && (even_shaky || !shaky.contains(n)))
                    return n;
        return {};
    }
    void leave() {
        active = first_that_fits();
        hold = Hold::kFree;
    }
    void fill() {
        if (!active)
            active = first_that_fits();
    }
    void lose(unsigned n) {
        usable.erase(n);
        if (active == n)
            leave();
    }
    void lose_link(unsigned n) {
        down.insert(n);
        shaky.erase(n);
        if (active == n && hold != Hold::kPinned)
            leave();
    }
    void gain(unsigned n) {
        usable.insert(n);
        fill();
    }
    void gain_link(unsigned n, bool is_shaky) {
        down.erase(n);
        shaky.erase(n);
        if (is_shaky)
            shaky.insert(n);
        fill();
    }
    void regain_link(unsigned n) {
        if (down.contains(n))
            gain_link(n, true);
    }
    void choose(unsigned n, Hold how) {
        if (!usable.contains(n) || (down.contains(n) && how != Hold::kPinned))
            return;
        active = n;
        hold = how;
    }
    void release() {
        hold = Hold::kFree;
        if (active && down.contains(*active))
            active = first_that_fits();
    }
};

std::uint16_t bits(const std::set<unsigned> &set) {
    unsigned out = 0;
    for (const unsigned n : set)
        out |= 1U << n;
    return static_cast<std::uint16_t>(out);
}

TEST(Selection, EverySequenceOfFiveChangesOfThreeIsAsTheModelSays) {
    constexpr unsigned kSubs = 3;
    constexpr unsigned kKinds = 9;
    constexpr unsigned kMoves = kKinds * kSubs;
    constexpr int kSteps = 5;
    unsigned sequences = 1;
    for (int i = 0; i < kSteps; i++)
        sequences *= kMoves;
    unsigned moved = 0;
    for (unsigned sequence = 0; sequence < sequences; sequence++) {
        Selection s;
        Model m;
        unsigned rest = sequence;
        for (int step = 0; step < kSteps; step++, rest /= kMoves) {
            const unsigned n = rest % kMoves % kSubs;
            const SubIndex before = s.active();
            bool says = false;
            switch (rest % kMoves / kSubs) {
            case 0:
                says = s.lose(sub(n));
                m.lose(n);
                break;
            case 1:
                says = s.lose_link(sub(n));
                m.lose_link(n);
                break;
            case 2:
                says = s.gain(sub(n));
                m.gain(n);
                break;
            case 3:
            case 4:
                says = s.gain_link(sub(n), rest % kMoves / kSubs == 4);
                m.gain_link(n, rest % kMoves / kSubs == 4);
                break;
            case 5:
                says = s.regain_link(sub(n));
                m.regain_link(n);
                break;
            case 6:
            case 7: {
                const Hold how = rest % kMoves / kSubs == 6 ? Hold::kHeld : Hold::kPinned;
                (void)s.choose(sub(n), before, how);
                m.choose(n, how);
                says = s.active() != before;
                break;
            }
            default:
                says = s.release();
                m.release();
                break;
            }
            const Selection::View want{.usable = bits(m.usable),
                                       .down = bits(m.down),
                                       .shaky = bits(m.shaky),
                                       .active = m.active ? sub(*m.active) : SubIndex{},
                                       .hold = m.hold};
            if (s.view() != want || s.active() != want.active || says != (s.active() != before)) {
                FAIL() << "sequence " << sequence << ", step " << step;
            }
            moved += says ? 1 : 0;
        }
    }
    EXPECT_GT(moved, sequences / 4) << "hardly anything moved, so this run says little";
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
