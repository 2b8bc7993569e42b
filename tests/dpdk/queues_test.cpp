// SPDX-License-Identifier: BSD-3-Clause
// Queues: their numbers, their set-up, their own start and stop. (FAULTS.md, section 4.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class Queues : public WithPorts {
  protected:
    static int state_of(std::uint16_t port, std::uint16_t queue, bool rx = true) {
        rte_eth_rxq_info rx_info{};
        rte_eth_txq_info tx_info{};
        EXPECT_EQ(rx ? rte_eth_rx_queue_info_get(port, queue, &rx_info)
                     : rte_eth_tx_queue_info_get(port, queue, &tx_info),
                  0);
        return rx ? rx_info.queue_state : tx_info.queue_state;
    }
};

TEST_F(Queues, TheQueueInformationIsWhatTheApplicationAskedFor) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), {.descriptors = 512, .conf = {}}), 0);
    rte_eth_rxq_info rx{};
    rte_eth_txq_info tx{};
    ASSERT_EQ(rte_eth_rx_queue_info_get(port.id(), 0, &rx), 0);
    ASSERT_EQ(rte_eth_tx_queue_info_get(port.id(), 0, &tx), 0);
    EXPECT_EQ(rx.mp, pool());
    EXPECT_EQ(rx.nb_desc, 512);
    EXPECT_EQ(tx.nb_desc, 512);
}

TEST_F(Queues, AQueueThatIsDeferredRunsOnEverySubDeviceWhenItIsStarted) {
    Mayfly a, b, late;
    late.unplug();
    Vport port(devargs_of({&a, &b, &late}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}, .deferred = true}), 0);
    EXPECT_EQ(a.calls("rx_queue_start"), 0);
    ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id(), 1), 0);
    ASSERT_EQ(rte_eth_dev_tx_queue_start(port.id(), 0), 0);
    for (const Mayfly *m : {&a, &b}) {
        EXPECT_EQ(m->calls("rx_queue_start"), 1);
        EXPECT_EQ(m->calls("tx_queue_start"), 1);
    }
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(2); })) << port.sub(2).reason;
    EXPECT_EQ(late.calls("rx_queue_start"), 1);
    EXPECT_EQ(late.calls("tx_queue_start"), 1);
    EXPECT_EQ(state_of(late.port().raw(), 0), RTE_ETH_QUEUE_STATE_STOPPED);
    EXPECT_EQ(state_of(late.port().raw(), 1), RTE_ETH_QUEUE_STATE_STARTED);
}

TEST_F(Queues, AQueueThatWasStoppedStaysStoppedOnALateSubDevice) {
    Mayfly a, late;
    late.unplug();
    Vport port(devargs_of({&a, &late}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    ASSERT_EQ(rte_eth_dev_rx_queue_stop(port.id(), 1), 0);
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(late.calls("rx_queue_stop"), 1);
    ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id(), 1), 0);
    EXPECT_EQ(late.calls("rx_queue_start"), 1);
}

TEST_F(Queues, AQueueThatOneSubDeviceCannotStartIsStartedOnNone) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 1, .tx_queues = 1, .conf = {}, .deferred = true}), 0);
    b.fail("rx_queue_start", EIO, 1);
    EXPECT_LT(rte_eth_dev_rx_queue_start(port.id(), 0), 0);
    EXPECT_EQ(a.calls("rx_queue_stop"), 1);
    EXPECT_EQ(rte_eth_dev_rx_queue_start(port.id(), 0), 0);
}

// What OVS does on each setting: another number of queues, on a port that has run.
TEST_F(Queues, QueuesComeAndGoWithEachConfigurationWhileSubDevicesDo) {
    Mayfly a("mode=loop,queues=64"), b("mode=loop,queues=64");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    for (int i = 0; i < 40; i++) {
        const auto queues = static_cast<std::uint16_t>(1 + (i * 7) % 64);
        ASSERT_EQ(port.up(pool(), {.rx_queues = queues, .tx_queues = queues, .descriptors = 64, .conf = {}}), 0) << i;
        if (i % 3 == 0) {
            ASSERT_TRUE(eventually([&] { return port.joined(static_cast<std::size_t>((i + 1) % 2)); })) << i;
            ASSERT_TRUE(port.remove_by_hand(static_cast<std::uint8_t>(i % 2)).ok());
        }
        const auto last = static_cast<std::uint16_t>(queues - 1);
        EXPECT_EQ(send(port, 2, last), 2) << i;
        ASSERT_EQ(port.stop(), 0);
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(port.plug_by_hand(1).ok());
    }
    expect_no_late_access({&a, &b});
}

