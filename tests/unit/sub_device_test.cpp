// SPDX-License-Identifier: BSD-3-Clause
#include "sub_device_rig.h"
#include "support/drill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using fake::Op;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(SubDeviceTest, BeginsAbsent) {
    EXPECT_STREQ(sub_.name(), "net_null0");
    EXPECT_EQ(sub_.devargs(), "net_null0,size=64");
    EXPECT_EQ(sub_.state(), State::kAbsent);
    EXPECT_FALSE(sub_.usable());
    EXPECT_FALSE(sub_.port().valid());
    EXPECT_EQ(sub_.netdev(), 0U);
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_EQ(SubDevice(kSecond, "net_ring0", selection_, host_).index(), kSecond);
}

TEST_F(SubDeviceTest, AdoptReadsWhatThePortIsAndHas) {
    nic().set.promiscuous = true;
    nic().set.default_mac = fake::mac(9);
    nic().info.if_index = 17;
    nic().info.max_mtu = 3000;
    nic().stats.ipackets = 1000;
    adopt(sub_);
    EXPECT_EQ(sub_.state(), State::kProbed);
    EXPECT_TRUE(sub_.usable());
    EXPECT_EQ(sub_.port(), kPort);
    EXPECT_EQ(sub_.netdev(), 17U);
    EXPECT_EQ(sub_.info().max_mtu, 3000);
    EXPECT_TRUE(same(sub_.own_mac(), fake::mac(9)));
    EXPECT_EQ(sub_.has().promiscuous, true);
    EXPECT_EQ(sub_.has().allmulticast, false);
    ASSERT_TRUE(sub_.has().default_mac.has_value());
    EXPECT_TRUE(same(*sub_.has().default_mac, fake::mac(9)));
    EXPECT_EQ(sub_.plugins, 1U);
    nic().stats.ipackets = 1003;
    (void)sub_.read_stats(ethdev_);
    EXPECT_EQ(sub_.counted().ipackets, 3U);
}

TEST_F(SubDeviceTest, AdoptOfAUsedDeviceReadsWhatItsOwnerLeft) {
    nic().set.macs[fake::mac(12)] = 0x8000000000000001;
    nic().set.vlans.set(100);
    nic().set.vlan_offload = RTE_ETH_VLAN_STRIP_OFFLOAD;
    nic().set.mtu = 4000;
    adopt(sub_); // a new one has nothing, whatever it says
    EXPECT_EQ(sub_.has().macs.addresses(), 0U);
    EXPECT_EQ(sub_.has().vlans.count(), 0U);
    EXPECT_FALSE(sub_.has().second_hand);
    EXPECT_EQ(sub_.has().vlan_offload, RTE_ETH_VLAN_STRIP_OFFLOAD);
    EXPECT_EQ(sub_.has().mtu, 4000);

    SubDevice used{kSecond, "net_null1", selection_, host_};
    ASSERT_TRUE(used.adopt(ethdev_, kPort, true).ok());
    EXPECT_TRUE(used.has().second_hand);
    EXPECT_EQ(used.has().macs.pools(fake::mac(12)), 0x8000000000000001);
    EXPECT_TRUE(used.has().vlans.test(100));
    used.forget(ethdev_); // a reset device has nothing left
    EXPECT_FALSE(used.has().second_hand);
    EXPECT_EQ(used.has().macs.addresses(), 0U);
}

TEST_F(SubDeviceTest, AdoptThatFailsLeavesItAbsent) {
    for (const Op op : {Op::kInfo, Op::kMac}) {
        ethdev_.fail(kPort, op, EIO);
        EXPECT_EQ(sub_.adopt(ethdev_, kPort).code(), -EIO);
        EXPECT_EQ(sub_.state(), State::kAbsent);
        EXPECT_FALSE(sub_.port().valid());
        EXPECT_EQ(sub_.plugins, 0U);
    }
    ethdev_.fail(kPort, Op::kStats, ENOTSUP);
    adopt(sub_); // counters are optional
    EXPECT_EQ(sub_.state(), State::kProbed);
}

