// SPDX-License-Identifier: BSD-3-Clause
#include "base/state.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace holdfast {
namespace {

constexpr std::array kStates{State::kAbsent, State::kProbed, State::kConfigured, State::kStarted};

TEST(State, StepsUpAndDownOneAtATimeAndStopsAtTheEnds) {
    EXPECT_EQ(step_up(State::kAbsent), State::kProbed);
    EXPECT_EQ(step_up(State::kProbed), State::kConfigured);
    EXPECT_EQ(step_up(State::kConfigured), State::kStarted);
    EXPECT_EQ(step_up(State::kStarted), State::kStarted);
    EXPECT_EQ(step_down(State::kStarted), State::kConfigured);
    EXPECT_EQ(step_down(State::kConfigured), State::kProbed);
    EXPECT_EQ(step_down(State::kProbed), State::kAbsent);
    EXPECT_EQ(step_down(State::kAbsent), State::kAbsent);
}

TEST(State, MovesToANeighbourOrToAbsentAndNowhereElse) {
    constexpr bool kMay[4][4] = {
        // to:  absent probed configured started
        {false, true, false, false}, // from absent
        {true, false, true, false},  // from probed
        {true, true, false, true},   // from configured
        {true, false, true, false},  // from started
    };
    for (std::size_t from = 0; from < 4; from++)
        for (std::size_t to = 0; to < 4; to++)
            EXPECT_EQ(may_move(kStates[from], kStates[to]), kMay[from][to])
                << to_string(kStates[from]) << " to " << to_string(kStates[to]);
}

TEST(State, EveryStepTowardsAStateIsAllowedAndArrives) {
    for (const State from : kStates) {
        for (const State wanted : kStates) {
            State s = from;
            for (int steps = 0; s != wanted; steps++) {
                ASSERT_LT(steps, 3);
                const State next = step_towards(s, wanted);
                ASSERT_TRUE(may_move(s, next));
                s = next;
            }
            EXPECT_EQ(step_towards(s, wanted), s);
        }
    }
}

TEST(State, HasANameForEach) {
    EXPECT_STREQ(to_string(State::kAbsent), "absent");
    EXPECT_STREQ(to_string(State::kProbed), "probed");
    EXPECT_STREQ(to_string(State::kConfigured), "configured");
    EXPECT_STREQ(to_string(State::kStarted), "started");
}

} // namespace
} // namespace holdfast