TEST_F(Queues, StartWithoutEveryQueueSetUpIsRefused) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.configure({.rx_queues = 2, .tx_queues = 1, .conf = {}}), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 64, 0, nullptr, pool()), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 64, 0, nullptr), 0);
    EXPECT_EQ(port.start(), -EINVAL);
    ASSERT_EQ(rte_eth_rx_queue_setup(port.id(), 1, 64, 0, nullptr, pool()), 0);
    EXPECT_EQ(port.start(), 0);
}

TEST_F(Queues, ASubDeviceWithTooFewQueuesIsRefusedWithTheReason) {
    Mayfly a, b("queues=2");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 4, .tx_queues = 4, .conf = {}}), 0);
    b.plug();
    EXPECT_TRUE(eventually([&] {
        return port.sub(1).reason == "cannot use as many queues on a sub-device as the port has: Invalid argument";
    })) << port.sub(1).reason;
    ASSERT_EQ(port.stop(), 0);
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << "a configuration that fits is tried at once";
}

TEST_F(Queues, ASubDeviceThatCannotSetUpAQueueRefusesIt) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    b.fail("rx_queue_setup", ENOMEM, 1);
    EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 64, 0, nullptr, pool()), -ENOMEM);
    b.fail("tx_queue_setup", ENOMEM, 1);
    EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 64, 0, nullptr), -ENOMEM);
    EXPECT_EQ(port.start(), -EINVAL);
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    EXPECT_EQ(port.start(), 0);
}

// F47
TEST_F(Queues, AfterAReplugOnlyTheQueueRunsThatWasStarted) {
    Mayfly a("mode=generate"), b("mode=generate");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}, .deferred = true}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id(), 1), 0);
    for (const std::uint8_t sub : std::to_array<std::uint8_t>({0, 1, 0})) {
        const Mayfly &m = sub == 0 ? a : b;
        m.unplug();
        ASSERT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
        m.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(sub); }));
        EXPECT_EQ(receive(port, 32, 0), 0);
        EXPECT_GT(receive(port, 32, 1), 0);
        EXPECT_GT(receive(port, 32, 1), 0) << "of both";
        EXPECT_EQ(state_of(m.port().raw(), 0), RTE_ETH_QUEUE_STATE_STOPPED);
        EXPECT_EQ(state_of(m.port().raw(), 1), RTE_ETH_QUEUE_STATE_STARTED);
    }
    EXPECT_EQ(state_of(port.id(), 0), RTE_ETH_QUEUE_STATE_STOPPED);
    EXPECT_EQ(state_of(port.id(), 1), RTE_ETH_QUEUE_STATE_STARTED);
}

// F47
TEST_F(Queues, AQueueThatASubDeviceCannotStartByItselfIsNotDeferred) {
    for (const char *op : {"rx_queue_start", "tx_queue_start"}) {
        Mayfly a, b(std::string("no_ops=") + op);
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.configure({}), 0);
        EXPECT_EQ(port.set_up_queues({.deferred = true}, pool()), -ENOTSUP) << op;
        ASSERT_EQ(port.set_up_queues({}, pool()), 0) << op;
        ASSERT_EQ(port.start(), 0);
        EXPECT_EQ(send(port), 1);
    }
}

// F47: it comes when the queue is deferred already.
TEST_F(Queues, ALateSubDeviceThatCannotDeferAQueueIsRefusedWithTheReason) {
    Mayfly a, late("no_ops=rx_queue_start");
    late.unplug();
    Vport port(devargs_of({&a, &late}));
    ASSERT_EQ(port.up(pool(), {.deferred = true}), 0);
    late.plug();
    EXPECT_TRUE(eventually([&] {
        return port.sub(1).reason == "cannot defer the start of a queue of a sub-device: Operation not supported";
    })) << port.sub(1).reason;
    EXPECT_TRUE(port.joined(0));
}

