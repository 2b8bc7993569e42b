// SPDX-License-Identifier: BSD-3-Clause
// tx=round-robin and tx=broadcast over sub-devices that are written into ethdev's table by hand.
#include "base/ids.h"
#include "base/policy.h"
#include "datapath/datapath.h"
#include "support/spread_rig.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace holdfast::datapath {
namespace {

using test::BareQueues;
using test::KeepingLine;

class RoundRobin : public test::SpreadTest {
  protected:
    std::uint16_t send(std::vector<rte_mbuf *> &p) {
        return tx_burst_round_robin(&tx(), p.data(), static_cast<std::uint16_t>(p.size()));
    }
    /// Sends one burst of n; says who got it whole, or -1.
    int who(std::size_t n = 5) {
        auto p = packets(n);
        const std::uint16_t sent = send(p);
        int out = -1;
        for (int i = 0; i < BareQueues::kMost; i++) {
            KeepingLine &l = line(static_cast<std::size_t>(i));
            if (l.taken.size() == n && sent == n)
                out = i;
            forget(l);
        }
        free(p, sent);
        return out;
    }
};

TEST_F(RoundRobin, WholeBurstsGoToEachInTurn) {
    make(3);
    for (int i = 0; i < 9; i++)
        EXPECT_EQ(who(), i % 3);
    EXPECT_EQ(who(200), 0);
}

TEST_F(RoundRobin, WhoLeavesOrHasNoLinkOrAClosedGateIsPassedBy) {
    make(4);
    q().shut(1);
    q().selection().lose_link(SubIndex{2});
    for (const int sub : {0, 3, 0, 3})
        EXPECT_EQ(who(), sub);
    q().close_gate(0);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(who(), 3);
    q().open_gate(0);
    q().put_in(1);
    q().selection().gain_link(SubIndex{2}, false);
    for (const int sub : {0, 1, 2, 3, 0})
        EXPECT_EQ(who(), sub);
}

TEST_F(RoundRobin, ABurstIsNotSplit) {
    make(2);
    line(0).room = 3;
    auto p = packets(8);
    const std::vector<rte_mbuf *> before = p;
    EXPECT_EQ(send(p), 3);
    EXPECT_EQ(p, before);
    EXPECT_TRUE(line(1).bursts.empty());
    free(p, 3);
}

TEST_F(RoundRobin, WithoutCarriersItHoldsOrDrops) {
    make(2);
    q().close_gate(0);
    q().close_gate(1);
    auto p = packets(4);
    tx().no_active = NoActive::kDrop;
    EXPECT_EQ(send(p), 0) << "somebody is only passing through the gates";
    EXPECT_EQ(refused(tx()), 1U);
    q().shut(0);
    q().shut(1);
    EXPECT_EQ(send(p), 4);
    EXPECT_EQ(dropped(tx()), 4U);
    EXPECT_EQ(pool().in_use(), 0U);
}

class Broadcast : public test::SpreadTest {
  protected:
    std::uint16_t send(std::vector<rte_mbuf *> &p) {
        return tx_burst_broadcast(&tx(), p.data(), static_cast<std::uint16_t>(p.size()));
    }
};

TEST_F(Broadcast, EachGetsEachPacketInOrder) {
    make(3);
    auto p = packets(100);
    const std::vector<rte_mbuf *> before = p;
    EXPECT_EQ(send(p), 100);
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(line(i).taken, before) << i;
    for (const rte_mbuf *m : before)
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 3);
}

TEST_F(Broadcast, WithOneItIsAPlainBurst) {
    make(1);
    auto p = packets(3);
    EXPECT_EQ(send(p), 3);
    EXPECT_EQ(rte_mbuf_refcnt_read(line(0).taken[0]), 1);
}

// F138
TEST_F(Broadcast, EverySegmentBelongsToEachOfThem) {
    make(3);
    const auto bytes = test::Frame({.payload = 100}).bytes();
    std::vector<rte_mbuf *> p{pool().make(bytes, {20, 50})};
    const rte_mbuf *const head = p[0];
    ASSERT_EQ(send(p), 1);
    for (const rte_mbuf *part = head; part != nullptr; part = part->next)
        EXPECT_EQ(rte_mbuf_refcnt_read(part), 3);
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(pool().in_use(), 3U);
        EXPECT_EQ(line(i).taken.at(0)->nb_segs, 3);
        forget(line(i));
    }
    EXPECT_EQ(pool().in_use(), 0U);
}

TEST_F(Broadcast, AnIndirectMbufAndWhatItIsAttachedToLiveUntilTheLastIsThrough) {
    make(2);
    rte_mbuf *const direct = pool().make_attachable();
    std::vector<rte_mbuf *> p{pool().make({})};
    rte_pktmbuf_attach(p[0], direct);
    rte_pktmbuf_free(direct); // the other one holds it now
    ASSERT_EQ(send(p), 1);
    EXPECT_EQ(pool().in_use(), 2U);
    forget(line(0));
    EXPECT_EQ(pool().in_use(), 2U);
    EXPECT_EQ(rte_mbuf_refcnt_read(direct), 1);
    forget(line(1));
    EXPECT_EQ(pool().in_use(), 0U);
}

