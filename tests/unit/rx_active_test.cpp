// SPDX-License-Identifier: BSD-3-Clause
// rx=active, and what a policy's functions are.
#include "base/ids.h"
#include "base/policy.h"
#include "datapath/choice.h"
#include "datapath/datapath.h"
#include "support/bare_queues.h"
#include "support/fake_pool.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace holdfast::datapath {
namespace {

using test::BareQueues;

/// A sub-device's Rx ring; gives at most `most` a call.
struct Ring {
    std::deque<rte_mbuf *> waiting;
    std::uint16_t most = UINT16_MAX;
    unsigned calls = 0;

    static std::uint16_t rx(void *queue, rte_mbuf **packets, std::uint16_t n) {
        Ring &ring = *static_cast<Ring *>(queue);
        ring.calls++;
        const auto got = static_cast<std::uint16_t>(std::min<std::size_t>({n, ring.most, ring.waiting.size()}));
        std::copy_n(ring.waiting.begin(), got, packets);
        ring.waiting.erase(ring.waiting.begin(), ring.waiting.begin() + got);
        return got;
    }
};

class RxActive : public testing::Test {
  protected:
    void make(std::uint8_t subs) {
        queues_ = std::make_unique<BareQueues>(subs);
        for (std::uint8_t i = 0; i < BareQueues::kMost; i++) {
            BareQueues::ops(i).rx_pkt_burst = &Ring::rx;
            q().rx_data(i) = &rings_.at(i);
        }
    }
    void TearDown() override {
        for (Ring &r : rings_)
            for (rte_mbuf *m : r.waiting)
                rte_pktmbuf_free(m);
        EXPECT_TRUE(
            std::none_of(q().rx().subs.begin(), q().rx().subs.end(), [](const auto &s) { return s.guard.busy(); }));
    }
    BareQueues &q() { return *queues_; }
    Ring &ring(std::size_t i) { return rings_.at(i); }
    void arrive(std::size_t i, std::size_t n) {
        for (; n != 0; n--) {
            rte_mbuf *m = pool_.make({});
            m->hash.usr = static_cast<std::uint32_t>(i);
            m->port = 77;
            ring(i).waiting.push_back(m);
        }
    }
    /// One call: how many came; all of them have to be of `from`.
    std::uint16_t rx(std::size_t from, std::uint16_t n = 32) {
        std::array<rte_mbuf *, 64> p{};
        const std::uint16_t got = rx_burst_active(&q().rx(), p.data(), n);
        for (std::uint16_t i = 0; i < got; i++) {
            EXPECT_EQ(p.at(i)->hash.usr, from);
            EXPECT_EQ(p.at(i)->port, BareQueues::kPort);
        }
        rte_pktmbuf_free_bulk(p.data(), got);
        return got;
    }
    std::uint64_t stale() { return q().rx().stale.load(std::memory_order_relaxed); }
    std::size_t in_use() const { return pool_.in_use(); }

