// SPDX-License-Identifier: BSD-3-Clause
// The burst functions over sub-devices that are written into ethdev's table by hand.
#include "base/policy.h"
#include "datapath/datapath.h"
#include "support/bare_queues.h"
#include "support/fake_pool.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace holdfast::datapath {
namespace {

using test::BareLine;
using test::BareQueues;

constexpr std::uint16_t kBurst = 32;

class Burst : public testing::Test {
  protected:
    void make(std::uint8_t subs) { queues_ = std::make_unique<BareQueues>(subs); }
    BareQueues &q() { return *queues_; }
    std::uint16_t rx(std::uint16_t n = kBurst) { return rx_burst(&q().rx(), packets_.data(), n); }
    std::uint16_t tx(std::uint16_t n = kBurst) { return tx_burst(&q().tx(), packets_.data(), n); }
    [[nodiscard]] bool nobody_inside() {
        bool inside = false;
        for (std::uint8_t i = 0; i < BareQueues::kMost; i++)
            inside = inside || q().rx().subs.at(i).guard.busy() || q().tx().subs.at(i).guard.busy();
        return !inside;
    }

    std::array<rte_mbuf *, kBurst> packets_{};

  private:
    std::unique_ptr<BareQueues> queues_;
};

TEST_F(Burst, EveryPacketGetsTheVirtualPortsIdWhateverTheirNumber) {
    make(1);
    for (std::uint16_t n = 0; n <= kBurst; n++) {
        for (rte_mbuf *m : q().rx_line(0).packets)
            m->port = 77;
        q().rx_line(0).waiting = n;
        ASSERT_EQ(rx(), n);
        for (std::uint16_t i = 0; i < kBurst; i++)
            ASSERT_EQ(q().rx_line(0).packets[i]->port, i < n ? BareQueues::kPort : 77) << i << " of " << n;
    }
}

TEST_F(Burst, AnEmptyCallAsksEachSubDeviceOnce) {
    for (std::uint8_t n = 1; n <= 4; n++) {
        make(n);
        for (unsigned call = 1; call <= 5; call++) {
            EXPECT_EQ(rx(), 0);
            for (std::uint8_t i = 0; i < BareQueues::kMost; i++)
                EXPECT_EQ(q().rx_line(i).calls, i < n ? call : 0) << unsigned{i} << " of " << unsigned{n};
        }
        EXPECT_TRUE(nobody_inside());
    }
}

TEST_F(Burst, TheyTakeTurnsWithTheFullArray) {
    make(3);
    for (std::uint8_t i = 0; i < 3; i++)
        q().rx_line(i).waiting = kBurst;
    for (unsigned call = 0; call < 9; call++)
        ASSERT_EQ(rx(), kBurst);
    for (std::uint8_t i = 0; i < 3; i++)
        EXPECT_EQ(q().rx_line(i).calls, 3U) << unsigned{i};
}

TEST_F(Burst, AnIdleSubDeviceDoesNotKeepABusyOneFromItsTurn) {
    make(4);
    q().rx_line(2).waiting = 5;
    for (unsigned call = 1; call <= 4; call++) {
        ASSERT_EQ(rx(), 5);
        EXPECT_EQ(q().rx_line(2).calls, call);
    }
}

TEST_F(Burst, AClosedGateIsPassedByAndTheOthersAreAskedOnce) {
    make(3);
    for (std::uint8_t shut = 0; shut < 3; shut++) {
        make(3);
        q().shut(shut);
        for (unsigned call = 1; call <= 4; call++) {
            EXPECT_EQ(rx(), 0);
            for (std::uint8_t i = 0; i < 3; i++)
                EXPECT_EQ(q().rx_line(i).calls, i == shut ? 0U : call) << unsigned{i} << ", shut " << unsigned{shut};
        }
        EXPECT_TRUE(nobody_inside());
    }
}

TEST_F(Burst, AllLeftAndAnotherCameIsFoundInTheSameCall) {
    make(3);
    for (int i = 0; i < 2; i++) // the cursor stands on each in turn
        (void)rx();
    for (std::uint8_t i = 0; i < 3; i++)
        q().take_out(i);
    EXPECT_EQ(rx(), 0);
    q().put_in(3);
    q().rx_line(3).waiting = 7;
    EXPECT_EQ(rx(), 7);
    EXPECT_EQ(rx(), 7);
    for (std::uint8_t i = 0; i < 3; i++)
        EXPECT_LE(q().rx_line(i).calls, 2U) << "one that has left was asked";
}

TEST_F(Burst, FromACursorOutsideOfTheRingEachSubDeviceIsAskedOnce) {
    for (std::uint8_t gone = 0; gone < 4; gone++) {
        make(4);
        for (std::uint8_t i = 0; i < 4; i++)
            q().rx_line(i).waiting = 1;
        while (q().rx().cursor != &q().rx().subs.at(gone))
            ASSERT_EQ(rx(), 1);
        q().take_out(gone);
        for (std::uint8_t i = 0; i < 4; i++) {
            q().rx_line(i).waiting = 0;
            q().rx_line(i).calls = 0;
        }
        EXPECT_EQ(rx(), 0);
        for (std::uint8_t i = 0; i < 4; i++)
            EXPECT_EQ(q().rx_line(i).calls, i == gone ? 0U : 1U) << unsigned{i} << ", gone " << unsigned{gone};
    }
}

TEST_F(Burst, WithoutAnActiveSubDevicePacketsAreFreedIfThePolicySaysSo) {
    test::FakePool pool;
    make(1);
    q().tx().no_active = NoActive::kDrop;
    const auto fill = [&] { std::generate_n(packets_.begin(), 5, [&] { return pool.make({}); }); };
    fill();
    EXPECT_EQ(tx(5), 5) << "there is one";
    rte_pktmbuf_free_bulk(packets_.data(), 5); // it only said that it took them
    q().close_gate(0);
    fill();
    EXPECT_EQ(tx(5), 0) << "somebody is only passing through its gate";
    EXPECT_EQ(pool.in_use(), 5U);
    q().shut(0);
    EXPECT_EQ(tx(5), 5);
    EXPECT_EQ(pool.in_use(), 0U);
    EXPECT_EQ(q().tx().dropped.load(std::memory_order_relaxed), 5U);
    EXPECT_EQ(q().tx().refused.load(std::memory_order_relaxed), 1U);
}

TEST_F(Burst, WithoutSubDevicesNothingComesAndNothingIsTaken) {
    make(0);
    EXPECT_EQ(rx(), 0);
    EXPECT_EQ(tx(), 0);
    EXPECT_EQ(q().tx().refused.load(std::memory_order_relaxed), 1U);
}

std::uint16_t three(void *queue, rte_mbuf **packets, std::uint16_t) {
    return BareLine::rx(queue, packets, 3);
}
std::uint16_t half(void *queue, rte_mbuf **packets, std::uint16_t n) {
    return BareLine::tx(queue, packets, n / 2);
}

// Some drivers rewrite their functions and queues while they run, and ethdev exchanges the whole entry at stop and
// start.
TEST_F(Burst, WhatADriverExchangesIsSeenByTheNextBurst) {
    make(2);
    q().rx_line(0).waiting = q().rx_line(1).waiting = kBurst;
    for (int i = 0; i < 4; i++) {
        ASSERT_EQ(rx(), kBurst);
        ASSERT_EQ(tx(), kBurst);
    }
    BareLine other = q().rx_line(0);
    BareLine other_tx;
    other.calls = 0;
    q().rx_data(0) = &other;
    q().tx_data(0) = &other_tx;
    const std::uint64_t before = q().rx_line(0).calls;
    const std::uint64_t before_tx = q().tx_line(0).calls;
    for (unsigned i = 1; i <= 3; i++) {
        ASSERT_EQ(rx() + rx(), 2 * kBurst);
        ASSERT_EQ(tx(), kBurst);
        EXPECT_EQ(other.calls, i);
        EXPECT_EQ(other_tx.calls, i);
    }
    EXPECT_EQ(q().rx_line(0).calls, before);
    EXPECT_EQ(q().tx_line(0).calls, before_tx);

    void *array[] = {&q().rx_line(0)};
    BareQueues::ops(0).rxq.data = array;
    BareQueues::ops(0).rx_pkt_burst = &three;
    BareQueues::ops(0).tx_pkt_burst = &half;
    EXPECT_EQ(rx() + rx(), kBurst + 3);
    EXPECT_EQ(tx(), kBurst / 2);
    EXPECT_EQ(q().rx_line(0).calls, before + 1);
}

TEST_F(Burst, TxGoesToTheActiveOneAlsoWhenThatChangesAtEachBurst) {
    make(2);
    for (unsigned i = 1; i <= 6; i++) {
        ASSERT_EQ(tx(), kBurst);
        EXPECT_EQ(q().tx_line(0).calls + q().tx_line(1).calls, i);
        EXPECT_EQ(q().tx_line(i % 2 == 0 ? 1 : 0).calls, (i + 1) / 2);
        if (i % 2 != 0)
            q().shut(0);
        else
            q().put_in(0);
        q().make_active(i % 2 != 0 ? 1 : 0);
    }
    EXPECT_TRUE(nobody_inside());
}

TEST_F(Burst, WhatTheActiveOneDoesNotTakeStaysTheCallers) {
    make(2);
    q().tx_line(0).room = 5;
    EXPECT_EQ(tx(), 5);
    EXPECT_EQ(q().tx_line(1).calls, 0U) << "one burst was split over two sub-devices";
}

} // namespace
} // namespace holdfast::datapath
