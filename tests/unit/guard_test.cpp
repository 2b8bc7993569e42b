// SPDX-License-Identifier: BSD-3-Clause
#include "base/guard.h"

#include "support/guard_drill.h"

#include <gmock/gmock.h>

#include <string>

namespace holdfast {
namespace {

TEST(Gate, IsClosedAtFirst) {
    const Gate gate;
    EXPECT_FALSE(gate.is_open());
}

TEST(Gate, OpensAndCloses) {
    Gate gate;
    gate.open();
    EXPECT_TRUE(gate.is_open());
    gate.close();
    EXPECT_FALSE(gate.is_open());
    gate.close();
    EXPECT_FALSE(gate.is_open());
}

TEST(Gate, IsBorrowedOnlyWhileItIsOpenAndByOne) {
    Gate gate;
    EXPECT_FALSE(gate.borrow());
    gate.open();
    EXPECT_TRUE(gate.borrow());
    EXPECT_FALSE(gate.is_open());
    EXPECT_FALSE(gate.borrow());
    gate.give_back();
    EXPECT_TRUE(gate.is_open());
}

TEST(Gate, ThatWasClosedWhileItWasBorrowedStaysClosed) {
    Gate gate;
    gate.open();
    ASSERT_TRUE(gate.borrow());
    gate.close();
    gate.give_back();
    EXPECT_FALSE(gate.is_open());
    EXPECT_FALSE(gate.borrow());
}

class GuardOf : public testing::TestWithParam<Marking> {};

INSTANTIATE_TEST_SUITE_P(Markings, GuardOf, testing::Values(Marking::kExchange, Marking::kBarrier),
                         [](const testing::TestParamInfo<Marking> &marking) {
                             return std::string(marking.param == Marking::kExchange ? "Exchange" : "Barrier");
                         });

template <class G> void expect_to_be_kept_out(Marking marking = Marking::kExchange) {
    const Gate gate(marking);
    G guard;
    EXPECT_FALSE(guard.enter(gate));
    EXPECT_FALSE(guard.busy());
}

TEST_P(GuardOf, KeepsOutWhenTheGateIsClosed) {
    expect_to_be_kept_out<Guard>(GetParam());
}

TEST_P(GuardOf, LetsInWhenTheGateIsOpenAndIsBusyUntilItLeaves) {
    Gate gate(GetParam());
    Guard guard;
    gate.open();
    EXPECT_TRUE(guard.enter(gate));
    EXPECT_TRUE(guard.busy());
    guard.leave();
    EXPECT_FALSE(guard.busy());
}

TEST_P(GuardOf, StaysBusyWhenTheGateClosesUnderIt) {
    Gate gate(GetParam());
    Guard guard;
    gate.open();
    ASSERT_TRUE(guard.enter(gate));
    gate.close();
    EXPECT_TRUE(gate.settle());
    EXPECT_TRUE(guard.busy());
    guard.leave();
    EXPECT_FALSE(guard.busy());
    EXPECT_FALSE(guard.enter(gate));
}

TEST(Guard, IsNotAskedByTheGatesOfOthers) {
    Gate mine;
    Gate other;
    Guard guard;
    other.open();
    EXPECT_FALSE(guard.enter(mine));
    EXPECT_TRUE(guard.enter(other));
    mine.close();
    EXPECT_TRUE(guard.busy());
    guard.leave();
}

TEST(CountedGuard, IsBusyUntilTheLastHasLeft) {
    EXPECT_EQ(drill::counted_marks().violations, 0U);
}

TEST(CountedGuard, KeepsOutWhenTheGateIsClosed) {
    expect_to_be_kept_out<CountedGuard>();
}

TEST(Door, KeepsTheGateAndTheSlowGuardOnLinesOfTheirOwn) {
    const Door door;
    const auto gate = reinterpret_cast<std::uintptr_t>(&door.gate);
    const auto slow = reinterpret_cast<std::uintptr_t>(&door.slow);
    EXPECT_EQ(gate % kCacheLine, 0U);
    EXPECT_GE(slow - gate, kCacheLine);
    EXPECT_EQ(slow % kCacheLine, 0U);
}

void expect_clean(const char *name, const drill::Tally &tally) {
    tally.print(name);
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_GT(tally.meetings, 0U) << "the threads never met, so this run says nothing";
    EXPECT_GT(tally.refusals, 0U) << "nobody was ever held off, so this run says nothing";
}

// Under ThreadSanitizer this shows as well that what one side wrote is handed over to the other.
TEST(Guard, HammerFindsNobodyInsideWhileControlOwnsIt) {
    expect_clean("guard hammer", drill::until_met([] { return drill::hammer<Guard>({}, Marking::kExchange); }));
}

TEST(Guard, HammerWithPlainMarksFindsNobodyInsideWhileControlOwnsIt) {
    expect_clean("guard hammer, plain marks",
                 drill::until_met([] { return drill::hammer<Guard>({}, Marking::kBarrier); }));
}

TEST(CountedGuard, HammerOfSeveralThreadsFindsNobodyInsideWhileControlOwnsIt) {
    expect_clean("counted guard hammer",
                 drill::until_met([] { return drill::hammer<CountedGuard>({}, Marking::kExchange, 3); }));
}

TEST(Guard, LitmusNeverLetsBothSidesMissEachOther) {
    expect_clean("guard litmus", drill::until_met([] { return drill::litmus<Guard, Marking::kExchange>({}); }));
}

TEST(Guard, LitmusWithPlainMarksNeverLetsBothSidesMissEachOther) {
    expect_clean("guard litmus, plain marks",
                 drill::until_met([] { return drill::litmus<Guard, Marking::kBarrier>({}); }));
}

TEST(CountedGuard, LitmusNeverLetsBothSidesMissEachOther) {
    expect_clean("counted guard litmus",
                 drill::until_met([] { return drill::litmus<CountedGuard, Marking::kExchange>({}); }));
}

} // namespace
} // namespace holdfast
