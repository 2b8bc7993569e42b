// SPDX-License-Identifier: BSD-3-Clause
// Configure, start, stop, again and again. (FAULTS.md, section 3.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>

namespace holdfast::test {
namespace {

class Configure : public WithPorts {};

// F33
TEST_F(Configure, ANewConfigurationReachesEverySubDevice) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (const std::uint16_t queues : std::to_array<std::uint16_t>({4, 2, 8})) {
        Shape shape{
            .rx_queues = queues, .tx_queues = static_cast<std::uint16_t>(queues / 2), .descriptors = 128, .conf = {}};
        shape.conf.rxmode.mtu = 1500U + queues;
        shape.conf.rxmode.offloads = queues == 2 ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0;
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.up(pool(), shape), 0);
        for (const Mayfly *m : {&a, &b}) {
            EXPECT_EQ(m->settings().rx_queues, queues);
            EXPECT_EQ(m->settings().tx_queues, queues / 2);
            EXPECT_EQ(m->settings().mtu, 1500 + queues);
            EXPECT_EQ(m->settings().rx_offloads, shape.conf.rxmode.offloads);
            EXPECT_EQ(m->settings().started, 1);
        }
        rte_eth_rxq_info below{};
        ASSERT_EQ(rte_eth_rx_queue_info_get(b.port().raw(), 0, &below), 0);
        EXPECT_EQ(below.nb_desc, 128);
    }
    expect_no_late_access({&a, &b});
}

// F88, F89, F90: sub-devices with Rx interrupts and without.
TEST_F(Configure, RxInterruptsAreRefusedAndNothingIsHalfDone) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    Shape shape;
    shape.conf.intr_conf.rxq = 1;
    const std::int64_t asked = a.calls("dev_configure") + b.calls("dev_configure");
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(port.configure(shape), -ENOTSUP);
    EXPECT_EQ(a.calls("dev_configure") + b.calls("dev_configure"), asked) << "no sub-device was touched";
    EXPECT_EQ(port.up(pool()), 0);
    EXPECT_EQ(rte_eth_dev_rx_intr_enable(port.id(), 0), -ENOTSUP);
}

// F34
TEST_F(Configure, ManyConfigurationsGiveOneEventPerChange) {
    Mayfly m;
    Vport port(m.dev());
    Shape shape;
    shape.conf.intr_conf.lsc = 1;
    for (int i = 0; i < 5; i++) {
        ASSERT_EQ(port.up(pool(), shape), 0);
        ASSERT_EQ(port.stop(), 0);
    }
    ASSERT_EQ(port.start(), 0);
    std::atomic<int> events{0};
    const auto count = [](std::uint16_t, rte_eth_event_type, void *arg, void *) {
        static_cast<std::atomic<int> *>(arg)->fetch_add(1);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(port.id(), RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
    m.link(false);
    EXPECT_TRUE(eventually([&] { return events.load() == 1; }));
    EXPECT_TRUE(always([&] { return events.load() == 1; }, 200ms)) << events.load();
    m.unplug();
    EXPECT_TRUE(eventually([&] { return port.sub(0).removals == 1; }));
    EXPECT_TRUE(always([&] { return port.sub(0).removals == 1; }, 100ms));
    EXPECT_EQ(rte_eth_dev_callback_unregister(port.id(), RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
}

// F35
TEST_F(Configure, AConfigurationThatIsRefusedLeavesAPortThatCanBeConfiguredAndClosed) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape bad;
    bad.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SECURITY;
    EXPECT_EQ(port.configure(bad), -EINVAL); // ethdev says so
    bad = {};
    bad.conf.intr_conf.rxq = 1;
    EXPECT_EQ(port.configure(bad), -ENOTSUP);
    b.fail("dev_configure", ENOMEM, 1);
    EXPECT_EQ(port.configure({.rx_queues = 4, .tx_queues = 4, .conf = {}}), -ENOMEM);
    EXPECT_EQ(a.settings().rx_queues, b.settings().rx_queues) << "the first one went back";
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(send(port), 1);
}

TEST_F(Configure, AConfigurationThatIsRefusedLeavesAPortThatCanBeClosed) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(port.stop(), 0);
    b.fail("dev_configure", ENOMEM, 1);
    EXPECT_EQ(port.configure({}), -ENOMEM);
    EXPECT_LT(port.start(), 0) << "ethdev released the queues";
}

// F37
TEST_F(Configure, ASubDeviceThatWasRemovedBeforeAConfigurationIsStillRemoved) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 30; round++) {
        ASSERT_EQ(port.stop(), 0);
        b.unplug_planned();
        ASSERT_EQ(port.up(pool()), 0); // the host thread may have cleaned up, or not yet
        ASSERT_TRUE(eventually([&] { return !b.there(); }));
        EXPECT_EQ(port.active(), 0);
        b.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    }
    expect_no_late_access({&a, &b});
}

