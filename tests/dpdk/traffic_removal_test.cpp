// SPDX-License-Identifier: BSD-3-Clause
// Packets while sub-devices leave and come, and while there is none.
#include "datapath/datapath.h"
#include "traffic_rig.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using TrafficRemoval = Traffic;

// F141
TEST_F(TrafficRemoval, WithoutASubDeviceNothingComesNothingIsTakenAndThatIsCounted) {
    Mayfly m("mode=generate");
    m.unplug();
    Vport port(devargs_of({&m}, "hotplug_poll=60000"));
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(receive(port), 0);
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(send(port, 3), 0);
    }
    EXPECT_EQ(port.describe().refused, 5U);
    std::vector<rte_mbuf *> p = packets(2);
    EXPECT_EQ(rte_eth_tx_prepare(port.id(), 0, p.data(), 2), 2);
    rte_pktmbuf_free_bulk(p.data(), 2);
    EXPECT_EQ(rte_eth_rx_queue_count(port.id(), 0), -ENOTSUP);
    EXPECT_LT(rte_eth_tx_descriptor_status(port.id(), 0, 0), 0);
    EXPECT_LT(rte_eth_rx_descriptor_status(port.id(), 0, 0), 0);
    EXPECT_LT(rte_eth_tx_done_cleanup(port.id(), 0, 0), 0);
}

// F165: the data path reacts in the event, not when the host thread comes.
TEST_F(TrafficRemoval, TheNextBurstAfterARemovalLeavesOnTheStandby) {
    Mayfly a, b, c("lsc=0"); // lsc=0: it is asked for its link
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    ASSERT_EQ(send(port, 1), 1);
    // The host thread cannot do anything meanwhile: it is inside an operation of another sub-device, or waits for it.
    const std::int64_t asked = c.calls("link_update");
    c.delay("link_update", 300ms);
    ASSERT_TRUE(port.switch_to(2).ok());
    ASSERT_TRUE(eventually([&] { return c.calls("link_update") > asked; }));
    c.unplug();
    const std::int64_t dead = c.count(RTE_PMD_MAYFLY_TX_DEAD);
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(c.count(RTE_PMD_MAYFLY_TX_DEAD), dead) << "none was thrown at the dead one";
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 6) << "the first usable one of the devargs";
    a.unplug();
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 5);
    b.unplug();
    EXPECT_EQ(send(port, 5), 0) << "nobody is left";
    EXPECT_EQ(receive(port), 0);
    c.clear();
}

TEST_F(TrafficRemoval, ADeadSubDeviceIsNotPolledAnyMore) {
    Mayfly a, b("mode=generate");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    while (receive(port) == 0)
        ;
    b.unplug();
    const std::int64_t calls = b.calls("rx_burst");
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(receive(port), 0);
    }
    EXPECT_EQ(b.calls("rx_burst"), calls);
}

// F91, F92: what applications call through never changes while the port runs.
TEST_F(TrafficRemoval, TheBurstFunctionsStayTheSameThroughAllRemovals) {
    Mayfly a("mode=loop"), b("mode=loop");
    b.unplug();
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    const struct rte_eth_fp_ops installed = rte_eth_fp_ops[port.id()];
    EXPECT_EQ(installed.rx_pkt_burst, &datapath::rx_burst);
    EXPECT_EQ(installed.tx_pkt_burst, &datapath::tx_burst);
    const auto same = [&] {
        const struct rte_eth_fp_ops &now = rte_eth_fp_ops[port.id()];
        return now.rx_pkt_burst == installed.rx_pkt_burst && now.tx_pkt_burst == installed.tx_pkt_burst &&
               now.rxq.data == installed.rxq.data && now.txq.data == installed.txq.data &&
               now.rxq.data[0] == installed.rxq.data[0] && now.txq.data[0] == installed.txq.data[0];
    };
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_TRUE(same());
    for (const Mayfly *m : {&a, &b}) {
        m->unplug();
        ASSERT_TRUE(eventually([&] { return !m->there(); }));
        EXPECT_TRUE(same());
    }
    EXPECT_EQ(send(port), 0);
    a.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_TRUE(same());
    EXPECT_EQ(send(port, 4), 4);
    EXPECT_EQ(receive(port), 4);
}

