// SPDX-License-Identifier: BSD-3-Clause
// Packets that go from one mayfly to another or back to itself, and never get lost on the way of a removal.
#include "abi/stats.h"
#include "mayfly_rig.h"

namespace holdfast::mayfly::rig {
namespace {

using MayflyPair = MayflyTest;

std::string to(const std::string &peer) {
    return "mode=pair,peer=" + peer;
}

TEST_F(MayflyPair, LoopGivesBackWhatItTookQueueByQueue) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=loop", 2);
    EXPECT_EQ(send(id, 1, 20), 20u);
    EXPECT_EQ(rte_eth_rx_queue_count(id, 1), 20);
    EXPECT_EQ(rte_eth_rx_descriptor_status(id, 1, 19), RTE_ETH_RX_DESC_DONE);
    EXPECT_EQ(rte_eth_rx_descriptor_status(id, 1, 20), RTE_ETH_RX_DESC_AVAIL);
    EXPECT_EQ(rte_eth_rx_descriptor_status(id, 1, 256), -EINVAL);
    EXPECT_EQ(rte_eth_tx_descriptor_status(id, 1, 19), RTE_ETH_TX_DESC_FULL);
    EXPECT_EQ(rte_eth_tx_descriptor_status(id, 1, 20), RTE_ETH_TX_DESC_DONE);
    EXPECT_EQ(receive(id, 0), 0u);
    EXPECT_EQ(receive(id, 1), 20u);
    abi::PortStats stats;
    ASSERT_EQ(abi::read_stats(PortId{id}, stats), 0);
    EXPECT_EQ(stats.q_opackets[1], 20u);
    EXPECT_EQ(stats.q_ipackets[1], 20u);
    EXPECT_EQ(stats.q_ipackets[0], 0u);
    EXPECT_EQ(stats.obytes, 20u * 60u);
}

TEST_F(MayflyPair, OnesTxComesOutOfTheOthersRxInOrder) {
    const std::string a = fresh_name();
    const std::string b = fresh_name();
    const std::uint16_t ida = bring_up(a, to(b), 2);
    const std::uint16_t idb = bring_up(b, to(a), 2);
    std::vector<rte_mbuf *> out = packets(kBurst);
    ASSERT_EQ(rte_eth_tx_burst(ida, 1, out.data(), kBurst), kBurst);
    rte_mbuf *in[kBurst];
    EXPECT_EQ(rte_eth_rx_burst(idb, 0, in, kBurst), 0);
    ASSERT_EQ(rte_eth_rx_burst(idb, 1, in, kBurst), kBurst);
    for (std::uint16_t i = 0; i < kBurst; i++) {
        EXPECT_EQ(in[i], out[i]);
        EXPECT_EQ(in[i]->port, idb);
        rte_pktmbuf_free(in[i]);
    }
    EXPECT_EQ(send(idb, 0, 5), 5u);
    EXPECT_EQ(receive(ida, 0), 5u);
}

TEST_F(MayflyPair, AFullRingRefusesAndLeavesTheTailUntouched) {
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name, "mode=loop"), 0);
    const std::uint16_t id = port(name);
    const rte_eth_conf conf = interrupts();
    ASSERT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    set_up_queues(id, 1, 32);
    ASSERT_EQ(rte_eth_dev_start(id), 0);
    EXPECT_EQ(send(id, 0, 20), 20u);
    std::vector<rte_mbuf *> more = packets(20);
    const std::vector<rte_mbuf *> before = more;
    EXPECT_EQ(rte_eth_tx_burst(id, 0, more.data(), 20), 12);
    EXPECT_EQ(more, before);
    for (unsigned i = 12; i < 20; i++) {
        EXPECT_EQ(rte_mbuf_refcnt_read(more[i]), 1);
        rte_pktmbuf_free(more[i]);
    }
    EXPECT_EQ(receive(id, 0, 64), 32u);
}

