// SPDX-License-Identifier: BSD-3-Clause
// Probe, close, detach, and what is left behind. (FAULTS.md, section 2.)
#include "support/captured_log.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

namespace holdfast::test {
namespace {

class Lifecycle : public WithPorts {};

TEST_F(Lifecycle, APortComesUpOverOneSubDeviceAndLeavesNothingBehind) {
    Mayfly m("mode=loop");
    Vport port(m.dev());
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_EQ(send(port, 4), 4);
    EXPECT_EQ(receive(port), 4);
    expect_no_late_access({&m});
}

TEST_F(Lifecycle, WhatEthdevCallsInsteadOfAnInstalledFunctionIsNamedInTheLogOnce) {
    const CapturedLog log;
    Mayfly a, b;
    Vport changed(a.dev()), untouched(b.dev());
    ASSERT_EQ(untouched.up(pool()), 0);
    ASSERT_EQ(changed.up(pool()), 0);
    auto &table = rte_eth_fp_ops[changed.id()];
    const auto had = table.tx_descriptor_status;
    table.tx_descriptor_status = table.rx_descriptor_status;
    EXPECT_TRUE(eventually([&] { return log.lines_with(changed.name(), "tx_descriptor_status") == 1; })) << log.text();
    table.tx_descriptor_status = had;
    EXPECT_EQ(log.lines_with("ethdev does not call", ""), 1U) << "the other port was looked at earlier";
}

// F17
TEST_F(Lifecycle, ARemovedSubDeviceWithoutALinkUpOperationIsReleasedOnceAndTheProcessLives) {
    const std::string null = unique("net_null");
    Mayfly m;
    Vport port("hotplug_poll=10,dev(" + null + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 50; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
        const std::uint16_t id = port.sub(0).port.raw();
        rte_eth_dev_callback_process(&rte_eth_devices[id], RTE_ETH_EVENT_INTR_RMV, nullptr);
        ASSERT_TRUE(eventually([&] { return port.sub(0).removals == static_cast<std::uint64_t>(round + 1); }));
    }
}

// F18: testpmd asks for MBUF_FAST_FREE and its default MAC before the sub-device is there.
TEST_F(Lifecycle, ASubDeviceThatCannotDoWhatIsAskedOfItDoesNotKillTheProcess) {
    for (const char *driver : {"net_ring", "net_null"}) {
        Mayfly first;
        Mayfly away;
        away.unplug();
        const std::string late = unique(driver);
        Vport port("hotplug_poll=10,dev(" + away.devargs() + ")," + first.dev());
        ASSERT_EQ(port.rc(), 0);
        Shape shape;
        shape.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        ASSERT_EQ(port.up(pool(), shape), 0);

        Vport other("hotplug_poll=10,dev(" + late + ")," + std::string("mac=02:00:00:00:00:77"));
        ASSERT_EQ(other.rc(), 0);
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(other.id(), &info), 0);
        shape.conf.txmode.offloads &= info.tx_offload_capa;
        EXPECT_EQ(other.up(pool(), shape), 0) << driver;
        EXPECT_TRUE(eventually([&] { return other.joined(0); })) << driver << ": " << other.sub(0).reason;
    }
}

// F18: refused with the reason, tried again later, and the port runs on.
TEST_F(Lifecycle, ARefusedSubDeviceIsTriedAgainAndThePortRunsOn) {
    Mayfly good("mode=loop");
    Mayfly bad;
    bad.fail("dev_start", EIO);
    bad.unplug();
    Vport port(devargs_of({&good, &bad}));
    ASSERT_EQ(port.up(pool()), 0);
    bad.plug();
    ASSERT_TRUE(eventually([&] { return bad.calls("dev_start") >= 3; }));
    EXPECT_EQ(port.sub(1).reason, "cannot start a sub-device: Input/output error");
    EXPECT_FALSE(port.joined(1));
    EXPECT_EQ(send(port, 2), 2);
    EXPECT_EQ(receive(port), 2);
    bad.clear();
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(port.sub(1).reason, "");
}

TEST_F(Lifecycle, ARefusedSubDeviceIsTriedLessAndLessOften) {
    Mayfly bad;
    bad.fail("probe", EIO);
    Vport port(devargs_of({&bad}, "hotplug_poll=10"));
    ASSERT_EQ(port.rc(), 0);
    // After 10, 20, 40, 80, 80 ... ms. In this time a steady 10 ms would make some 50 attempts.
    std::this_thread::sleep_for(500ms);
    EXPECT_LE(bad.calls("probe"), 12);
    EXPECT_TRUE(eventually([&] { return bad.calls("probe") >= 4; }));
}

// F20, F26
TEST_F(Lifecycle, AFailedProbeLeavesNoSubDeviceBehind) {
    Mayfly m;
    for (const char *wrong :
         {"hotplug_poll=0", "hotplug_poll=x", "mac=00:00:00:00:00:00", "mac=01:00:00:00:00:00", "what=1", "dev("}) {
        const Vport port(m.dev() + "," + wrong);
        EXPECT_EQ(port.rc(), -EINVAL) << wrong;
        EXPECT_FALSE(m.there()) << wrong;
        EXPECT_EQ(m.calls("probe"), 0) << wrong;
    }
    // Afterwards the device is anybody's.
    ASSERT_EQ(rte_vdev_init(m.name().c_str(), ""), 0);
    EXPECT_EQ(rte_vdev_uninit(m.name().c_str()), 0);
}

// F20: nobody else can have a device while a port owns it, and everybody when it is closed.
TEST_F(Lifecycle, ADeviceIsFreeAgainAfterItsPortWasClosed) {
    Mayfly m;
    {
        Vport port(m.dev());
        ASSERT_EQ(port.rc(), 0);
        rte_eth_dev_owner owner{};
        ASSERT_EQ(rte_eth_dev_owner_get(m.port().raw(), &owner), 0);
        EXPECT_EQ(std::string(owner.name), port.name());
        // What RTE_ETH_FOREACH_DEV gives: the ports that nobody owns.
        for (std::uint64_t visible = 0; visible < RTE_MAX_ETHPORTS; visible++) {
            visible = rte_eth_find_next_owned_by(static_cast<std::uint16_t>(visible), RTE_ETH_DEV_NO_OWNER);
            EXPECT_NE(visible, m.port().raw());
        }
    }
    EXPECT_FALSE(m.there());
    ASSERT_EQ(rte_vdev_init(m.name().c_str(), ""), 0);
    EXPECT_EQ(rte_vdev_uninit(m.name().c_str()), 0);
}

// F21
TEST_F(Lifecycle, CloseThenDetachAndDetachWithoutCloseAreBothClean) {
    Mayfly a, b("mode=loop"), c("mode=loop");
    {
        Vport port(a.dev());
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(port.close(), 0);
        EXPECT_EQ(port.detach(), 0);
    }
    for (const bool started : {false, true}) {
        Vport port(devargs_of({&b, &c}));
        ASSERT_EQ(port.rc(), 0);
        if (started) {
            ASSERT_EQ(port.up(pool()), 0);
            EXPECT_EQ(send(port, 8), 8); // waits in a ring below
        }
        EXPECT_EQ(port.detach(), 0);
        EXPECT_TRUE(eventually([&] { return !b.there() && !c.there(); }));
    }
    expect_no_late_access({&a, &b, &c});
}

// F22
TEST_F(Lifecycle, CloseAtAnyMomentOfAPlugInReturnsAndNothingIsPluggedInAfterwards) {
    Mayfly a, b;
    std::srand(testing::UnitTest::GetInstance()->random_seed() == 0 ? 1U : 7U);
    for (int round = 0; round < 60; round++) {
        b.unplug();
        b.delay("probe", 3ms);
        {
            Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
            ASSERT_EQ(port.up(pool()), 0);
            b.plug();
            std::this_thread::sleep_for(std::chrono::microseconds(std::rand() % 8000));
        }
        EXPECT_FALSE(a.there());
        EXPECT_FALSE(b.there());
        const std::int64_t probes = b.calls("probe");
        if (round % 10 == 0)
            std::this_thread::sleep_for(10ms);
        EXPECT_EQ(b.calls("probe"), probes);
    }
    expect_no_late_access({&a, &b});
}

// F23
TEST_F(Lifecycle, AFailingSubDeviceOfOnePortDoesNotKeepAnotherPortFromItsOwn) {
    Mayfly bad, good;
    bad.fail("probe", EIO);
    good.unplug();
    Vport first(devargs_of({&bad}));
    Vport second(devargs_of({&good}));
    ASSERT_EQ(first.rc(), 0);
    ASSERT_EQ(second.up(pool()), 0);
    good.plug();
    EXPECT_TRUE(eventually([&] { return second.joined(0); }));
}

// F24
TEST_F(Lifecycle, PlugCyclesNeedNoMoreMemory) {
    Mayfly m("mode=loop,queues=4");
    Vport port(devargs_of({&m}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    const auto cycle = [&] {
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    };
    for (int i = 0; i < 20; i++)
        cycle();
    const std::size_t heap = heap_in_use();
    const std::size_t mallocs = mallinfo2().uordblks;
    for (int i = 0; i < 200; i++)
        cycle();
    EXPECT_EQ(heap_in_use(), heap);
    EXPECT_LT(mallinfo2().uordblks, mallocs + 200 * 16) << "some bytes stay behind at each cycle";
    EXPECT_EQ(port.sub(0).plugins, 221U);
    expect_no_late_access({&m});
}

// F27
TEST_F(Lifecycle, CloseEndsAlthoughSubDevicesRefuseToStopAndToClose) {
    Mayfly a, b;
    auto port = std::make_unique<Vport>(devargs_of({&a, &b}));
    ASSERT_EQ(port->up(pool()), 0);
    a.fail("dev_stop", EBUSY);
    b.fail("dev_close", EBUSY);
    EXPECT_EQ(rte_eth_dev_stop(port->id()), -EBUSY);
    a.clear();
    b.fail("dev_close", EBUSY);
    EXPECT_EQ(port->stop(), 0) << "the second attempt";
    EXPECT_EQ(rte_eth_dev_close(port->id()), -EBUSY) << "the first error is told";
    EXPECT_FALSE(a.there());
    EXPECT_FALSE(b.there());
    b.clear();
    EXPECT_EQ(rte_eth_dev_close(port->id()), -ENODEV);
    EXPECT_EQ(port->detach(), 0);
}

// F17, F27: what refuses to stop is taken off by its driver's removal, and is not left behind owned by nobody.
TEST_F(Lifecycle, ASubDeviceThatNeverStopsIsTakenOffAndCanComeBack) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    b.fail("dev_stop", EBUSY);
    b.unplug();
    EXPECT_TRUE(eventually([&] { return !b.there(); }));
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(port.stop(), -EBUSY);
    EXPECT_EQ(port.detach(), 0);
    EXPECT_FALSE(a.there());
    EXPECT_FALSE(b.there());
}

// F28
TEST_F(Lifecycle, AttachAndDetachAHundredTimes) {
    Mayfly a, b("mode=loop");
    const std::string name = unique("net_holdfast");
    std::size_t heap = 0;
    for (int i = 0; i < 100; i++) {
        const std::string devargs = name + "," + devargs_of({&a, &b});
        ASSERT_EQ(rte_dev_probe(devargs.c_str()), 0);
        std::uint16_t id = 0;
        ASSERT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &id), 0);
        rte_eth_conf conf{};
        ASSERT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
        ASSERT_EQ(rte_eth_rx_queue_setup(id, 0, 64, 0, nullptr, pool()), 0);
        ASSERT_EQ(rte_eth_tx_queue_setup(id, 0, 64, 0, nullptr), 0);
        ASSERT_EQ(rte_eth_dev_start(id), 0);
        ASSERT_EQ(rte_eth_dev_stop(id), 0);
        ASSERT_EQ(rte_eth_dev_close(id), 0);
        ASSERT_EQ(rte_vdev_uninit(name.c_str()), 0);
        if (i == 9)
            heap = heap_in_use();
    }
    EXPECT_EQ(heap_in_use(), heap);
}

