// SPDX-License-Identifier: BSD-3-Clause
// Probe to close, unplug and plug, and the faults that can be ordered.
#include "abi/stats.h"
#include "mayfly_rig.h"

namespace holdfast::mayfly::rig {
namespace {

using MayflyLife = MayflyTest;

std::uint64_t next_stamp(const rte_mbuf *m, rte_pmd_mayfly_stamp &stamp) {
    EXPECT_EQ(rte_pmd_mayfly_read_stamp(rte_pktmbuf_mtod(m, const unsigned char *), m->data_len, &stamp), 1);
    return stamp.sequence;
}

TEST_F(MayflyLife, GeneratesNumberedPacketsThatGoOnInTheNextLife) {
    const std::string name = fresh_name();
    std::uint64_t expected = 0;
    for (std::uint32_t life = 1; life <= 3; life++) {
        const std::uint16_t id = bring_up(name, "mode=generate,size=128");
        for (int burst = 0; burst < 4; burst++) {
            rte_mbuf *got[kBurst];
            ASSERT_EQ(rte_eth_rx_burst(id, 0, got, kBurst), kBurst);
            for (rte_mbuf *m : got) {
                rte_pmd_mayfly_stamp stamp;
                EXPECT_EQ(next_stamp(m, stamp), expected++);
                EXPECT_EQ(stamp.life, life);
                EXPECT_EQ(stamp.device, static_cast<std::uint32_t>(rte_pmd_mayfly_id(name.c_str())));
                EXPECT_EQ(m->pkt_len, 128u);
                EXPECT_EQ(m->port, id);
                rte_pktmbuf_free(m);
            }
        }
        abi::PortStats stats;
        ASSERT_EQ(abi::read_stats(PortId{id}, stats), 0);
        EXPECT_EQ(stats.ipackets, 4u * kBurst) << "a new life counts from zero";
        EXPECT_EQ(stats.q_ibytes[0], 4u * kBurst * 128u);
        detach(name);
    }
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_LIVES), 3);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_CLOSES), 3);
}

TEST_F(MayflyLife, KeepsItsRate) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate,rate=1000", 2);
    const auto start = std::chrono::steady_clock::now();
    unsigned got = 0;
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300))
        got += receive(id, 0) + receive(id, 1);
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // A machine that lets us wait loses packets of the rate, but never gives more of them.
    EXPECT_LE(got, 1000 * took + 4);
    EXPECT_GT(got, 0u);
}

TEST_F(MayflyLife, SurpriseUnplugRaisesOneEventAndLeavesADeadPort) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate");
    const Events removed(id, RTE_ETH_EVENT_INTR_RMV);
    EXPECT_EQ(receive(id, 0), kBurst);

    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), 0), 0);
    ASSERT_TRUE(eventually([&] { return removed.seen() == 1; }));
    ASSERT_EQ(rte_pmd_mayfly_wait(name.c_str(), 20000), 0);
    EXPECT_NE(removed.thread(), std::this_thread::get_id()) << "an event comes from mayfly's own thread";
    EXPECT_EQ(rte_pmd_mayfly_presence(name.c_str()), RTE_PMD_MAYFLY_UNPLUGGED);

    EXPECT_EQ(receive(id, 0), 0u);
    EXPECT_EQ(send(id, 0, kBurst), kBurst) << "a dead NIC takes packets and loses them";
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_TX_DEAD), kBurst);
    EXPECT_EQ(rte_eth_dev_is_removed(id), 1);
    EXPECT_EQ(rte_eth_dev_set_mtu(id, 1400), -EIO);
    EXPECT_EQ(rte_eth_promiscuous_enable(id), -EIO);
    rte_eth_stats stats;
    EXPECT_EQ(rte_eth_stats_get(id, &stats), -EIO);
    EXPECT_EQ(rte_eth_rx_queue_count(id, 0), -EIO);

    EXPECT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), -EALREADY);
    EXPECT_EQ(rte_eth_dev_stop(id), 0);
    EXPECT_EQ(rte_eth_dev_close(id), 0);
    EXPECT_EQ(removed.seen(), 1);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_RMV_EVENTS), 1);
}

TEST_F(MayflyLife, ComesBackOnlyAfterPlug) {
    const std::string name = fresh_name();
    bring_up(name, "mode=generate");
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    detach(name);
    EXPECT_EQ(rte_vdev_init(name.c_str(), "mode=generate"), -ENODEV);
    ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    EXPECT_EQ(rte_pmd_mayfly_plug(name.c_str()), -EALREADY);
    const std::uint16_t id = bring_up(name, "mode=generate");
    EXPECT_EQ(receive(id, 0), kBurst);
}

TEST_F(MayflyLife, CanBeUnpluggedBeforeItWasEverProbed) {
    const std::string name = fresh_name();
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(probe(name), -ENODEV);
    ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    EXPECT_EQ(probe(name), 0);
}

TEST_F(MayflyLife, PlugUnderADeadPortDoesNotReviveIt) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate");
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_is_removed(id), 1);
    EXPECT_EQ(receive(id, 0), 0u);
}

