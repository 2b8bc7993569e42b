// SPDX-License-Identifier: BSD-3-Clause
#include "base/ring.h"

#include "support/ring_drill.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class RingTest : public testing::Test {
  protected:
    RingTest() {
        for (std::size_t i = 0; i < nodes_.size(); i++)
            all_[i] = &nodes_[i];
    }
    void link(std::size_t i) { ring_.link(nodes_[i], all_); }
    void unlink(std::size_t i) { ring_.unlink(nodes_[i], all_); }

    /// What a walker that stands on a node meets in one round.
    std::vector<std::size_t> round_from(std::size_t from) const {
        std::vector<std::size_t> met;
        const RingNode *cursor = &nodes_[from];
        for (std::uint32_t i = 0; i < ring_.size(); i++) {
            cursor = cursor->next();
            met.push_back(static_cast<std::size_t>(cursor - nodes_.data()));
        }
        return met;
    }

    std::array<RingNode, 5> nodes_;
    std::array<RingNode *, 5> all_{};
    Ring ring_;
};

TEST_F(RingTest, IsEmptyAtFirst) {
    EXPECT_EQ(ring_.size(), 0U);
    EXPECT_FALSE(ring_.contains(nodes_[0]));
}

TEST_F(RingTest, OneNodeIsItsOwnNext) {
    link(2);
    EXPECT_EQ(ring_.size(), 1U);
    EXPECT_TRUE(ring_.contains(nodes_[2]));
    EXPECT_THAT(round_from(2), ElementsAre(2));
}

TEST_F(RingTest, AWalkerOnANodeThatWasNeverLinkedGetsIn) {
    link(2);
    EXPECT_THAT(round_from(0), ElementsAre(2));
    link(3);
    EXPECT_THAT(round_from(0), UnorderedElementsAre(2, 3));
}

TEST_F(RingTest, ARoundMeetsEachNodeOnceFromEveryNode) {
    for (std::size_t i = 0; i < nodes_.size(); i++)
        link(i);
    for (std::size_t from = 0; from < nodes_.size(); from++)
        EXPECT_THAT(round_from(from), UnorderedElementsAre(0, 1, 2, 3, 4)) << "from " << from;
}

TEST_F(RingTest, LinkingTwiceAndUnlinkingTwiceChangeNothing) {
    link(0);
    link(1);
    link(1);
    EXPECT_EQ(ring_.size(), 2U);
    EXPECT_THAT(round_from(0), UnorderedElementsAre(0, 1));
    unlink(1);
    unlink(1);
    EXPECT_EQ(ring_.size(), 1U);
    EXPECT_THAT(round_from(1), ElementsAre(0));
}

TEST_F(RingTest, AWalkerOnAnUnlinkedNodeGetsBackIn) {
    link(0);
    link(1);
    link(2);
    unlink(1);
    EXPECT_THAT(round_from(1), UnorderedElementsAre(0, 2));
}

TEST_F(RingTest, WhenAllLeftAndAnotherCameEveryOldCursorReachesIt) {
    for (std::size_t i = 0; i < 4; i++)
        link(i);
    for (std::size_t i = 0; i < 4; i++)
        unlink(i);
    EXPECT_EQ(ring_.size(), 0U);
    link(4);
    for (std::size_t from = 0; from < 4; from++)
        EXPECT_THAT(round_from(from), ElementsAre(4)) << "from " << from;
}

TEST_F(RingTest, ANodeThatLeftAndCameBackIsMetAgain) {
    link(0);
    link(1);
    unlink(0);
    link(0);
    EXPECT_THAT(round_from(0), UnorderedElementsAre(0, 1));
    EXPECT_THAT(round_from(1), UnorderedElementsAre(0, 1));
}

TEST_F(RingTest, EverySequenceOfSixChangesKeepsEveryCursorInTheRing) {
    const drill::Tally tally = drill::ring_cursors();
    tally.print("ring cursors");
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_GT(tally.rounds, 10'000U);
}

TEST_F(RingTest, HammerWalkerSeesNewNodesWithTheirContents) {
    const drill::Tally tally = drill::until_met([] { return drill::ring_walk({}); });
    tally.print("ring walk");
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_GT(tally.meetings, 0U) << "no node came while the walker was at it, so this run says nothing";
}

} // namespace
} // namespace holdfast
