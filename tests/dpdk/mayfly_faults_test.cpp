// SPDX-License-Identifier: BSD-3-Clause
// What a mayfly is ordered to do wrong, and when.
#include "mayfly_rig.h"

namespace holdfast::mayfly::rig {
namespace {

using MayflyFaults = StartedMayfly;

TEST_F(MayflyFaults, FailuresCanLastUntilCleared) {
    ASSERT_EQ(fail("mtu_set", -1, -EBUSY), 0) << "an errno may be given with either sign";
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), -EBUSY);
    ASSERT_EQ(rte_pmd_mayfly_clear(name_.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), 0);
}

TEST_F(MayflyFaults, AnErrorOfALiveDeviceIsNotARemoval) {
    ASSERT_EQ(fail("mtu_set", 1, EIO), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), -EIO);
    EXPECT_EQ(rte_eth_dev_is_removed(id_), 0);
    EXPECT_EQ(told().mtu, 1500);
}

TEST_F(MayflyFaults, AFailingCloseReportsAndClosesAllTheSame) {
    ASSERT_EQ(fail("dev_close", 1, EBUSY), 0);
    ASSERT_EQ(rte_eth_dev_stop(id_), 0);
    EXPECT_EQ(rte_eth_dev_close(id_), -EBUSY);
    EXPECT_EQ(rte_pmd_mayfly_port(name_.c_str()), -ENODEV);
}

TEST_F(MayflyFaults, AFailingStopLeavesThePortStarted) {
    ASSERT_EQ(fail("dev_stop", 1, EBUSY), 0);
    EXPECT_EQ(rte_eth_dev_stop(id_), -EBUSY);
    EXPECT_EQ(told().started, 1);
    EXPECT_EQ(rte_eth_dev_stop(id_), 0);
    EXPECT_EQ(told().started, 0);
}

TEST_F(MayflyFaults, AProbeCanFail) {
    const std::string name = fresh_name();
    ASSERT_EQ(rte_pmd_mayfly_fail(name.c_str(), "probe", 2, ENOMEM), 0);
    EXPECT_EQ(probe(name), -ENOMEM);
    EXPECT_EQ(probe(name), -ENOMEM);
    EXPECT_EQ(probe(name), 0);
    EXPECT_EQ(calls(name, "probe"), 3);
}

TEST_F(MayflyFaults, ADelayTakesItsTime) {
    ASSERT_EQ(rte_pmd_mayfly_delay(name_.c_str(), "mtu_set", 30'000), 0);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
}

TEST_F(MayflyFaults, AnEventIsRaisedFromInsideTheNextCall) {
    const Events reset(id_, RTE_ETH_EVENT_INTR_RESET);
    ASSERT_EQ(rte_pmd_mayfly_raise_in(name_.c_str(), "mtu_set", RTE_ETH_EVENT_INTR_RESET), 0);
    EXPECT_EQ(reset.seen(), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), 0);
    EXPECT_EQ(reset.seen(), 1);
    EXPECT_EQ(reset.thread(), std::this_thread::get_id());
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1300), 0);
    EXPECT_EQ(reset.seen(), 1);
    ASSERT_EQ(rte_pmd_mayfly_raise(name_.c_str(), RTE_ETH_EVENT_INTR_RESET, 0), 0);
    ASSERT_EQ(rte_pmd_mayfly_wait(name_.c_str(), 20000), 0);
    EXPECT_EQ(reset.seen(), 2);
}

TEST_F(MayflyFaults, TheDeviceCanBePulledFromInsideACall) {
    const Events removed(id_, RTE_ETH_EVENT_INTR_RMV);
    ASSERT_EQ(rte_pmd_mayfly_unplug_in(name_.c_str(), "mtu_set"), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), -EIO);
    EXPECT_EQ(removed.seen(), 1);
    EXPECT_EQ(rte_eth_dev_is_removed(id_), 1);
}

TEST_F(MayflyFaults, FailingBurstsMoveNothing) {
    EXPECT_EQ(send(id_, 0, 4), 4u);
    ASSERT_EQ(fail("rx_burst", 2, EIO), 0);
    EXPECT_EQ(receive(id_, 0), 0u);
    EXPECT_EQ(receive(id_, 0), 0u);
    EXPECT_EQ(receive(id_, 0), 4u);
    ASSERT_EQ(fail("tx_burst", 1, EIO), 0);
    EXPECT_EQ(send(id_, 0, 4), 0u);
    ASSERT_EQ(fail("tx_prepare", 1, EINVAL), 0);
    rte_mbuf *m = packets(1)[0];
    EXPECT_EQ(rte_eth_tx_prepare(id_, 0, &m, 1), 0);
    EXPECT_EQ(rte_errno, EINVAL);
    EXPECT_EQ(rte_eth_tx_prepare(id_, 0, &m, 1), 1);
    rte_pktmbuf_free(m);
}

} // namespace
} // namespace holdfast::mayfly::rig
