// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <cerrno>

namespace holdfast::mayfly {
namespace {

using Kind = Command::Kind;
using std::chrono::milliseconds;
using testing::HasSubstr;

std::vector<Step> parsed(std::string_view text) {
    std::vector<Step> steps;
    std::string error;
    EXPECT_TRUE(parse_script(text, steps, error)) << error;
    return steps;
}

std::string refused(std::string_view text) {
    std::vector<Step> steps{Step{}};
    std::string error;
    EXPECT_FALSE(parse_script(text, steps, error)) << text;
    EXPECT_EQ(steps.size(), 1u) << "a refused script must leave the steps alone";
    return error;
}

TEST(MayflyScript, ReadsEveryCommand) {
    const auto steps = parsed("unplug@2s;plug@4s;planned@5s;linkdown@6s;linkup@7s;fail:mtu_set:3:EIO@8s;"
                              "delay:dev_start:20@9s;event:INTR_RESET@10s");
    ASSERT_EQ(steps.size(), 8u);
    const Kind kinds[] = {Kind::kUnplug, Kind::kPlug, Kind::kPlanned, Kind::kLinkDown,
                          Kind::kLinkUp, Kind::kFail, Kind::kDelay,   Kind::kEvent};
    for (std::size_t i = 0; i < steps.size(); i++)
        EXPECT_EQ(steps[i].command.kind, kinds[i]) << i;
    EXPECT_EQ(steps[0].at, milliseconds(2000));
    EXPECT_EQ(steps[5].command.op, Op::kMtuSet);
    EXPECT_EQ(steps[5].command.calls, 3);
    EXPECT_EQ(steps[5].command.error, EIO);
    EXPECT_EQ(steps[6].command.op, Op::kStart);
    EXPECT_EQ(steps[6].command.delay_us, 20'000u);
    EXPECT_EQ(steps[7].command.event, RTE_ETH_EVENT_INTR_RESET);
}

TEST(MayflyScript, TakesMillisecondsErrnoNumbersAndAllCalls) {
    const auto steps = parsed("fail:dev_close:-1:16@250ms");
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].at, milliseconds(250));
    EXPECT_EQ(steps[0].command.calls, -1);
    EXPECT_EQ(steps[0].command.error, EBUSY);
}

TEST(MayflyScript, RunsInOrderOfTimeAndKeepsTheOrderOfEqualTimes) {
    const auto steps = parsed("plug@3s;unplug@1s;linkdown@1s");
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].command.kind, Kind::kUnplug);
    EXPECT_EQ(steps[1].command.kind, Kind::kLinkDown);
    EXPECT_EQ(steps[2].command.kind, Kind::kPlug);
}

TEST(MayflyScript, NamesTheBadPartAndItsPosition) {
    EXPECT_THAT(refused("unplug@2s;foo@3s"), HasSubstr("'foo' (at position 10 of 'unplug@2s;foo@3s')"));
    EXPECT_THAT(refused("unplug@2s;plug@4x"), HasSubstr("'4x' (at position 15"));
    EXPECT_THAT(refused("fail:mtu_set:3:EWHAT@1s"), HasSubstr("'EWHAT' (at position 15"));
    EXPECT_THAT(refused("fail:mtu_zet:3:EIO@1s"), HasSubstr("'mtu_zet' (at position 5"));
}

TEST(MayflyScript, RefusesWhatIsNotInTheGrammar) {
    for (const char *text : {"",
                             ";",
                             "unplug",
                             "unplug@",
                             "@2s",
                             "unplug@2",
                             "unplug@-1s",
                             "unplug@1.5s",
                             "unplug@0x2s",
                             "unplug@2s;",
                             "unplug:1@2s",
                             "unplug @2s",
                             "unplug@99999999999999999999s",
                             "unplug@86401s",
                             "fail@1s",
                             "fail:mtu_set@1s",
                             "fail:mtu_set:1@1s",
                             "fail:mtu_set:-2:EIO@1s",
                             "fail:mtu_set::EIO@1s",
                             "fail:mtu_set:1:0@1s",
                             "fail:mtu_set:1:EIO:9@1s",
                             "fail:rx_queue_release:1:EIO@1s",
                             "delay:mtu_set@1s",
                             "delay:mtu_set:60001@1s",
                             "delay:rx_burst:1001@1s",
                             "delay:mtu_set:5ms@1s",
                             "event@1s",
                             "event:NO_SUCH@1s",
                             "event:NEW:NEW@1s",
                             "UNPLUG@1s"})
        EXPECT_THAT(refused(text), HasSubstr("cannot read")) << text;
}

} // namespace
} // namespace holdfast::mayfly
