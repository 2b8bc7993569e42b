// SPDX-License-Identifier: BSD-3-Clause
#include "port/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Answer device(const char *devargs) {
    return {.devargs = devargs, .reason = {}};
}

std::string reason_of(const Answer &answer) {
    EXPECT_EQ(answer.devargs, "");
    EXPECT_NE(answer.reason, "");
    return answer.reason;
}

Answer last_of(std::string_view stream, bool finished = false) {
    LastLine lines;
    lines.feed(stream);
    if (finished)
        lines.finish();
    return lines.answer();
}

// FAULTS F7.
TEST(AnswerOfCommand, TheFirstLineCounts) {
    EXPECT_EQ(answer_of_command("net_null0\n"), device("net_null0"));
    EXPECT_EQ(answer_of_command("net_null0"), device("net_null0"));
    EXPECT_EQ(answer_of_command("a\nnet_null0\n"), device("a"));
    EXPECT_EQ(answer_of_command("net_tap0,iface=x,mac=fixed\nsome noise (\n\x01"),
              device("net_tap0,iface=x,mac=fixed"));
}

// FAULTS F7.
TEST(AnswerOfCommand, NothingOrAnEmptyFirstLineMeansNoDevice) {
    for (const char *output : {"", "\n", "\n\n", "\nnet_null0\n"})
        EXPECT_THAT(reason_of(answer_of_command(output)), HasSubstr("names no device")) << output;
}

TEST(AnswerOfCommand, WhatCannotBeADeviceIsQuoted) {
    EXPECT_THAT(reason_of(answer_of_command("bus=vdev,name=x\n")),
                AllOf(HasSubstr("\"bus=vdev,name=x\": begins with no device name"), Not(HasSubstr("comma"))));
    EXPECT_THAT(reason_of(answer_of_command("net_holdfast3\n")), HasSubstr("cannot be a sub-device"));
    EXPECT_THAT(reason_of(answer_of_command("net_null0\r\n")), HasSubstr("\"net_null0?\": a device's arguments"));
    EXPECT_THAT(reason_of(answer_of_command(",size=64\n")), HasSubstr("names no device"));
    EXPECT_THAT(reason_of(answer_of_command(std::string(64, 'n') + "\n")), HasSubstr("63"));
    EXPECT_LT(reason_of(answer_of_command(std::string(4000, ' '))).size(), 250U);
}

TEST(AnswerOfCommand, TellsHowToWriteACommaWhereABlankIs) {
    EXPECT_THAT(reason_of(answer_of_command("net_tap0 iface=x\n")),
                AllOf(HasSubstr("\"net_tap0 iface=x\""), HasSubstr("\\, is a comma")));
}

TEST(LastLine, TheLastWholeLineCounts) {
    EXPECT_EQ(last_of("net_null0\n"), device("net_null0"));
    EXPECT_EQ(last_of("net_null0\nnet_null1\n"), device("net_null1"));
    EXPECT_EQ(last_of("net_null0\nnet_null1\nnet_nu"), device("net_null1"));
    EXPECT_EQ(last_of("\n\nnet_null0\n"), device("net_null0"));
    EXPECT_THAT(reason_of(last_of("")), HasSubstr("yet"));
    EXPECT_THAT(reason_of(last_of("net_nu")), HasSubstr("yet"));
}

TEST(LastLine, AnUnfinishedLineCountsWhenNothingFollows) {
    EXPECT_EQ(last_of("net_null0", true), device("net_null0"));
    EXPECT_EQ(last_of("net_null0\nnet_null1", true), device("net_null1"));
    EXPECT_EQ(last_of("net_null0\n", true), device("net_null0")) << "nothing was begun";
    LastLine lines;
    lines.feed("net_");
    EXPECT_TRUE(lines.unfinished());
    lines.feed("null");
    lines.feed("0\nnet_null1");
    EXPECT_EQ(lines.answer(), device("net_null0"));
    lines.finish();
    EXPECT_FALSE(lines.unfinished());
    lines.feed("\n");
    EXPECT_THAT(reason_of(lines.answer()), HasSubstr("names no device")) << "an empty line of its own";
}

TEST(LastLine, AnEmptyLineTakesBackWhatWasSaid) {
    LastLine lines;
    lines.feed("net_null0\n");
    lines.feed("\n");
    EXPECT_THAT(reason_of(lines.answer()), HasSubstr("names no device"));
    lines.feed("net_null1\n");
    EXPECT_EQ(lines.answer(), device("net_null1"));
}

TEST(LastLine, ALongLineIsNoDeviceAndTakesNoMemory) {
    LastLine lines;
    lines.feed("net_null0,x=" + std::string(kLongestAnswer - 12, 'x') + "\n");
    EXPECT_EQ(lines.answer().devargs.size(), kLongestAnswer);
    for (int i = 0; i < 100; i++)
        lines.feed(std::string(10000, 'y'));
    EXPECT_EQ(lines.answer().devargs.size(), kLongestAnswer) << "not ended yet";
    lines.feed("\n");
    EXPECT_THAT(reason_of(lines.answer()), HasSubstr("more than 4096 bytes"));
    lines.feed("net_null1\n");
    EXPECT_EQ(lines.answer(), device("net_null1"));
}

} // namespace
} // namespace holdfast