  private:
    test::FakePool pool_;
    std::unique_ptr<BareQueues> queues_;
    std::array<Ring, BareQueues::kMost> rings_;
};

TEST_F(RxActive, PacketsComeFromTheActiveOneAndTheOthersAreEmptiedAndCounted) {
    make(3);
    arrive(0, 40);
    arrive(1, 10);
    arrive(2, 50);
    EXPECT_EQ(rx(0), 32);
    EXPECT_EQ(rx(0), 8);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(rx(0), 0);
    EXPECT_EQ(stale(), 60U);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(RxActive, TheActiveOneIsAskedFirstInEachCallAndOneOtherAfterIt) {
    make(4);
    q().make_active(2);
    for (unsigned call = 1; call <= 9; call++) {
        EXPECT_EQ(rx(2), 0);
        EXPECT_EQ(ring(2).calls, call);
        EXPECT_EQ(ring(0).calls + ring(1).calls + ring(3).calls, call);
    }
    for (const std::size_t i : {0U, 1U, 3U})
        EXPECT_GE(ring(i).calls, 2U) << i;
}

TEST_F(RxActive, AloneItIsAskedOnceACall) {
    make(1);
    arrive(0, 5);
    EXPECT_EQ(rx(0), 5);
    EXPECT_EQ(rx(0), 0);
    EXPECT_EQ(ring(0).calls, 2U);
}

TEST_F(RxActive, WhatWaitsAtASwitchIsNotDelivered) {
    make(2);
    arrive(0, 3);
    EXPECT_EQ(rx(0), 3);
    arrive(1, 100);
    q().shut(0);
    for (int i = 0; i < 4; i++) // 32 + 32 + 32 + 4
        EXPECT_EQ(rx(1), 0);
    EXPECT_EQ(stale(), 100U);
    arrive(1, 9);
    EXPECT_EQ(rx(1), 9);
    EXPECT_EQ(in_use(), 0U);
}

TEST_F(RxActive, NorAtTheSwitchBack) {
    make(2);
    EXPECT_EQ(rx(0), 0);
    q().make_active(1);
    EXPECT_EQ(rx(1), 0);
    arrive(1, 2);
    EXPECT_EQ(rx(1), 2);
    arrive(0, 5);
    q().make_active(0);
    EXPECT_EQ(rx(0), 0);
    EXPECT_EQ(stale(), 5U);
    arrive(0, 1);
    EXPECT_EQ(rx(0), 1);
}

TEST_F(RxActive, WhatTheFirstOneReceivedBeforeTheFirstCallIsDelivered) {
    make(2);
    arrive(0, 20);
    EXPECT_EQ(rx(0), 20);
    EXPECT_EQ(stale(), 0U);
}

TEST_F(RxActive, ADriverThatGivesLessThanItHasIsNotTakenForEmpty) {
    make(2);
    EXPECT_EQ(rx(0), 0);
    ring(1).most = 32; // of 64 that are asked for; or multiples of 4
    arrive(1, 96);
    q().shut(0);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(rx(1, 64), 0);
    EXPECT_EQ(stale(), 96U);
    EXPECT_EQ(rx(1, 64), 0);
    arrive(1, 7);
    EXPECT_EQ(rx(1, 64), 7);
}

TEST_F(RxActive, AClosedGateAtTheSwitchDoesNotLetOldPacketsThrough) {
    make(2);
    EXPECT_EQ(rx(0), 0);
    arrive(1, 10);
    q().shut(0);
    q().close_gate(1); // claimed for a moment, for an announcement
    EXPECT_EQ(rx(1), 0);
    EXPECT_EQ(rx(1, 0), 0);
    q().open_gate(1);
    EXPECT_EQ(rx(1), 0);
    EXPECT_EQ(stale(), 10U);
    arrive(1, 4);
    EXPECT_EQ(rx(1), 4);
}

TEST_F(RxActive, OneThatReceivesAllTheTimeIsHeardAfterAsMuchAsARingMayHold) {
    make(2);
    EXPECT_EQ(rx(0), 0);
    q().shut(0);
    unsigned calls = 0;
    do
        arrive(1, 32);
    while (rx(1) == 0 && ++calls < 1000);
    EXPECT_EQ(calls, 4096U / 32);
}

TEST_F(RxActive, WithoutAnActiveOneNothingIsDelivered) {
    make(2);
    q().selection().lose_link(SubIndex{0});
    q().selection().lose_link(SubIndex{1});
    arrive(0, 3);
    arrive(1, 3);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(rx(9), 0);
    EXPECT_EQ(stale(), 6U);
}

TEST_F(RxActive, WithoutSubDevicesNothingComes) {
    make(0);
    EXPECT_EQ(rx(9), 0);
}

TEST(Choice, EachPolicyHasItsFunctions) {
    const Choice usual = choose({});
    EXPECT_EQ(usual.rx_burst, static_cast<eth_rx_burst_t>(&rx_burst));
    EXPECT_EQ(usual.tx_burst, static_cast<eth_tx_burst_t>(&tx_burst));
    EXPECT_EQ(usual.tx_prepare, static_cast<eth_tx_prep_t>(&tx_prepare));
    EXPECT_EQ(choose({.no_active = NoActive::kDrop}).tx_burst, usual.tx_burst);
    EXPECT_EQ(choose({.rx = RxPolicy::kActive}).rx_burst, static_cast<eth_rx_burst_t>(&rx_burst_active));
    const auto tx = [](TxPolicy policy, XmitPolicy xmit = XmitPolicy::kL2) {
        return choose({.tx = policy, .xmit = xmit});
    };
    EXPECT_EQ(tx(TxPolicy::kRoundRobin).tx_burst, static_cast<eth_tx_burst_t>(&tx_burst_round_robin));
    EXPECT_EQ(tx(TxPolicy::kBroadcast).tx_burst, static_cast<eth_tx_burst_t>(&tx_burst_broadcast));
    EXPECT_EQ(tx(TxPolicy::kBalance).tx_burst, static_cast<eth_tx_burst_t>(&tx_burst_balance<XmitPolicy::kL2>));
    EXPECT_EQ(tx(TxPolicy::kBalance, XmitPolicy::kL23).tx_burst,
              static_cast<eth_tx_burst_t>(&tx_burst_balance<XmitPolicy::kL23>));
    EXPECT_EQ(tx(TxPolicy::kBalance, XmitPolicy::kL34).tx_burst,
              static_cast<eth_tx_burst_t>(&tx_burst_balance<XmitPolicy::kL34>));
    for (const TxPolicy policy : {TxPolicy::kBalance, TxPolicy::kRoundRobin, TxPolicy::kBroadcast})
        EXPECT_EQ(tx(policy).tx_prepare, static_cast<eth_tx_prep_t>(&tx_prepare_all));
}

} // namespace
} // namespace holdfast::datapath