// The cursor of a queue stands on a sub-device that leaves; all leave; another one comes.
TEST_F(TrafficRemoval, AQueueThatLostAllItsSubDevicesPollsTheOneThatComes) {
    Mayfly a("mode=generate"), b("mode=generate"), c("mode=generate");
    for (int round = 0; round < 6; round++) {
        c.unplug();
        Vport port(devargs_of({&a, &b, &c}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        for (int i = 0; i <= round; i++) {
            EXPECT_GT(receive(port), 0);
        }
        ASSERT_TRUE(port.remove_by_hand(round % 2 == 0 ? 0 : 1).ok());
        ASSERT_TRUE(port.remove_by_hand(round % 2 == 0 ? 1 : 0).ok());
        ASSERT_TRUE(eventually([&] { return !a.there() && !b.there(); }));
        EXPECT_EQ(receive(port), 0);
        c.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(2); }));
        std::array<rte_mbuf *, 4> p{};
        ASSERT_EQ(port.rx(p.data(), 4), 4);
        EXPECT_EQ(maker_of(p[0]), id_of(c));
        rte_pktmbuf_free_bulk(p.data(), 4);
    }
    expect_no_late_access({&a, &b, &c});
}

TEST_F(TrafficRemoval, PacketsThatWaitBelowWhenASubDeviceLeavesAreNotLeaked) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 20; i++) {
        ASSERT_EQ(send(port, 20), 20);
        const bool first = port.active() == 0;
        (first ? a : b).unplug();
        ASSERT_TRUE(eventually([&] { return port.state(first ? 0 : 1) == "absent"; }));
        (first ? a : b).plug();
        ASSERT_TRUE(eventually([&] { return port.joined(first ? 0 : 1); }));
    }
    while (receive(port) != 0)
        ;
    EXPECT_EQ(in_use(), 0U);
    expect_no_late_access({&a, &b});
}

// F110
TEST_F(TrafficRemoval, StopUnderLoadAndStartAgain) {
    Mayfly a("mode=loop"), b("mode=generate");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 20; i++) {
        EXPECT_EQ(send(port, 16), 16);
        (void)receive(port);
        ASSERT_EQ(port.stop(), 0);
        EXPECT_EQ(receive(port), 0);
        EXPECT_EQ(send(port, 16), 0);
        ASSERT_EQ(port.start(), 0);
    }
    expect_no_late_access({&a, &b});
}

// F53
TEST_F(TrafficRemoval, TwoThreadsOnTwoQueuesGetTheirPacketsThoughOneSubDeviceIsSilentAndTheOtherLeaves) {
    Mayfly silent, busy("mode=generate");
    Vport port(devargs_of({&silent, &busy}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint64_t>, 2> got{}, polls{};
    std::vector<std::thread> lcores;
    for (std::uint16_t q = 0; q < 2; q++)
        lcores.emplace_back([&, q] {
            while (!stop.load()) {
                got.at(q) += receive(port, 4, q);
                polls.at(q)++;
            }
        });
    const auto moves = [&](std::array<std::atomic<std::uint64_t>, 2> &count) {
        const std::array<std::uint64_t, 2> before{count[0].load(), count[1].load()};
        return eventually([&] { return count[0] != before[0] && count[1] != before[1]; });
    };
    for (int i = 0; i < 10; i++) {
        EXPECT_TRUE(moves(got)) << "with both, round " << i;
        busy.unplug();
        ASSERT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
        EXPECT_TRUE(moves(polls)) << "with the silent one, round " << i;
        busy.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    }
    silent.unplug();
    EXPECT_TRUE(moves(got)) << "without the silent one";
    stop.store(true);
    for (std::thread &t : lcores)
        t.join();
    expect_no_late_access({&silent, &busy});
}

} // namespace
} // namespace holdfast::test