// FAULTS F46, 550e8d6d34: ethdev divides by nb_align at queue set-up.
TEST_F(SubDeviceTest, OneOnWhichAQueueSetUpWouldDivideByZeroIsNotTaken) {
    for (rte_eth_desc_lim *limits : {&nic().info.rx_desc_lim, &nic().info.tx_desc_lim}) {
        const std::uint16_t unit = limits->nb_align;
        limits->nb_align = 0;
        EXPECT_EQ(sub_.adopt(ethdev_, kPort).code(), -EINVAL);
        EXPECT_EQ(sub_.state(), State::kAbsent);
        limits->nb_align = unit;
    }
    adopt(sub_);
}

TEST_F(SubDeviceTest, ADeviceThatWentBeforeAnybodyListenedIsLost) {
    nic().removed = true;
    adopt(sub_);
    EXPECT_TRUE(sub_.lost());
    EXPECT_FALSE(sub_.usable());
    EXPECT_GT(host_.wakes.load(), 0U);
}

TEST_F(SubDeviceTest, OpensItsGateAndCarriesTraffic) {
    start(sub_);
    EXPECT_TRUE(sub_.door().gate.is_open());
    EXPECT_EQ(selection_.active(), kFirst);
    sub_.shut();
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_FALSE(selection_.active().valid());
    EXPECT_FALSE(sub_.lost());
    EXPECT_TRUE(sub_.usable());
}

TEST_F(SubDeviceTest, ALossShutsTheGateMovesActiveAndWakesTheHostAtOnce) {
    SubDevice standby{kSecond, "net_null1", selection_, host_};
    start(sub_);
    adopt(standby, PortId{6});
    standby.open();
    const unsigned wakes = host_.wakes.load();
    sub_.on_removal();
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_EQ(selection_.active(), kSecond);
    EXPECT_TRUE(standby.door().gate.is_open());
    EXPECT_EQ(host_.wakes.load(), wakes + 1);
    EXPECT_TRUE(sub_.lost());
    EXPECT_FALSE(sub_.released());
    EXPECT_FALSE(sub_.usable());
    EXPECT_EQ(sub_.state(), State::kStarted) << "its steps down are the host's";
}

TEST_F(SubDeviceTest, TheLossOfItsLinkMovesActiveAtOnceAndLeavesItsGateOpen) {
    SubDevice standby{kSecond, "net_null1", selection_, host_};
    start(sub_);
    adopt(standby, PortId{6});
    standby.open();
    sub_.on_link_change(false);
    EXPECT_EQ(selection_.active(), kSecond);
    EXPECT_TRUE(sub_.door().gate.is_open());
    EXPECT_GT(host_.looks.load(), 0U);
    sub_.on_link_change(true);
    EXPECT_EQ(selection_.active(), kSecond) << "its return is for the control side to weigh";
    EXPECT_EQ(selection_.view().down, 0);
    EXPECT_EQ(selection_.view().carriers(), 0b10) << "until then it is not trusted";
    standby.on_link_change(false);
    EXPECT_EQ(selection_.active(), kFirst) << "but better than none";
}

TEST_F(SubDeviceTest, WhereLinksDoNotCountTheirEventsOnlyAskForALook) {
    SubDevice sub{kFirst, "net_null0", selection_, host_, nullptr, nullptr, {.counts = false}};
    start(sub);
    sub.on_link_change(false);
    EXPECT_EQ(selection_.active(), kFirst);
    EXPECT_EQ(sub.look_at_link(ethdev_, Clock::now(), 10ms), Clock::time_point::max());
    EXPECT_GT(host_.looks.load(), 0U);
}