// F38
TEST_F(Configure, ASubDeviceThatRefusesToStopIsToldAndTheOthersAreStopped) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    b.fail("dev_stop", EBUSY, 1);
    EXPECT_EQ(port.stop(), -EBUSY);
    EXPECT_EQ(a.settings().started, 0);
    EXPECT_EQ(b.settings().started, 1);
    EXPECT_EQ(c.settings().started, 0);
    EXPECT_EQ(port.state(1), "started");
    EXPECT_EQ(send(port), 0) << "the port takes nothing any more";
    EXPECT_EQ(port.stop(), 0) << "the second attempt";
    EXPECT_EQ(b.settings().started, 0);
    ASSERT_EQ(port.start(), 0);
    EXPECT_EQ(send(port), 1);
}

// F39
TEST_F(Configure, ASubDeviceThatFailedOnceIsTriedAgain) {
    for (const char *op :
         {"probe", "dev_infos_get", "dev_configure", "rx_queue_setup", "tx_queue_setup", "dev_start"}) {
        SCOPED_TRACE(op);
        Mayfly a, b;
        b.unplug();
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        b.fail(op, ENOMEM, 1);
        b.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(port.sub(1).reason, "");
    }
}

// F40
TEST_F(Configure, ASubDeviceComesBackAfterTheLargestPacketWasChanged) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape shape;
    shape.conf.rxmode.mtu = 2030; // max-pkt-len 2048
    ASSERT_EQ(port.up(pool(), shape), 0);
    for (const Mayfly *m : {&a, &b}) {
        m->unplug();
        const std::uint8_t index = m == &a ? 0 : 1;
        ASSERT_TRUE(eventually([&] { return port.state(index) == "absent"; }));
        m->plug();
        EXPECT_TRUE(eventually([&] { return port.joined(index); })) << port.sub(index).reason;
        EXPECT_EQ(m->settings().mtu, 2030);
    }
}

// F42
TEST_F(Configure, AStartThatFailedIsUndoneAndCanBeRepeated) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    b.fail("dev_start", ENOMEM, 1);
    EXPECT_EQ(port.start(), -ENOMEM);
    EXPECT_EQ(a.settings().started, 0);
    EXPECT_EQ(port.active(), -1);
    EXPECT_EQ(port.start(), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
    EXPECT_EQ(send(port), 1);
}

// F44
TEST_F(Configure, LinkEventsDuringStartAndStopDoNoHarm) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}));
    Shape shape;
    shape.conf.intr_conf.lsc = 1;
    ASSERT_EQ(port.up(pool(), shape), 0);
    std::atomic<bool> stop{false};
    std::thread flapper([&] {
        for (bool up = false; !stop.load(); up = !up) {
            a.link(up);
            b.link(!up);
            std::this_thread::sleep_for(1ms);
        }
    });
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(port.stop(), 0);
        EXPECT_EQ(port.start(), 0);
    }
    stop.store(true);
    flapper.join();
    a.link(true);
    b.link(true);
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
    expect_no_late_access({&a, &b});
}

// F45
TEST_F(Configure, AnMtuThatIsSetBetweenConfigureAndQueueSetUpCounts) {
    Mayfly a, b;
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1700), 0);
    b.plug(); // joins a port that has no queues yet
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    ASSERT_EQ(port.start(), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(a.settings().mtu, 1700);
    EXPECT_EQ(b.settings().mtu, 1700);
}

TEST_F(Configure, ASubDeviceThatComesBetweenAnyTwoStepsJoins) {
    for (int step = 0; step < 4; step++) {
        SCOPED_TRACE(step);
        Mayfly a, b("mode=loop");
        b.unplug();
        Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
        const auto come = [&](int now) {
            if (now != step)
                return;
            b.plug();
            ASSERT_TRUE(eventually([&] { return b.there() && port.sub(1).joined; })) << port.sub(1).reason;
        };
        come(0);
        ASSERT_EQ(port.configure({.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
        come(1);
        ASSERT_EQ(port.set_up_queues({.rx_queues = 2, .tx_queues = 2, .conf = {}}, pool()), 0);
        come(2);
        ASSERT_EQ(port.start(), 0);
        come(3);
        ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(b.settings().rx_queues, 2);
        ASSERT_TRUE(port.switch_to(1).ok());
        EXPECT_EQ(send(port, 3, 1), 3);
        EXPECT_EQ(receive(port, 32, 1), 3);
        EXPECT_EQ(b.settings().started, 1);
    }
}

} // namespace
} // namespace holdfast::test