TEST_F(MayflyLife, PlannedUnplugWorksOnUntilClosed) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate");
    const Events removed(id, RTE_ETH_EVENT_INTR_RMV);
    ASSERT_EQ(rte_pmd_mayfly_unplug_planned(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(removed.seen(), 1);
    EXPECT_EQ(removed.thread(), std::this_thread::get_id());
    EXPECT_EQ(receive(id, 0), kBurst);
    EXPECT_EQ(rte_eth_dev_is_removed(id), 0);
    detach(name);
    EXPECT_EQ(rte_pmd_mayfly_presence(name.c_str()), RTE_PMD_MAYFLY_UNPLUGGED);
    EXPECT_EQ(rte_vdev_init(name.c_str(), ""), -ENODEV);
}

TEST_F(MayflyLife, PlannedUnplugCanBeTakenBack) {
    const std::string name = fresh_name();
    bring_up(name, "mode=generate");
    ASSERT_EQ(rte_pmd_mayfly_unplug_planned(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    detach(name);
    EXPECT_EQ(probe(name), 0);
}

TEST_F(MayflyLife, RaisesNoRemovalToWhoDidNotAskForIt) {
    const std::string without = fresh_name();
    ASSERT_EQ(probe(without, "rmv=0"), 0);
    ASSERT_EQ(rte_pmd_mayfly_unplug(without.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(count(without, RTE_PMD_MAYFLY_RMV_EVENTS), 0);

    const std::string unasked = fresh_name();
    ASSERT_EQ(probe(unasked), 0);
    const rte_eth_conf conf = {};
    ASSERT_EQ(rte_eth_dev_configure(port(unasked), 1, 1, &conf), 0);
    ASSERT_EQ(rte_pmd_mayfly_unplug(unasked.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(count(unasked, RTE_PMD_MAYFLY_RMV_EVENTS), 0);
}

TEST_F(MayflyLife, DeadTxRefusesWhenToldTo) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "dead_tx=refuse");
    EXPECT_EQ(send(id, 0, kBurst), kBurst);
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(send(id, 0, kBurst), 0u);
}

TEST_F(MayflyLife, CanBeRemovedWhileStarted) {
    const std::string name = fresh_name();
    bring_up(name, "mode=generate");
    EXPECT_EQ(rte_vdev_uninit(name.c_str()), 0);
    EXPECT_EQ(rte_pmd_mayfly_port(name.c_str()), -ENODEV);
    EXPECT_EQ(calls(name, "dev_stop"), 1);
    EXPECT_EQ(calls(name, "dev_close"), 1);
    EXPECT_EQ(calls(name, "remove"), 1);
    EXPECT_EQ(probe(name), 0);
}

TEST_F(MayflyLife, ACallbackMayCloseThePortThatItHearsOf) {
    const std::string name = fresh_name();
    bring_up(name, "mode=generate");
    const rte_eth_dev_cb_fn callback = [](std::uint16_t port, rte_eth_event_type, void *, void *) {
        EXPECT_EQ(rte_eth_dev_stop(port), 0);
        EXPECT_EQ(rte_eth_dev_close(port), 0);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, callback, nullptr), 0);
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), 0), 0);
    ASSERT_EQ(rte_pmd_mayfly_wait(name.c_str(), 20000), 0);
    EXPECT_EQ(rte_pmd_mayfly_port(name.c_str()), -ENODEV);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_TRESPASSES), 0);
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, callback, nullptr), 0);
}

TEST_F(MayflyLife, CloseWaitsForACallbackOfAnotherThread) {
    const std::string name = fresh_name();
    bring_up(name, "mode=generate");
    static std::atomic<int> stage;
    stage.store(0);
    const rte_eth_dev_cb_fn slow = [](std::uint16_t, rte_eth_event_type, void *, void *) {
        stage.store(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stage.store(2);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, slow, nullptr), 0);
    ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), 0), 0);
    ASSERT_TRUE(eventually([] { return stage.load() >= 1; }));
    detach(name);
    EXPECT_EQ(stage.load(), 2) << "the port went away under its own event";
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, slow, nullptr), 0);
}

TEST_F(MayflyLife, ScriptGoesOnOverReprobesAndIsNotStartedAgain) {
    const std::string name = fresh_name();
    const std::string args = "mode=generate,script=unplug@50ms;plug@200ms";
    ASSERT_EQ(probe(name, args), 0);
    ASSERT_TRUE(eventually([&] { return count(name, RTE_PMD_MAYFLY_UNPLUGS) == 1; }));
    detach(name);
    ASSERT_TRUE(eventually([&] { return rte_pmd_mayfly_presence(name.c_str()) == RTE_PMD_MAYFLY_PLUGGED; }));
    bring_up(name, args);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_EQ(rte_pmd_mayfly_presence(name.c_str()), RTE_PMD_MAYFLY_PLUGGED);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_UNPLUGS), 1);
}

TEST_F(MayflyLife, ScriptFromTheApiSaysWhatItCannotRead) {
    const std::string name = fresh_name();
    char error[200] = "";
    EXPECT_EQ(rte_pmd_mayfly_script(name.c_str(), "unplug@1s;boo@2s", error, sizeof(error)), -EINVAL);
    EXPECT_THAT(error, testing::HasSubstr("'boo' (at position 10"));
}

TEST_F(MayflyLife, RefusesForeignNamesAndUnknownOperations) {
    EXPECT_EQ(rte_pmd_mayfly_unplug("net_null0", RTE_PMD_MAYFLY_SYNC), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_unplug(nullptr, RTE_PMD_MAYFLY_SYNC), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_unplug(fresh_name().c_str(), 6), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly1", "mtu_zet"), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_fail("net_mayfly1", "rx_queue_release", 1, EIO), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_delay("net_mayfly1", "rx_burst", 2'000'000), -EINVAL);
    EXPECT_EQ(rte_pmd_mayfly_raise(fresh_name().c_str(), RTE_ETH_EVENT_INTR_LSC, RTE_PMD_MAYFLY_SYNC), -ENODEV);
    EXPECT_EQ(rte_vdev_init(fresh_name().c_str(), "mode=what"), -EINVAL);
}

} // namespace
} // namespace holdfast::mayfly::rig