TEST_F(SubDeviceTest, WithADownDelayAnEventDoesNotMoveActive) {
    SubDevice sub{kFirst, "net_null0", selection_, host_, nullptr, nullptr, {.delays = {.down_delay = 100ms}}};
    start(sub);
    nic().started = true;
    const auto now = Clock::now();
    sub.begin_link(ethdev_, now, true);
    nic().set.link_up = false;
    sub.on_link_change(false);
    EXPECT_EQ(selection_.active(), kFirst);
    EXPECT_EQ(sub.look_at_link(ethdev_, now + 1ms, 10ms), now + 11ms) << "this driver has no events: it is polled";
    EXPECT_EQ(selection_.active(), kFirst);
    (void)sub.look_at_link(ethdev_, now + 101ms, 10ms);
    EXPECT_FALSE(selection_.active().valid());
}

TEST_F(SubDeviceTest, ALinkThatWasDownAndUpBetweenTwoLooksHasFailed) {
    start(sub_);
    nic().started = true;
    auto now = Clock::now();
    sub_.begin_link(ethdev_, now, true);
    for (int i = 0; i < 2; i++) {
        sub_.on_link_change(false);
        sub_.on_link_change(true);
        (void)sub_.look_at_link(ethdev_, now += 1ms, 10ms);
    }
    EXPECT_EQ(sub_.link().failures(), 2U);
    EXPECT_EQ(sub_.link().verdict(), LinkFilter::Verdict::kShaky);
    EXPECT_EQ(selection_.active(), kFirst) << "there is no better one";
    (void)sub_.look_at_link(ethdev_, now + 1s, 10ms);
    EXPECT_EQ(sub_.link().verdict(), LinkFilter::Verdict::kGood);
}

TEST_F(SubDeviceTest, ADriverThatCannotTellItsLinkIsTakenForUp) {
    start(sub_);
    nic().started = true;
    ethdev_.fail(kPort, fake::Op::kLink, ENOTSUP);
    sub_.begin_link(ethdev_, Clock::now(), true);
    EXPECT_EQ(sub_.link().verdict(), LinkFilter::Verdict::kGood);
}

// FAULTS F109.
TEST_F(SubDeviceTest, AnErrorInItselfTakesItOutOfTheTrafficButItStays) {
    SubDevice standby{kSecond, "net_null1", selection_, host_};
    start(sub_);
    adopt(standby, PortId{6});
    standby.open();
    const unsigned wakes = host_.wakes.load();
    sub_.on_recovering();
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_EQ(selection_.active(), kSecond);
    EXPECT_EQ(host_.wakes.load(), wakes + 1);
    EXPECT_TRUE(sub_.present());
    EXPECT_FALSE(sub_.usable());
    EXPECT_EQ(sub_.judge(ethdev_, -EBUSY), Outcome::kVanished) << "no error of the call";
    sub_.open();
    EXPECT_FALSE(sub_.door().gate.is_open()) << "not before it is over";
    sub_.on_recovered();
    EXPECT_FALSE(sub_.usable()) << "until the host has seen to it";
    EXPECT_EQ(host_.wakes.load(), wakes + 2);
    EXPECT_TRUE(sub_.trouble().settle(sub_.trouble().look()));
    sub_.open();
    EXPECT_TRUE(sub_.door().gate.is_open());
    EXPECT_TRUE(selection_.view().carries(kFirst));
}

TEST_F(SubDeviceTest, AFailedRecoveryIsALoss) {
    start(sub_);
    sub_.on_recovering();
    sub_.on_recovery_failed();
    EXPECT_TRUE(sub_.lost());
    EXPECT_FALSE(sub_.present());
}

TEST_F(SubDeviceTest, ANewPortHasNoTroubleOfTheOldOne) {
    start(sub_);
    sub_.on_reset_wanted();
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_TRUE(Trouble::wants_reset(sub_.trouble().look()));
    sub_.on_removal();
    sub_.move_to(State::kConfigured);
    sub_.move_to(State::kProbed);
    sub_.leave(ethdev_);
    sub_.left();
    adopt(sub_);
    EXPECT_TRUE(sub_.usable());
}