// F48
TEST_F(Queues, TheStateOfAQueueFollowsEveryStartAndStop) {
    constexpr auto kRuns = RTE_ETH_QUEUE_STATE_STARTED, kRests = RTE_ETH_QUEUE_STATE_STOPPED;
    Mayfly m;
    Vport port(devargs_of({&m}, "hotplug_poll=5"));
    ASSERT_EQ(port.configure({.rx_queues = 2, .tx_queues = 2}), 0);
    ASSERT_EQ(port.set_up_queues({.rx_queues = 2, .tx_queues = 2}, pool()), 0);
    const auto expect = [&](int first, int second, const char *when) {
        for (const bool rx : {true, false}) {
            EXPECT_EQ(state_of(port.id(), 0, rx), first) << when << (rx ? " rx" : " tx");
            EXPECT_EQ(state_of(port.id(), 1, rx), second) << when << (rx ? " rx" : " tx");
        }
    };
    expect(kRests, kRests, "before the start");
    ASSERT_EQ(port.start(), 0);
    expect(kRuns, kRuns, "started");
    ASSERT_EQ(rte_eth_dev_rx_queue_stop(port.id(), 1), 0);
    ASSERT_EQ(rte_eth_dev_tx_queue_stop(port.id(), 1), 0);
    expect(kRuns, kRests, "one stopped");
    m.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    expect(kRuns, kRests, "nobody there");
    m.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    expect(kRuns, kRests, "back");
    ASSERT_EQ(port.stop(), 0);
    expect(kRests, kRests, "stopped");
    ASSERT_EQ(port.start(), 0);
    expect(kRuns, kRuns, "started again");
    m.fail("tx_queue_stop", EIO, 1);
    EXPECT_LT(rte_eth_dev_tx_queue_stop(port.id(), 0), 0);
    expect(kRuns, kRuns, "one that refused to stop");
}

// F49
TEST_F(Queues, MoreQueuesOneWayThanTheOther) {
    struct Numbers {
        std::uint16_t rx, tx;
    };
    for (const Numbers n : {Numbers{1, 4}, Numbers{4, 1}}) {
        Mayfly a("mode=generate"), b;
        Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool(), {.rx_queues = n.rx, .tx_queues = n.tx, .conf = {}}), 0);
        for (int round = 0; round < 2; round++) {
            ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
            for (std::uint16_t q = 0; q < n.tx; q++) {
                EXPECT_EQ(send(port, 2, q), 2) << "queue " << q;
            }
            for (std::uint16_t q = 0; q < n.rx; q++) {
                EXPECT_GT(receive(port, 32, q) + receive(port, 32, q), 0) << "queue " << q;
            }
            a.unplug_planned();
            ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
            EXPECT_EQ(send(port, 1, static_cast<std::uint16_t>(n.tx - 1)), 1) << "by the other one";
            a.plug();
        }
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
        EXPECT_EQ(port.stats().opackets, 2 * (2U * n.tx + 1));
        expect_no_late_access({&a, &b});
    }
}

// F50
TEST_F(Queues, NoQueueIsSetUpWhileThePortRunsAlsoWhereASubDeviceCould) {
    Mayfly able("mode=loop,runtime_queues=1");
    Vport port(able.dev() + ",dev(" + unique("net_ring") + ")");
    ASSERT_EQ(port.up(pool()), 0);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
    EXPECT_EQ(info.dev_capa & (RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP | RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP), 0U);
    EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 64, 0, nullptr, pool()), -EBUSY);
    EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 64, 0, nullptr), -EBUSY);
    EXPECT_EQ(send(port, 3), 3);
    EXPECT_EQ(receive(port), 3);
}

// F52: a thread that is in them, or about to enter, when another one stops the port. (That ethdev takes the functions
// out of its own table meanwhile, one after the other, is ethdev's: an application's threads have to leave before.)
TEST_F(Queues, ThePortStopsAndStartsUnderAThreadThatIsInItsHelpers) {
    Mayfly a("mode=loop"), b("mode=generate");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const struct rte_eth_fp_ops ops = rte_eth_fp_ops[port.id()];
    void *rxq = ops.rxq.data[0];
    void *txq = ops.txq.data[0];
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> rounds{0};
    std::vector<rte_mbuf *> to_send = packets(4);
    std::thread lcore([&] {
        std::array<rte_mbuf *, 4> got{};
        while (!stop.load()) {
            const auto used = static_cast<std::int32_t>(ops.rx_queue_count(rxq));
            EXPECT_TRUE(used >= 0 || used == -ENOTSUP || used == -ENODEV) << used;
            (void)ops.rx_descriptor_status(rxq, 0);
            (void)ops.tx_queue_count(txq);
            (void)ops.tx_descriptor_status(txq, 0);
            EXPECT_EQ(ops.tx_pkt_prepare(txq, to_send.data(), 4), 4);
            rte_pktmbuf_free_bulk(got.data(), ops.rx_pkt_burst(rxq, got.data(), 4));
            rounds++;
        }
    });
    for (int i = 0; i < 60; i++) {
        const std::uint64_t before = rounds.load();
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.start(), 0);
        if (i % 10 == 0) {
            b.unplug();
            ASSERT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
            b.plug();
            ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        }
        ASSERT_TRUE(eventually([&] { return rounds.load() != before; }));
    }
    stop.store(true);
    lcore.join();
    rte_pktmbuf_free_bulk(to_send.data(), 4);
    expect_no_late_access({&a, &b});
}

} // namespace
} // namespace holdfast::test