// F29
TEST_F(Lifecycle, LookingForADeviceThatNobodyKnowsNeedsNoMemory) {
    Mayfly m;
    Vport port("hotplug_poll=1,dev(net_nosuchdriver0)," + m.dev());
    ASSERT_EQ(port.rc(), 0);
    EXPECT_NE(port.sub(0).reason, "");
    const auto retry = [&] {
        for (int i = 0; i < 300; i++) {
            ASSERT_TRUE(port.plug_by_hand(0).ok()); // at once, not after the back-off
            std::this_thread::sleep_for(1ms);
        }
    };
    retry();
    const std::size_t heap = heap_in_use();
    const std::size_t mallocs = mallinfo2().uordblks;
    retry();
    EXPECT_EQ(heap_in_use(), heap);
    EXPECT_LT(mallinfo2().uordblks, mallocs + 4096);
    EXPECT_EQ(port.state(0), "absent");
}

// F30
TEST_F(Lifecycle, AttachingAStoppedPortAgainIsRefusedAndHarmless) {
    Mayfly a, b("mode=loop");
    Vport port(a.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(port.stop(), 0);
    EXPECT_EQ(rte_vdev_init(port.name().c_str(), b.dev().c_str()), -EEXIST);
    EXPECT_FALSE(b.there());
    EXPECT_EQ(port.start(), 0);
    EXPECT_EQ(send(port), 1);
}

// A port that is closed, with its name free for the next one.
TEST_F(Lifecycle, TheNameAndTheIdOfAClosedPortCanBeUsedAgain) {
    Mayfly a, b;
    const std::string name = unique("net_holdfast");
    std::uint16_t id = 0;
    {
        Vport port(a.dev(), name);
        ASSERT_EQ(port.up(pool()), 0);
        id = port.id();
    }
    Vport port(b.dev(), name);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.id(), id);
    EXPECT_EQ(port.stats().opackets, 0U);
}