TEST_F(SubDeviceTest, DoesNotOpenOnceItIsLost) {
    adopt(sub_);
    sub_.on_removal();
    sub_.open();
    EXPECT_FALSE(sub_.door().gate.is_open());
    EXPECT_FALSE(selection_.active().valid());
    EXPECT_EQ(selection_.view().usable, 0);
}

// FAULTS F37: a loss is not forgotten by the steps that follow.
TEST_F(SubDeviceTest, OnlyANewPortMakesItUsableAgain) {
    start(sub_);
    sub_.on_removal();
    sub_.move_to(State::kConfigured);
    sub_.move_to(State::kProbed);
    EXPECT_TRUE(sub_.lost());
    sub_.leave(ethdev_);
    EXPECT_TRUE(sub_.leaving);
    EXPECT_FALSE(sub_.usable());
    sub_.left();
    EXPECT_EQ(sub_.state(), State::kAbsent);
    EXPECT_FALSE(sub_.leaving);
    EXPECT_FALSE(sub_.port().valid());
    adopt(sub_, PortId{6});
    EXPECT_FALSE(sub_.lost());
    EXPECT_TRUE(sub_.usable());
    EXPECT_EQ(sub_.port(), PortId{6});
    EXPECT_EQ(sub_.plugins, 2U);
    EXPECT_EQ(sub_.removals, 1U);
}

// FAULTS F155, F17: the id may already be another device's.
TEST_F(SubDeviceTest, AReleasedPortIsNotTouched) {
    nic().stats.ipackets = 10;
    adopt(sub_);
    int rc = 0;
    ASSERT_EQ(sub_.apply(ethdev_, DefaultMac{fake::mac(7)}, rc), Outcome::kDone);
    sub_.on_destroy();
    EXPECT_TRUE(sub_.released());
    ethdev_.forget_calls();
    (void)sub_.read_stats(ethdev_);
    (void)sub_.restart_stats(ethdev_);
    sub_.clear_stats();
    EXPECT_EQ(sub_.judge(ethdev_, -EIO), Outcome::kVanished);
    sub_.leave(ethdev_);
    for (unsigned op = 0; op < static_cast<unsigned>(Op::kCount); op++)
        EXPECT_EQ(ethdev_.calls(static_cast<Op>(op)), 0U) << "operation " << op;
    EXPECT_EQ(sub_.state(), State::kAbsent);
    EXPECT_FALSE(sub_.leaving) << "nothing waits to be closed";
    EXPECT_EQ(sub_.netdev(), 0U);
}

TEST_F(SubDeviceTest, ItGoesBackToItsOwnerWithItsOwnMac) {
    nic().set.default_mac = fake::mac(9);
    adopt(sub_);
    int rc = 0;
    ASSERT_EQ(sub_.apply(ethdev_, DefaultMac{fake::mac(7)}, rc), Outcome::kDone);
    sub_.leave(ethdev_);
    EXPECT_TRUE(same(nic().set.default_mac, fake::mac(9)));
    sub_.left();

    adopt(sub_);
    ethdev_.forget_calls();
    sub_.leave(ethdev_);
    EXPECT_EQ(ethdev_.calls(Op::kSetDefaultMac), 0U) << "it had its own all the time";
    sub_.left();

    adopt(sub_);
    ASSERT_EQ(sub_.apply(ethdev_, DefaultMac{fake::mac(7)}, rc), Outcome::kDone);
    sub_.on_removal();
    ethdev_.forget_calls();
    sub_.leave(ethdev_);
    EXPECT_EQ(ethdev_.calls(Op::kSetDefaultMac), 0U) << "one that has gone is not asked";
}

// ---- trying again

