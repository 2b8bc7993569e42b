// SPDX-License-Identifier: BSD-3-Clause
// tx=balance over sub-devices that are written into ethdev's table by hand.
#include "base/ids.h"
#include "base/policy.h"
#include "datapath/datapath.h"
#include "datapath/flow_hash.h"
#include "datapath/shares.h"
#include "support/spread_rig.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace holdfast::datapath {
namespace {

using test::BareQueues;
using test::Frame;
using test::KeepingLine;

class Balance : public test::SpreadTest {
  protected:
    std::uint16_t send(std::vector<rte_mbuf *> &p) {
        return tx_burst_balance<XmitPolicy::kL2>(&tx(), p.data(), static_cast<std::uint16_t>(p.size()));
    }
    /// Flow -> the sub-device that got it; fails if several did.
    std::map<std::uint32_t, std::size_t> places() {
        std::map<std::uint32_t, std::size_t> out;
        for (std::size_t i = 0; i < BareQueues::kMost; i++)
            for (const rte_mbuf *m : line(i).taken) {
                const auto [at, fresh] = out.emplace(m->hash.usr, i);
                EXPECT_TRUE(fresh || at->second == i) << "flow " << m->hash.usr << " is on two sub-devices";
            }
        return out;
    }
    /// A flow that goes to that sub-device as long as all of `subs` are there.
    static std::uint8_t flow_of(std::size_t sub, std::uint16_t subs) {
        Shares shares;
        share_out(subs, shares);
        for (std::uint8_t flow = 0;; flow++) {
            const Frame frame({.to = flow});
            if (shares[share_of(flow_hash(frame.bytes().data(), frame.bytes().size(), XmitPolicy::kL2))] == sub)
                return flow;
        }
    }
};

TEST_F(Balance, EachFlowHasItsSubDeviceAndEachSubDeviceFlows) {
    make(3);
    for (int i = 0; i < 4; i++) {
        auto p = packets(200);
        ASSERT_EQ(send(p), 200);
    }
    const auto where = places();
    EXPECT_EQ(where.size(), 200U);
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_GT(line(i).taken.size(), 800U / 6) << i;
    EXPECT_TRUE(line(3).taken.empty());
}

TEST_F(Balance, AFlowKeepsItsOrder) {
    make(4);
    for (std::uint16_t burst = 0; burst < 10; burst++) {
        auto p = packets(150, 7);
        for (rte_mbuf *m : p)
            m->port = static_cast<std::uint16_t>(m->port + 150U * burst);
        ASSERT_EQ(send(p), 150);
    }
    for (std::size_t i = 0; i < BareQueues::kMost; i++)
        EXPECT_TRUE(std::is_sorted(line(i).taken.begin(), line(i).taken.end(),
                                   [](const rte_mbuf *a, const rte_mbuf *b) { return a->port < b->port; }));
}

TEST_F(Balance, ASubDeviceIsCalledOnceForUpTo64Packets) {
    make(2);
    for (const std::size_t n : {std::size_t{1}, std::size_t{32}, std::size_t{64}}) {
        auto p = packets(n);
        ASSERT_EQ(send(p), n);
        for (std::size_t i = 0; i < 2; i++) {
            EXPECT_LE(line(i).bursts.size(), 1U);
            forget(line(i));
        }
    }
    auto p = packets(0);
    EXPECT_EQ(send(p), 0);
}

// F137
TEST_F(Balance, WhatIsNotTakenIsTheEndOfTheArrayInItsOrder) {
    for (const bool shuffles : {false, true})
        for (std::size_t room = 0; room <= 12; room++) {
            make(3);
            line(1).room = room;
            line(1).shuffles = shuffles;
            auto p = packets(48);
            const std::vector<rte_mbuf *> before = p;
            const std::uint16_t sent = send(p);
            ASSERT_EQ(sent, line(0).taken.size() + line(1).taken.size() + line(2).taken.size());
            EXPECT_EQ(line(1).taken.size(), room);
            EXPECT_LT(sent, 48);
            std::vector<rte_mbuf *> tail(p.begin() + sent, p.end());
            if (!shuffles) {
                EXPECT_TRUE(std::is_sorted(tail.begin(), tail.end(), [](auto a, auto b) { return a->port < b->port; }));
            }
            std::vector<rte_mbuf *> all = tail;
            for (std::size_t i = 0; i < 3; i++)
                all.insert(all.end(), line(i).taken.begin(), line(i).taken.end());
            EXPECT_TRUE(std::is_permutation(all.begin(), all.end(), before.begin(), before.end()))
                << "a packet is there twice, or lost";
            free(p, sent);
            TearDown();
        }
}

TEST_F(Balance, NoneIsSentAfterOneOfItsFlowThatWasNotTaken) {
    make(2);
    const std::uint8_t flow = flow_of(0, 0b11);
    line(0).room = 3;
    std::vector<rte_mbuf *> p;
    for (std::uint16_t i = 0; i < 200; i++) // of the second 64, too
        p.push_back(packet(flow, i));
    const std::uint16_t sent = send(p);
    ASSERT_EQ(sent, 3);
    for (std::uint16_t i = sent; i < 200; i++)
        EXPECT_EQ(p[i]->port, i);
    line(0).room = SIZE_MAX;
    std::vector<rte_mbuf *> rest(p.begin() + sent, p.end());
    ASSERT_EQ(send(rest), 197);
    for (std::uint16_t i = 0; i < 200; i++)
        EXPECT_EQ(line(0).taken[i]->port, i);
}

TEST_F(Balance, WhoLeavesHasItsFlowsTakenOverAndTheOthersStayWhereTheyAre) {
    make(3);
    auto p = packets(200);
    ASSERT_EQ(send(p), 200);
    const auto before = places();
    for (std::size_t i = 0; i < 3; i++)
        forget(line(i));
    q().shut(1);
    p = packets(200);
    ASSERT_EQ(send(p), 200);
    const auto between = places();
    for (const auto &[flow, sub] : before)
        EXPECT_TRUE(sub == 1 ? between.at(flow) != 1 : between.at(flow) == sub) << flow;
    for (std::size_t i = 0; i < 3; i++)
        forget(line(i));
    q().put_in(1);
    p = packets(200);
    ASSERT_EQ(send(p), 200);
    EXPECT_EQ(places(), before);
}

TEST_F(Balance, ASubDeviceWithoutALinkGetsNothing) {
    make(2);
    q().selection().lose_link(SubIndex{0});
    auto p = packets(64);
    ASSERT_EQ(send(p), 64);
    EXPECT_EQ(line(1).taken.size(), 64U);
    q().selection().gain_link(SubIndex{0}, false);
    p = packets(64);
    ASSERT_EQ(send(p), 64);
    EXPECT_FALSE(line(0).taken.empty());
}

TEST_F(Balance, AClosedGateLeavesItsPacketsToTheCaller) {
    make(2);
    q().close_gate(1); // and nobody has told the selection
    auto p = packets(40);
    const std::uint16_t sent = send(p);
    EXPECT_EQ(sent, line(0).taken.size());
    EXPECT_TRUE(line(1).bursts.empty());
    EXPECT_GT(sent, 0);
    EXPECT_EQ(refused(tx()), 0U);
    std::vector<rte_mbuf *> rest(p.begin() + sent, p.end());
    EXPECT_EQ(send(rest), 0);
    EXPECT_EQ(refused(tx()), 1U);
    tx().no_active = NoActive::kDrop;
    EXPECT_EQ(send(rest), 0) << "somebody is only passing through the gate";
    free(rest);
}

/// A driver in whose burst another sub-device is lost, as an event of another thread would do it.
BareQueues *g_queues = nullptr;
std::uint16_t loses_the_other(void *queue, rte_mbuf **packets, std::uint16_t n) {
    g_queues->shut(1);
    return KeepingLine::tx(queue, packets, n);
}

TEST_F(Balance, OneThatIsLostDuringTheBurstHasItsPacketsSentByTheOthers) {
    make(2);
    g_queues = &q();
    BareQueues::ops(0).tx_pkt_burst = &loses_the_other;
    auto p = packets(64);
    EXPECT_EQ(send(p), 64);
    EXPECT_EQ(line(0).taken.size(), 64U);
    EXPECT_TRUE(line(1).bursts.empty());
}

TEST_F(Balance, WithoutCarriersItHoldsOrDrops) {
    make(1);
    q().selection().lose_link(SubIndex{0});
    auto p = packets(10);
    EXPECT_EQ(send(p), 0);
    EXPECT_EQ(refused(tx()), 1U);
    EXPECT_EQ(pool().in_use(), 10U);
    tx().no_active = NoActive::kDrop;
    EXPECT_EQ(send(p), 10);
    EXPECT_EQ(pool().in_use(), 0U);
    EXPECT_EQ(dropped(tx()), 10U);
    EXPECT_EQ(refused(tx()), 1U);
}

// F167
TEST_F(Balance, HowAPacketIsCutIntoSegmentsDoesNotMatter) {
    make(4);
    for (const auto &spec : {test::FrameSpec{.protocol = 6},
                             {.tags = {0x8100}, .options = 8},
                             {.version = 6, .extensions = {0, 60}, .payload = 400}}) {
        const std::vector<std::uint8_t> bytes = Frame(spec).bytes();
        std::vector<rte_mbuf *> p{pool().make(bytes)};
        for (std::size_t at = 0; at <= bytes.size(); at++)
            p.push_back(pool().make(bytes, {at}));
        p.push_back(pool().make(bytes, {5, 5, 13, 15, 30, 37}));
        for (rte_mbuf *&m : p) {
            ASSERT_EQ(tx_burst_balance<XmitPolicy::kL34>(&tx(), &m, 1), 1);
        }
        const auto busy = std::count_if(&line(0), &line(0) + 4, [](const KeepingLine &l) { return !l.taken.empty(); });
        EXPECT_EQ(busy, 1) << "one flow on several sub-devices";
        for (std::size_t i = 0; i < 4; i++)
            forget(line(i));
    }
}

// Bursts of all kinds against what the functions' text says.
TEST_F(Balance, AgreesWithAModel) {
    std::minstd_rand random(7);
    make(4);
    for (int round = 0; round < 3000; round++) {
        const auto subs = static_cast<std::uint16_t>(random() % 16);
        for (std::uint8_t i = 0; i < 4; i++) {
            if ((subs >> i & 1U) != 0)
                q().put_in(i);
            else
                q().shut(i);
            line(i).room = random() % 3 == 0 ? random() % 40 : SIZE_MAX;
        }
        std::array<std::size_t, 4> room{};
        std::transform(&line(0), &line(0) + 4, room.begin(), [](const KeepingLine &l) { return l.room; });
        auto p = packets(random() % 150, 1 + static_cast<unsigned>(random() % 30));
        const std::vector<rte_mbuf *> before = p;
        // The model: 64 at a time, each to its sub-device if that has room; it ends with the part that was not all
        // taken.
        std::array<std::vector<rte_mbuf *>, 4> taken;
        std::vector<rte_mbuf *> tail;
        Shares shares{};
        if (subs != 0)
            share_out(subs, shares);
        std::size_t at = 0;
        for (bool all = subs != 0; all && at < p.size();) {
            const std::size_t end = std::min(at + 64, p.size());
            for (; at < end; at++) {
                const auto *data = rte_pktmbuf_mtod(before[at], const std::uint8_t *);
                const std::uint8_t sub = shares[share_of(flow_hash(data, before[at]->data_len, XmitPolicy::kL2))];
                if (taken.at(sub).size() < room.at(sub))
                    taken.at(sub).push_back(before[at]);
                else
                    tail.push_back(before[at]);
            }
            all = tail.empty();
        }
        tail.insert(tail.end(), before.begin() + static_cast<std::ptrdiff_t>(at), before.end());
        const std::uint16_t sent = send(p);
        ASSERT_EQ(sent, before.size() - tail.size()) << round;
        ASSERT_TRUE(std::equal(tail.begin(), tail.end(), p.begin() + sent, p.end())) << round;
        for (std::uint8_t i = 0; i < 4; i++) {
            ASSERT_EQ(line(i).taken, taken.at(i)) << round;
            forget(line(i));
        }
        free(p, sent);
        ASSERT_EQ(pool().in_use(), 0U) << round;
    }
}

} // namespace
} // namespace holdfast::datapath