TEST_F(Lifecycle, ADeviceThatWasProbedBeforeIsTakenOver) {
    Mayfly m("mode=loop");
    ASSERT_EQ(rte_vdev_init(m.name().c_str(), "mode=loop"), 0);
    const PortId id = m.port();
    {
        Vport port(m.dev());
        ASSERT_EQ(port.up(pool()), 0);
        EXPECT_TRUE(port.joined(0));
        EXPECT_EQ(port.sub(0).port, id);
        EXPECT_EQ(m.calls("probe"), 1);
    }
}

// F153
TEST_F(Lifecycle, ADeviceOfAnotherPortIsRefusedWithAReasonAndTakenWhenItIsFree) {
    Mayfly m;
    auto first = std::make_unique<Vport>(m.dev());
    Vport second(devargs_of({&m}, "hotplug_poll=10"));
    ASSERT_EQ(second.rc(), 0);
    ASSERT_EQ(second.up(pool()), 0);
    EXPECT_EQ(second.sub(0).reason, "cannot take a device that another port owns: Device or resource busy");
    EXPECT_EQ(second.link().link_status, RTE_ETH_LINK_DOWN);
    first.reset();
    EXPECT_TRUE(eventually([&] { return second.joined(0); }));
}

// F83
TEST_F(Lifecycle, NothingOfAClosedPortHappensToTheNextOneWithItsId) {
    Mayfly a, b;
    std::uint16_t id = 0;
    {
        Vport port(a.dev());
        Shape shape;
        shape.conf.intr_conf.lsc = 1;
        ASSERT_EQ(port.up(pool(), shape), 0);
        id = port.id();
        a.link(false);
    }
    Vport port(b.dev());
    ASSERT_EQ(port.id(), id);
    std::atomic<int> events{0};
    const auto count = [](std::uint16_t, rte_eth_event_type, void *arg, void *) {
        static_cast<std::atomic<int> *>(arg)->fetch_add(1);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(id, RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
    std::this_thread::sleep_for(150ms);
    EXPECT_EQ(events.load(), 0);
    EXPECT_EQ(rte_eth_dev_callback_unregister(id, RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
}

} // namespace
} // namespace holdfast::test