TEST_F(SubDeviceTest, WaitsLongerEachTimeUpToALimit) {
    const Clock::time_point now{};
    const Status why{-ENOMEM, "configure a sub-device"};
    std::vector<Clock::duration> waits;
    for (int i = 0; i < 100; i++) {
        sub_.put_off(why, now, 1000ms);
        waits.push_back(sub_.next_try - now);
    }
    EXPECT_EQ(waits.front(), 1000ms);
    EXPECT_TRUE(std::is_sorted(waits.begin(), waits.end()));
    EXPECT_EQ(waits[1], 2000ms);
    EXPECT_LE(waits.back(), 60s);
    EXPECT_GT(waits.back(), 2000ms);
    EXPECT_THAT(sub_.reason, AllOf(HasSubstr("configure a sub-device"), HasSubstr("memory")));
    sub_.joined();
    sub_.put_off(why, now, 1000ms);
    EXPECT_EQ(sub_.next_try - now, 1000ms) << "once it had joined it begins anew";
    sub_.put_off(why, now, 1000ms);
    sub_.retry_now();
    EXPECT_LE(sub_.next_try, now);
    sub_.put_off(why, now, 1000ms);
    EXPECT_EQ(sub_.next_try - now, 1000ms);
}

TEST_F(SubDeviceTest, NeverWaitsLessThanThePollIntervalNorOverflows) {
    const Clock::time_point now{};
    for (const auto poll :
         {std::chrono::milliseconds{1}, std::chrono::milliseconds{2000}, std::chrono::milliseconds{24h}}) {
        SubDevice sub{kFirst, "net_null0", selection_, host_};
        for (int i = 0; i < 50; i++) {
            sub.put_off({-EIO, "probe a device"}, now, poll);
            EXPECT_GE(sub.next_try - now, poll);
            EXPECT_LE(sub.next_try - now, std::max<Clock::duration>(60s, poll));
        }
        sub.look_again(now, poll); // not there: that is no failure
        EXPECT_EQ(sub.next_try - now, poll);
    }
}

// ---- several threads

/// Two threads report a loss while the control side opens the gate.
TEST(SubDeviceHammer, ALossDuringOpenNeverLeavesTheGateOpen) {
    fake::Ethdev ethdev;
    Selection selection;
    CountingHost host;
    SubDevice sub{kFirst, "net_null0", selection, host};
    std::array<drill::Rendezvous, 2> start, finish;
    std::vector<std::thread> losers;
    for (unsigned side = 0; side < 2; side++)
        losers.emplace_back([&, side] {
            const drill::Pinned pinned(side + 1);
            for (std::uint32_t round = 0; start[side].meet(0); round++) {
                drill::linger(round / 8 % 16 * (side + 1));
                if (side == 0)
                    sub.on_removal();
                else
                    sub.lose(SubDevice::kGone);
                if (!finish[side].meet(0))
                    break;
            }
        });
    drill::Tally tally;
    {
        const drill::Pinned pinned(0);
        const auto began = drill::Clock::now();
        const auto over = [&](std::chrono::milliseconds limit) { return drill::Clock::now() - began >= limit; };
        for (std::uint32_t round = 0; round % 64 != 0 || !over(1s) || (!tally.met() && !over(60s)); round++) {
            EXPECT_TRUE(sub.adopt(ethdev, kPort).ok());
            start[0].meet(1);
            start[1].meet(1);
            drill::linger(round % 8 * 4);
            const bool before = sub.lost();
            sub.open();
            const bool after = sub.lost();
            finish[0].meet(1);
            finish[1].meet(1);
            tally.violations += sub.door().gate.is_open() || selection.view().usable != 0 || !sub.lost() ? 1 : 0;
            tally.meetings += !before && after ? 1 : 0; // it was lost while we opened
            tally.refusals += before ? 1 : 0;
            tally.rounds++;
            sub.leave(ethdev);
            sub.left();
        }
    }
    for (unsigned side = 0; side < 2; side++) {
        start[side].end();
        finish[side].end();
        losers[side].join();
    }
    tally.print("lose during open");
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_GT(tally.meetings, 0U) << "no loss came during open(), so this run says nothing";
}

} // namespace
} // namespace holdfast
