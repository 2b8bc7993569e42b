// SPDX-License-Identifier: BSD-3-Clause
// A detach by somebody else that meets control calls, our own removal, a plug-in, or the end of the port.
#include "dpdk/control_calls.h"
#include "dpdk/detach_rig.h"

#include <gtest/gtest.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

// Settings go on from many threads, and none of their calls reaches a device that is being taken apart.
TEST_F(Detach, ControlCallsFromManyThreadsNeverReachADeviceThatIsDetached) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    ControlCalls calls(port.id());
    for (int i = 0; i < 40; i++) {
        const auto sub = static_cast<std::uint8_t>(i % 2);
        const Mayfly &m = sub == 0 ? a : b;
        ASSERT_TRUE(eventually([&] { return port.joined(sub); })) << port.sub(sub).reason;
        if (i % 4 >= 2)
            m.delay(i % 8 >= 4 ? "dev_close" : "remove", 2ms);
        EXPECT_EQ(detach(m.name()), 0);
        m.clear();
        EXPECT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
        EXPECT_TRUE(port.plug_by_hand(sub).ok());
    }
    for (std::uint8_t sub : {std::uint8_t{0}, std::uint8_t{1}})
        EXPECT_TRUE(eventually([&] { return port.joined(sub); })) << port.sub(sub).reason;
    calls.end();
    EXPECT_EQ(a.settings().mtu, b.settings().mtu);
    EXPECT_EQ(a.settings().promiscuous, b.settings().promiscuous);
    EXPECT_EQ(a.settings().mac[5], b.settings().mac[5]);
    expect_no_late_access({&a, &b});
}

// Whoever comes first, both end, and the device is gone.
TEST_F(Detach, DetachDuringOurOwnRemovalEnds) {
    for (const char *op : {"dev_stop", "dev_close", "remove"}) {
        SCOPED_TRACE(op);
        Mayfly a, b;
        Vport port(devargs_of({&a, &b}, "hotplug_poll=60000"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        const std::int64_t calls = a.calls(op);
        a.delay(op, 200ms);
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return a.calls(op) > calls; }));
        const int rc = detach(a.name());
        EXPECT_TRUE(rc == 0 || rc == -ENODEV || rc == -ENOENT) << rc;
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && find_vdev(a.name()) == nullptr; }));
        a.clear();
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        expect_no_late_access({&a, &b});
    }
}

TEST_F(Detach, CloseDuringADetachEnds) {
    for (const char *op : {"dev_stop", "dev_close", "remove"}) {
        SCOPED_TRACE(op);
        Mayfly a, b;
        Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        const std::int64_t calls = a.calls(op);
        a.delay(op, 200ms);
        std::thread operator_([&] { EXPECT_EQ(detach(a.name()), 0); });
        ASSERT_TRUE(eventually([&] { return a.calls(op) > calls; }));
        EXPECT_EQ(port.close(), 0);
        EXPECT_EQ(find_vdev(a.name()) == nullptr || !a.there(), true);
        operator_.join();
        EXPECT_EQ(port.detach(), 0);
        EXPECT_EQ(find_vdev(a.name()), nullptr);
        EXPECT_FALSE(b.there());
        a.clear();
        expect_no_late_access({&a, &b});
    }
}

TEST_F(Detach, DetachDuringAnyStepOfAPlugInEnds) {
    for (const char *op : {"probe", "dev_infos_get", "dev_configure", "rx_queue_setup", "dev_start", "mac_addr_set"}) {
        SCOPED_TRACE(op);
        Mayfly a, b;
        a.unplug();
        Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
        ASSERT_EQ(port.up(pool()), 0);
        const std::int64_t calls = a.calls(op);
        a.delay(op, 100ms);
        a.plug();
        ASSERT_TRUE(eventually([&] { return a.calls(op) > calls; }));
        const std::int64_t waited = a.calls(op);
        // Inside the probe it is not there yet for others.
        int rc = -1;
        ASSERT_TRUE(eventually([&] {
            rc = detach(a.name());
            return rc == 0;
        })) << rc;
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }))
            << port.sub(0).reason << " " << waited;
        EXPECT_EQ(find_vdev(a.name()), nullptr);
        a.clear();
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        expect_no_late_access({&a, &b});
    }
}

// A callback of the application's that runs inside a call of ours: we cannot get out of that call.
TEST_F(Detach, ADetachInACallbackInsideOneOfOurCallsIsRefusedAndDoesNotHang) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; }));
    struct Watch {
        std::uint16_t below;
        std::string name;
        int rc = 0;
    } watch{.below = a.port().raw(), .name = a.name()};
    const auto on_link = [](std::uint16_t id, rte_eth_event_type, void *arg, void *) {
        auto &w = *static_cast<Watch *>(arg);
        if (id == w.below)
            w.rc = detach(w.name);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, &watch), 0);
    a.raise_in("mtu_set", RTE_ETH_EVENT_INTR_LSC);
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
    EXPECT_EQ(watch.rc, -EBUSY);
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, &watch), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    EXPECT_EQ(a.settings().mtu, 1400);
    EXPECT_EQ(port.sub(0).removals, 0U);
    EXPECT_EQ(detach(a.name()), 0);
    expect_no_late_access({&a, &b});
}

TEST_F(Detach, AnApplicationMayCloseThePortInTheDestroyEventOfADetach) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
    struct Watch {
        std::uint16_t below, above;
        int closed = -1;
    } watch{.below = a.port().raw(), .above = port.id()};
    const auto on_destroy = [](std::uint16_t id, rte_eth_event_type, void *arg, void *) {
        auto &w = *static_cast<Watch *>(arg);
        if (id != w.below)
            return 0;
        w.below = RTE_MAX_ETHPORTS;
        (void)rte_eth_dev_stop(w.above);
        w.closed = rte_eth_dev_close(w.above);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, on_destroy, &watch), 0);
    EXPECT_EQ(detach(a.name()), 0);
    EXPECT_EQ(watch.closed, 0);
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, on_destroy, &watch), 0);
    EXPECT_EQ(port.detach(), 0);
    EXPECT_FALSE(a.there());
    EXPECT_FALSE(b.there());
    expect_no_late_access({&a, &b});
}

} // namespace
} // namespace holdfast::test