TEST_F(Broadcast, WhoFreesAtOnceDoesNotTakeItFromTheOthers) {
    make(3);
    line(0).frees = line(1).frees = true;
    auto p = packets(10);
    EXPECT_EQ(send(p), 10);
    EXPECT_EQ(line(2).taken.size(), 10U);
    EXPECT_EQ(pool().in_use(), 10U);
    EXPECT_EQ(rte_mbuf_refcnt_read(line(2).taken[0]), 1);
}

TEST_F(Broadcast, APacketIsSentWhenOneTookIt) {
    make(3);
    line(0).room = 2;
    line(1).room = 0;
    line(2).room = 5;
    line(0).frees = line(2).frees = true;
    auto p = packets(9);
    const std::vector<rte_mbuf *> before = p;
    EXPECT_EQ(send(p), 5);
    EXPECT_EQ(pool().in_use(), 4U);
    for (std::size_t i = 5; i < 9; i++) {
        EXPECT_EQ(p[i], before[i]);
        EXPECT_EQ(rte_mbuf_refcnt_read(p[i]), 1);
    }
    free(p, 5);
    EXPECT_EQ(pool().in_use(), 0U);
}

TEST_F(Broadcast, AClosedGateOrADeadLinkKeepsNoReferences) {
    make(3);
    q().selection().lose_link(SubIndex{0});
    q().close_gate(1);
    auto p = packets(10);
    EXPECT_EQ(send(p), 10);
    EXPECT_EQ(line(2).taken.size(), 10U);
    for (const rte_mbuf *m : line(2).taken)
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
    q().close_gate(2);
    p = packets(10);
    EXPECT_EQ(send(p), 0);
    for (const rte_mbuf *m : p)
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
    free(p);
}

TEST_F(Broadcast, WithoutCarriersItHoldsOrDrops) {
    make(0);
    auto p = packets(4);
    EXPECT_EQ(send(p), 0);
    EXPECT_EQ(refused(tx()), 1U);
    tx().no_active = NoActive::kDrop;
    EXPECT_EQ(send(p), 4);
    EXPECT_EQ(dropped(tx()), 4U);
}

// Any mix of who takes how much, keeps or frees it, and leaves the rest in another order.
TEST_F(Broadcast, NoMbufIsLostOrFreedTwiceWhoeverTakesWhat) {
    std::minstd_rand random(11);
    make(4);
    for (int round = 0; round < 2000; round++) {
        std::array<std::size_t, 4> room{};
        for (std::uint8_t i = 0; i < 4; i++) {
            if (random() % 4 != 0)
                q().put_in(i);
            else
                q().shut(i);
            room.at(i) = line(i).room = random() % 2 == 0 ? random() % 30 : SIZE_MAX;
            line(i).shuffles = random() % 4 == 0;
            line(i).frees = random() % 2 == 0;
        }
        const std::uint16_t carriers = q().selection().view().carriers();
        std::vector<rte_mbuf *> p;
        const std::size_t n = random() % 100;
        for (std::size_t i = 0; i < n; i++) {
            const std::vector<std::uint8_t> bytes(30, 1);
            p.push_back(random() % 3 == 0 ? pool().make(bytes, {10, 20}) : pool().make(bytes));
        }
        const std::vector<rte_mbuf *> before = p;
        const std::uint16_t sent = send(p);
        std::size_t most = 0;
        for (std::uint8_t i = 0; i < 4; i++)
            if ((carriers >> i & 1U) != 0)
                most = std::max(most, std::min(room.at(i), n));
        ASSERT_EQ(sent, most) << round;
        // One that is alone gets the array itself, and may be one that shuffles.
        ASSERT_TRUE(std::has_single_bit(carriers)
                        ? std::is_permutation(before.begin() + sent, before.end(), p.begin() + sent)
                        : std::equal(before.begin() + sent, before.end(), p.begin() + sent))
            << round;
        for (std::size_t i = sent; i < n; i++)
            for (const rte_mbuf *part = p[i]; part != nullptr; part = part->next)
                ASSERT_EQ(rte_mbuf_refcnt_read(part), 1) << round;
        free(p, sent);
        for (std::uint8_t i = 0; i < 4; i++)
            forget(line(i));
        ASSERT_EQ(pool().in_use(), 0U) << round;
    }
}

using PrepareAll = test::SpreadTest;

// F134
TEST_F(PrepareAll, EachCarrierIsAskedUpToTheFirstThatFindsFault) {
    make(4);
    q().shut(1);
    auto p = packets(10);
    EXPECT_EQ(tx_prepare_all(&tx(), p.data(), 10), 10);
    EXPECT_EQ(line(0).bursts, (std::vector<std::uint16_t>{10}));
    EXPECT_TRUE(line(1).bursts.empty());
    line(0).prepares = 7;
    line(2).prepares = 4;
    EXPECT_EQ(tx_prepare_all(&tx(), p.data(), 10), 4);
    EXPECT_EQ(line(2).bursts, (std::vector<std::uint16_t>{10, 7}));
    EXPECT_EQ(line(3).bursts, (std::vector<std::uint16_t>{10, 4}));
    for (std::uint8_t i : {std::uint8_t{0}, std::uint8_t{2}, std::uint8_t{3}})
        q().shut(i);
    EXPECT_EQ(tx_prepare_all(&tx(), p.data(), 10), 10) << "nobody to ask: tx_burst decides";
    free(p);
}

} // namespace
} // namespace holdfast::datapath
