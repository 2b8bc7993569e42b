// SPDX-License-Identifier: BSD-3-Clause
// Queues: their numbers, their set-up, their own start and stop. (FAULTS.md, section 4.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>

namespace holdfast::test {
namespace {

class Queues : public WithPorts {};

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
    const auto runs = [&](const Mayfly &m, std::uint16_t queue) {
        rte_eth_rxq_info rx{};
        EXPECT_EQ(rte_eth_rx_queue_info_get(m.port().raw(), queue, &rx), 0);
        return rx.queue_state == RTE_ETH_QUEUE_STATE_STARTED;
    };
    EXPECT_FALSE(runs(late, 0));
    EXPECT_TRUE(runs(late, 1));
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

} // namespace
} // namespace holdfast::test
