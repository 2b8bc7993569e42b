// SPDX-License-Identifier: BSD-3-Clause
// What a sub-device makes of what its port answers: counters, errors, changes.
#include "sub_device_rig.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace holdfast {
namespace {

using fake::Op;
using SubDeviceCalls = SubDeviceTest;

// ---- counters

// FAULTS F56.
TEST_F(SubDeviceCalls, WhatItCountedStaysWhenItLeaves) {
    nic().stats.ipackets = 100;
    adopt(sub_);
    nic().stats.ipackets = 130;
    sub_.on_removal();
    sub_.leave(ethdev_);
    EXPECT_EQ(sub_.counted().ipackets, 30U) << "the last reading is taken when it leaves";
    sub_.left();
    nic().stats.ipackets = 1'000'000;
    adopt(sub_);
    EXPECT_EQ(sub_.counted().ipackets, 30U);
    nic().stats.ipackets += 5;
    (void)sub_.read_stats(ethdev_);
    EXPECT_EQ(sub_.counted().ipackets, 35U);
}

// It is the host thread that reads the last ones, and that may take long.
TEST_F(SubDeviceCalls, CountersFromBeforeAResetDoNotComeBackWithTheLastReading) {
    adopt(sub_);
    nic().stats.ipackets = 100;
    sub_.on_removal();
    EXPECT_TRUE(sub_.read_stats(ethdev_).ok());
    EXPECT_EQ(sub_.counted().ipackets, 0U) << "one that is lost is not asked";
    sub_.clear_stats();
    EXPECT_TRUE(sub_.restart_stats(ethdev_).ok());
    sub_.leave(ethdev_);
    EXPECT_EQ(sub_.counted().ipackets, 0U);
    sub_.left();
    adopt(sub_);
    nic().stats.ipackets = 107;
    EXPECT_TRUE(sub_.read_stats(ethdev_).ok());
    EXPECT_EQ(sub_.counted().ipackets, 7U);
}

TEST_F(SubDeviceCalls, TheLastReadingIsTakenOnce) {
    adopt(sub_);
    nic().stats.ipackets = 100;
    sub_.on_removal();
    abi::PortStats last{};
    last.ipackets = 90;
    sub_.count_last(last);
    sub_.leave(ethdev_);
    EXPECT_EQ(sub_.counted().ipackets, 90U);
}

TEST_F(SubDeviceCalls, KeepsItsLastCountersWhenTheDeviceDoesNotAnswer) {
    adopt(sub_);
    nic().stats.opackets = 8;
    (void)sub_.read_stats(ethdev_);
    nic().removed = true;
    (void)sub_.read_stats(ethdev_);
    EXPECT_EQ(sub_.counted().opackets, 8U);
}

TEST_F(SubDeviceCalls, SaysThatItsCountersCouldNotBeReadOrReset) {
    adopt(sub_);
    nic().stats.opackets = 8;
    ethdev_.fail(kPort, Op::kStats, ENOMEM);
    EXPECT_EQ(sub_.read_stats(ethdev_).code(), -ENOMEM);
    EXPECT_TRUE(sub_.read_stats(ethdev_).ok());
    ethdev_.fail(kPort, Op::kStatsReset, EIO);
    EXPECT_EQ(sub_.restart_stats(ethdev_).code(), -EIO);
    ethdev_.fail(kPort, Op::kStats, ENOTSUP);
    EXPECT_TRUE(sub_.read_stats(ethdev_).ok()) << "it has none";
    EXPECT_EQ(sub_.counted().opackets, 8U);
    EXPECT_TRUE(sub_.restart_stats(ethdev_).ok());
    EXPECT_EQ(sub_.counted().opackets, 8U) << "not before all could";
    nic().stats.opackets = 3;
    EXPECT_TRUE(sub_.read_stats(ethdev_).ok());
    EXPECT_EQ(sub_.counted().opackets, 11U);
}

TEST_F(SubDeviceCalls, CountsFromZeroAfterAResetWhetherTheDeviceCanResetOrNot) {
    for (const bool can : {true, false}) {
        nic().stats.opackets = 50;
        adopt(sub_);
        nic().stats.opackets = 58;
        (void)sub_.read_stats(ethdev_);
        EXPECT_EQ(sub_.counted().opackets, 8U);
        ethdev_.fail_always(kPort, Op::kStatsReset, can ? 0 : ENOTSUP);
        (void)sub_.restart_stats(ethdev_);
        sub_.clear_stats();
        EXPECT_EQ(sub_.counted().opackets, 0U);
        nic().stats.opackets += 3;
        (void)sub_.read_stats(ethdev_);
        EXPECT_EQ(sub_.counted().opackets, 3U);
        (void)sub_.restart_stats(ethdev_);
        sub_.clear_stats();
        sub_.leave(ethdev_);
        sub_.left();
    }
}

TEST_F(SubDeviceCalls, AResetWhileItIsGoingDoesNotBringItsWholeLifeBackWhenItHasLeft) {
    adopt(sub_);
    nic().stats.opackets = 5000;
    (void)sub_.read_stats(ethdev_);
    sub_.on_removal(); // a netdev that vanished: its port answers on
    (void)sub_.restart_stats(ethdev_);
    sub_.clear_stats();
    nic().stats.opackets = 5001;
    sub_.leave(ethdev_);
    EXPECT_LE(sub_.counted().opackets, 1U);
}

// ---- judging

TEST_F(SubDeviceCalls, JudgesWhatACallGave) {
    adopt(sub_);
    EXPECT_EQ(sub_.judge(ethdev_, 0), Outcome::kDone);
    EXPECT_EQ(sub_.judge(ethdev_, 7), Outcome::kDone);
    EXPECT_EQ(sub_.judge(ethdev_, -ENOTSUP), Outcome::kLacking);
    EXPECT_EQ(sub_.judge(ethdev_, -ENOSYS), Outcome::kLacking);
    for (const int rc : {-EINVAL, -EBUSY, -EPERM, -ENOMEM, -ENOSPC, -EAGAIN, -ETIMEDOUT})
        EXPECT_EQ(sub_.judge(ethdev_, rc), Outcome::kRefused) << rc;
    EXPECT_EQ(ethdev_.calls(Op::kIsRemoved), 1U) << "only adopt has asked";
    // FAULTS F43: from a device that lives these are refusals.
    EXPECT_EQ(sub_.judge(ethdev_, -EIO), Outcome::kRefused);
    EXPECT_EQ(sub_.judge(ethdev_, -ENODEV), Outcome::kRefused);
    EXPECT_FALSE(sub_.lost());
}

TEST_F(SubDeviceCalls, NoticesByAFailedCallThatItHasGone) {
    for (const int rc : {-EIO, -ENODEV}) {
        start(sub_);
        nic().removed = true;
        EXPECT_EQ(sub_.judge(ethdev_, rc), Outcome::kVanished);
        EXPECT_TRUE(sub_.lost());
        EXPECT_FALSE(sub_.door().gate.is_open());
        EXPECT_EQ(sub_.judge(ethdev_, -EINVAL), Outcome::kVanished) << "whatever it says now";
        EXPECT_EQ(sub_.judge(ethdev_, -ENOTSUP), Outcome::kVanished);
        nic().removed = false;
        sub_.move_to(State::kConfigured);
        sub_.move_to(State::kProbed);
        sub_.leave(ethdev_);
        sub_.left();
    }
}

TEST_F(SubDeviceCalls, NotesOnlyChangesThatWereDone) {
    adopt(sub_);
    int rc = 0;
    EXPECT_EQ(sub_.apply(ethdev_, Mtu{1400}, rc), Outcome::kDone);
    EXPECT_EQ(rc, 0);
    EXPECT_EQ(sub_.has().mtu, 1400);
    EXPECT_EQ(sub_.apply(ethdev_, Mtu{65000}, rc), Outcome::kRefused);
    EXPECT_EQ(rc, -EINVAL);
    EXPECT_EQ(sub_.has().mtu, 1400);
    ethdev_.fail(kPort, Op::kSetAllmulticast, ENOTSUP);
    EXPECT_EQ(sub_.apply(ethdev_, Allmulticast{true}, rc), Outcome::kLacking);
    EXPECT_EQ(sub_.has().allmulticast, false);
}

} // namespace
} // namespace holdfast
