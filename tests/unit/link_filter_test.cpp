// SPDX-License-Identifier: BSD-3-Clause
#include "base/link_filter.h"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using Verdict = LinkFilter::Verdict;

class LinkFilterTest : public testing::Test {
  protected:
    /// Time passes, and then the link is seen.
    Verdict see(bool up, std::chrono::milliseconds after = 0ms) { return filter_.see(up, now_ += after); }
    /// It goes down, is up again at once, and stays so for `up`.
    Verdict flap(std::chrono::milliseconds up) {
        (void)see(false, 1ms);
        (void)see(true, 1ms);
        return see(true, up);
    }
    LinkFilter::Time now_{1h};
    LinkFilter filter_;
};

TEST_F(LinkFilterTest, WithoutDelaysItSaysWhatItSees) {
    EXPECT_EQ(filter_.begin(true, false, now_), Verdict::kGood);
    EXPECT_EQ(see(false, 1ms), Verdict::kDown);
    EXPECT_EQ(see(true, 1ms), Verdict::kGood);
    EXPECT_EQ(filter_.failures(), 1U);
    EXPECT_EQ(filter_.due(), LinkFilter::Time::max());
}

TEST_F(LinkFilterTest, OneWhoseLinkWentBecauseItsDeviceWentHasNotFailed) {
    for (int i = 0; i < 3; i++) { // within a minute: failures would cost time
        EXPECT_EQ(filter_.begin(true, false, now_), Verdict::kGood) << i;
        EXPECT_EQ(see(false, 1s), Verdict::kDown);
        filter_.end();
        filter_.gone(now_ += 100ms);
        EXPECT_EQ(filter_.failures(), 0U);
    }
}

TEST_F(LinkFilterTest, AFailureLongBeforeTheDeviceWentIsOne) {
    (void)filter_.begin(true, false, now_);
    (void)see(false, 1s);
    filter_.gone(now_ += 10s);
    EXPECT_EQ(filter_.failures(), 1U);
    (void)filter_.begin(true, false, now_);
    (void)flap(1ms);
    filter_.gone(now_);
    EXPECT_EQ(filter_.failures(), 2U) << "it was up again before the device went";
}

TEST_F(LinkFilterTest, AFailureThatWasForgottenIsNotTakenBack) {
    (void)filter_.begin(true, false, now_);
    (void)see(false, 1s);
    filter_.forget_failures();
    filter_.gone(now_);
    EXPECT_EQ(filter_.failures(), 0U);
}

TEST_F(LinkFilterTest, OneThatStartsWithoutALinkHasNotFailed) {
    EXPECT_EQ(filter_.begin(false, true, now_), Verdict::kDown);
    EXPECT_EQ(see(false, 1ms), Verdict::kDown);
    EXPECT_EQ(see(true, 1ms), Verdict::kGood);
    EXPECT_EQ(filter_.failures(), 0U);
}

TEST_F(LinkFilterTest, AShortBreakIsNoneWithADownDelay) {
    LinkFilter slow({.down_delay = 100ms});
    slow.begin(true, true, now_);
    EXPECT_EQ(slow.see(false, now_), Verdict::kGood);
    EXPECT_EQ(slow.due(), now_ + 100ms);
    EXPECT_EQ(slow.see(true, now_ + 99ms), Verdict::kGood);
    EXPECT_EQ(slow.see(false, now_ + 100ms), Verdict::kGood) << "it begins anew";
    EXPECT_EQ(slow.see(false, now_ + 199ms), Verdict::kGood);
    EXPECT_EQ(slow.see(false, now_ + 200ms), Verdict::kDown);
    EXPECT_EQ(slow.failures(), 1U);
}

TEST_F(LinkFilterTest, WithAnUpDelayItIsShakyForSoLong) {
    LinkFilter slow({.up_delay = 100ms});
    EXPECT_EQ(slow.begin(true, false, now_), Verdict::kShaky);
    EXPECT_EQ(slow.due(), now_ + 100ms);
    EXPECT_EQ(slow.see(true, now_ + 99ms), Verdict::kShaky);
    EXPECT_EQ(slow.see(true, now_ + 100ms), Verdict::kGood);
    EXPECT_EQ(slow.see(false, now_ + 150ms), Verdict::kDown);
    EXPECT_EQ(slow.see(true, now_ + 160ms), Verdict::kShaky);
    EXPECT_EQ(slow.see(false, now_ + 200ms), Verdict::kDown);
    EXPECT_EQ(slow.see(true, now_ + 210ms), Verdict::kShaky) << "every break begins anew";
    EXPECT_EQ(slow.see(true, now_ + 309ms), Verdict::kShaky);
    EXPECT_EQ(slow.see(true, now_ + 310ms), Verdict::kGood);
    EXPECT_EQ(slow.failures(), 1U) << "nobody relied on it while it was shaky";
    EXPECT_EQ(LinkFilter({.up_delay = 100ms}).begin(true, true, now_), Verdict::kGood) << "the port's own start";
}

TEST_F(LinkFilterTest, EachFailureWithinAMinuteDoublesTheTimeOut) {
    filter_.begin(true, true, now_);
    EXPECT_EQ(flap(0ms), Verdict::kGood) << "once is nothing";
    for (const auto hold : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
        EXPECT_EQ(flap(hold - 1ms), Verdict::kShaky) << hold.count();
        EXPECT_EQ(filter_.held_down(), hold);
        EXPECT_EQ(see(true, 1ms), Verdict::kGood) << hold.count();
    }
    EXPECT_EQ(filter_.failures(), 8U);
}

TEST_F(LinkFilterTest, AMinuteInTrustIsForgiven) {
    filter_.begin(true, true, now_);
    (void)flap(0ms);
    (void)flap(1s);
    EXPECT_EQ(see(true, 60s), Verdict::kGood);
    EXPECT_EQ(flap(0ms), Verdict::kGood);
    EXPECT_EQ(flap(0ms), Verdict::kShaky) << "and begins anew";
}

TEST_F(LinkFilterTest, WhatFlapsForAMinuteIsTrustedAtMostTwice) {
    filter_.begin(true, true, now_);
    unsigned trusted = 0;
    Verdict before = Verdict::kGood;
    for (int i = 0; i < 10 * 60; i++) {
        (void)see(false, 50ms);
        const Verdict now = see(true, 50ms);
        trusted += now == Verdict::kGood && before != Verdict::kGood ? 1 : 0;
        before = filter_.see(false, now_); // at 10 Hz it is never up for longer
    }
    EXPECT_LE(trusted, 2U);
    EXPECT_EQ(see(true, 1ms), Verdict::kShaky);
    EXPECT_EQ(see(true, 1s), Verdict::kGood) << "when it stops, it is back soon";
}

TEST_F(LinkFilterTest, ItsPastStaysWhenItStartsAnew) {
    filter_.begin(true, true, now_);
    (void)flap(0ms);
    (void)see(false, 1ms);
    EXPECT_EQ(filter_.begin(true, false, now_), Verdict::kShaky);
    EXPECT_EQ(filter_.begin(true, true, now_), Verdict::kGood) << "the application's own start waits for nothing";
}

} // namespace
} // namespace holdfast