TEST_F(MayflyPair, DropsAndCountsWhenNobodyIsAtTheOtherEnd) {
    const std::string a = fresh_name();
    const std::string b = fresh_name();
    const std::uint16_t ida = bring_up(a, to(b), 2);
    EXPECT_EQ(send(ida, 0, 10), 10u) << "the peer was never probed";
    EXPECT_EQ(count(a, RTE_PMD_MAYFLY_TX_NO_PEER), 10);

    const std::uint16_t idb = bring_up(b, to(a), 1);
    EXPECT_EQ(send(ida, 1, 10), 10u) << "the peer has no such queue";
    EXPECT_EQ(count(a, RTE_PMD_MAYFLY_TX_NO_PEER), 20);
    EXPECT_EQ(send(ida, 0, 10), 10u);
    EXPECT_EQ(count(a, RTE_PMD_MAYFLY_TX_NO_PEER), 20);

    ASSERT_EQ(rte_pmd_mayfly_unplug(b.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(send(ida, 0, 10), 10u) << "the peer is dead";
    EXPECT_EQ(count(a, RTE_PMD_MAYFLY_TX_NO_PEER), 30);
    EXPECT_EQ(receive(idb, 0), 0u);
    detach(b);
    EXPECT_EQ(count(b, RTE_PMD_MAYFLY_DRAINED), 10) << "what waited for the dead device is freed at its stop";
    EXPECT_EQ(send(ida, 0, 10), 10u) << "the peer is closed";
    EXPECT_EQ(count(a, RTE_PMD_MAYFLY_TX_NO_PEER), 40);
    rte_eth_stats stats;
    ASSERT_EQ(rte_eth_stats_get(ida, &stats), 0);
    EXPECT_EQ(stats.opackets, 10u);
    EXPECT_EQ(stats.oerrors, 40u);
}

TEST_F(MayflyPair, ASenderThatGoesLeavesItsPacketsToThePeer) {
    const std::string a = fresh_name();
    const std::string b = fresh_name();
    const std::uint16_t ida = bring_up(a, to(b));
    const std::uint16_t idb = bring_up(b, to(a));
    EXPECT_EQ(send(ida, 0, 10), 10u);
    ASSERT_EQ(rte_pmd_mayfly_unplug(a.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    detach(a);
    EXPECT_EQ(receive(idb, 0), 10u);
}

TEST_F(MayflyPair, RefusesASecondSenderAndItself) {
    const std::string a = fresh_name();
    const std::string b = fresh_name();
    const std::string c = fresh_name();
    ASSERT_EQ(probe(a, to(b)), 0);
    EXPECT_EQ(rte_vdev_init(c.c_str(), to(b).c_str()), -EBUSY);
    EXPECT_EQ(rte_vdev_init(c.c_str(), to(c).c_str()), -EINVAL);
    detach(a);
    EXPECT_EQ(probe(c, to(b)), 0) << "the place is free again";
}

TEST_F(MayflyPair, LinkDownStopsPacketsAndTellsOnce) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=loop");
    const Events changed(id, RTE_ETH_EVENT_INTR_LSC);
    EXPECT_EQ(send(id, 0, 5), 5u);
    ASSERT_EQ(rte_pmd_mayfly_link(name.c_str(), 0, RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_EQ(rte_pmd_mayfly_link(name.c_str(), 0, RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(changed.seen(), 1);
    rte_eth_link link;
    ASSERT_EQ(rte_eth_link_get_nowait(id, &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
    EXPECT_EQ(receive(id, 0), 0u);
    EXPECT_EQ(send(id, 0, 5), 5u);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_TX_NO_LINK), 5);
    ASSERT_EQ(rte_pmd_mayfly_link(name.c_str(), 1, 0), 0);
    ASSERT_EQ(rte_pmd_mayfly_wait(name.c_str(), 20000), 0);
    EXPECT_EQ(changed.seen(), 2);
    ASSERT_EQ(rte_eth_link_get_nowait(id, &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(receive(id, 0), 5u);
}

TEST_F(MayflyPair, HammerOfSendingWhileThePeerComesAndGoesLosesNoMbuf) {
    const std::string a = fresh_name();
    const std::string b = fresh_name();
    const std::uint16_t ida = bring_up(a, to(b));
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sent{0};
    std::thread sender([&] {
        roam();
        while (!stop.load(std::memory_order_relaxed)) {
            rte_mbuf *burst[kBurst];
            if (rte_pktmbuf_alloc_bulk(pool_, burst, kBurst) != 0)
                continue;
            const std::uint16_t n = rte_eth_tx_burst(ida, 0, burst, kBurst);
            rte_pktmbuf_free_bulk(burst + n, kBurst - n);
            sent.fetch_add(n, std::memory_order_relaxed);
        }
    });
    std::uint64_t received = 0;
    int cycles = 0;
    // At least a second, and until they met: on a busy machine the sender may be away for long.
    const auto start = std::chrono::steady_clock::now();
    const auto went_on = [&](int seconds) {
        return std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds);
    };
    while (!went_on(1) || ((received == 0 || cycles < 3) && !went_on(30))) {
        const std::uint16_t idb = bring_up(b, to(a));
        for (int i = 0; i < 1000; i++)
            received += receive(idb, 0);
        if (cycles % 2 == 0) {
            ASSERT_EQ(rte_pmd_mayfly_unplug(b.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
        }
        detach(b);
        (void)rte_pmd_mayfly_plug(b.c_str());
        cycles++;
    }
    stop.store(true, std::memory_order_relaxed);
    sender.join();
    EXPECT_GT(received, 0u) << "the two never met, so this run says nothing";
    EXPECT_GT(cycles, 2);
    EXPECT_EQ(sent.load(), received + static_cast<std::uint64_t>(count(a, RTE_PMD_MAYFLY_TX_NO_PEER)) +
                               static_cast<std::uint64_t>(count(b, RTE_PMD_MAYFLY_DRAINED)));
    EXPECT_EQ(count(b, RTE_PMD_MAYFLY_TRESPASSES), 0);
    EXPECT_EQ(count(b, RTE_PMD_MAYFLY_LATE_CALLS), 0);
}

} // namespace
} // namespace holdfast::mayfly::rig
