// SPDX-License-Identifier: BSD-3-Clause
// What a sub-device, or somebody else, tells about it: too late, twice, or meant for another one. (FAULTS.md,
// section 9.)
#include "support/stub_driver.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

class HotplugEvents : public WithPorts {};

// F96
TEST_F(HotplugEvents, TheNextOwnerOfAPortIdKeepsItsEventsToItself) {
    Mayfly a, b, stranger;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=60000"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const PortId id = a.port();
    a.unplug();
    // ethdev lets go of the id a moment after the driver has closed the port.
    ASSERT_TRUE(eventually([&] { return !a.there() && rte_eth_dev_is_valid_port(id.raw()) == 0; }));
    ASSERT_EQ(rte_vdev_init(stranger.name().c_str(), ""), 0);
    ASSERT_EQ(stranger.port(), id) << "the id is used again";
    const auto before = port.describe();
    stranger.raise(RTE_ETH_EVENT_INTR_RMV);
    EXPECT_TRUE(always([&] { return port.active() == 1; }, 50ms));
    EXPECT_EQ(port.sub(0).removals, before.subs[0].removals);
    EXPECT_TRUE(stranger.there()) << "not ours to take away";
    EXPECT_EQ(rte_vdev_uninit(stranger.name().c_str()), 0);
}

// F97: the device is gone, and nobody has said so yet.
TEST_F(HotplugEvents, AControlCallOnASubDeviceThatIsGoneButDidNotSaySoFindsItOut) {
    Mayfly a, b("rmv=0");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    b.unplug();
    EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0) << "a sub-device that vanished is no error of the call";
    EXPECT_TRUE(eventually([&] { return !b.there(); }));
    EXPECT_EQ(a.settings().promiscuous, 1);
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(b.settings().promiscuous, 1);
}

TEST_F(HotplugEvents, StopAndStartOverASubDeviceThatIsGoneButDidNotSaySo) {
    for (const char *first : {"stop", "configure", "start"}) {
        SCOPED_TRACE(first);
        Mayfly a, b("rmv=0");
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        const auto gone_before = [&](const char *step) {
            if (std::string(first) == step)
                b.unplug();
        };
        gone_before("stop");
        ASSERT_EQ(port.stop(), 0);
        gone_before("configure");
        ASSERT_EQ(port.configure({}), 0);
        ASSERT_EQ(port.set_up_queues({}, pool()), 0);
        gone_before("start");
        ASSERT_EQ(port.start(), 0);
        EXPECT_TRUE(eventually([&] { return !b.there(); }));
        EXPECT_EQ(send(port), 1);
    }
}

// F99
TEST_F(HotplugEvents, TheApplicationsOwnCallbacksSurviveAVirtualPort) {
    Mayfly a, b;
    std::atomic<int> removals{0}, news{0};
    const auto count = [](std::uint16_t, rte_eth_event_type, void *arg, void *) {
        static_cast<std::atomic<int> *>(arg)->fetch_add(1);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, count, &removals), 0);
    ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, count, &news), 0);
    int device_events = 0;
    const auto on_device = [](const char *, rte_dev_event_type, void *arg) { ++*static_cast<int *>(arg); };
    ASSERT_EQ(rte_dev_event_callback_register(nullptr, on_device, &device_events), 0);
    {
        Vport port(a.dev());
        ASSERT_EQ(port.up(pool()), 0);
        a.unplug();
        ASSERT_TRUE(eventually([&] { return !a.there(); }));
    }
    EXPECT_EQ(removals.load(), 1);
    EXPECT_GE(news.load(), 1) << "the virtual port itself";
    ASSERT_EQ(rte_vdev_init(b.name().c_str(), ""), 0);
    b.raise(RTE_ETH_EVENT_INTR_RMV);
    EXPECT_EQ(removals.load(), 2);
    rte_dev_event_callback_process("net_something", RTE_DEV_EVENT_ADD);
    EXPECT_EQ(device_events, 1);
    EXPECT_EQ(rte_vdev_uninit(b.name().c_str()), 0);
    EXPECT_GT(rte_dev_event_callback_unregister(nullptr, on_device, &device_events), 0);
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, count, &removals), 0);
    EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, count, &news), 0);
}

// F100: the event socket is the application's, before us, beside us and after us.
TEST_F(HotplugEvents, TheApplicationsOwnListeningForDeviceEventsWorksAroundAVirtualPort) {
    const auto own_socket = [] {
        const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        address.nl_groups = 1;
        EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0) << std::strerror(errno);
        ::close(fd);
    };
    for (const bool monitor_first : {true, false}) {
        SCOPED_TRACE(monitor_first);
        Mayfly a, b;
        if (monitor_first) {
            ASSERT_EQ(rte_dev_event_monitor_start(), 0);
        }
        own_socket();
        {
            Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
            ASSERT_EQ(port.up(pool()), 0);
            if (!monitor_first) {
                ASSERT_EQ(rte_dev_event_monitor_start(), 0);
            }
            own_socket();
            a.unplug();
            ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
            a.plug();
            ASSERT_TRUE(eventually([&] { return port.joined(0); }));
            if (monitor_first) {
                ASSERT_EQ(rte_dev_event_monitor_stop(), 0);
            }
            b.unplug();
            ASSERT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
            b.plug();
            ASSERT_TRUE(eventually([&] { return port.joined(1); }));
            EXPECT_EQ(send(port), 1);
        }
        own_socket();
        if (!monitor_first) {
            EXPECT_EQ(rte_dev_event_monitor_stop(), 0);
        }
    }
}

// F102
TEST_F(HotplugEvents, DoubledAndSwappedEventsEndInTheStateThatTheSystemIsIn) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 30; i++) {
        (void)rte_pmd_mayfly_unplug(b.name().c_str(), RTE_PMD_MAYFLY_SYNC);
        (void)rte_pmd_mayfly_plug(b.name().c_str());
        (void)rte_pmd_mayfly_raise(b.name().c_str(), RTE_ETH_EVENT_INTR_RMV, RTE_PMD_MAYFLY_SYNC);
        (void)rte_pmd_mayfly_unplug(b.name().c_str(), RTE_PMD_MAYFLY_SYNC);
        (void)rte_pmd_mayfly_raise(b.name().c_str(), RTE_ETH_EVENT_INTR_RMV, RTE_PMD_MAYFLY_SYNC);
        if (i % 2 == 0)
            (void)rte_pmd_mayfly_plug(b.name().c_str());
        ASSERT_TRUE(eventually([&] { return i % 2 == 0 ? port.joined(1) : port.state(1) == "absent"; })) << i;
    }
    (void)rte_pmd_mayfly_plug(b.name().c_str());
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_TRUE(always([&] { return port.joined(1); }, 50ms));
    EXPECT_EQ(port.active(), 0);
    expect_no_late_access({&a, &b});
}

// What says nothing about whether it can carry traffic. (Errors and resets: dpdk.recovery.)
TEST_F(HotplugEvents, OtherEventsOfASubDeviceLeaveItInTheTraffic) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    for (const rte_eth_event_type event :
         {RTE_ETH_EVENT_QUEUE_STATE, RTE_ETH_EVENT_VF_MBOX, RTE_ETH_EVENT_MACSEC, RTE_ETH_EVENT_FLOW_AGED}) {
        a.raise(event);
        EXPECT_EQ(send(port, 2), 2);
        EXPECT_EQ(receive(port) + receive(port), 2);
    }
    EXPECT_EQ(port.sub(0).removals, 0U);
}

// The application (or its operator) detaches a sub-device behind our back. DESTROY is the last that we hear of it.
TEST_F(HotplugEvents, ASubDeviceThatSomebodyElseClosesIsForgottenAndComesBack) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const std::uint16_t below = b.port().raw();
    ASSERT_EQ(rte_eth_dev_stop(below), 0);
    ASSERT_EQ(rte_eth_dev_close(below), 0);
    EXPECT_TRUE(eventually([&] { return port.sub(1).removals == 1; }));
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(send(port), 1);
}

// F105: a device with two ports, the first of which is a sub-device.
TEST_F(HotplugEvents, OfADeviceWithTwoPortsTheFirstIsTakenAndTheOtherLivesOn) {
    const StubDriver driver("holdfast_twin", {.ports = 2});
    const std::string name = driver.device();
    std::uint16_t second = 0;
    {
        Mayfly m;
        Vport port("dev(" + name + ")," + m.dev());
        ASSERT_EQ(port.rc(), 0);
        const std::uint16_t first = StubDriver::port(name, 0);
        second = StubDriver::port(name, 1);
        EXPECT_EQ(port.sub(0).port, PortId{first});
        rte_eth_dev_owner owner{};
        ASSERT_EQ(rte_eth_dev_owner_get(second, &owner), 0);
        EXPECT_EQ(owner.id, static_cast<std::uint64_t>(RTE_ETH_DEV_NO_OWNER)) << "the other one is the application's";
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && rte_eth_dev_is_valid_port(first) == 0; }));
        EXPECT_NE(rte_eth_dev_is_valid_port(second), 0) << "its device has to stay";
    }
    EXPECT_NE(rte_eth_dev_is_valid_port(second), 0);
    EXPECT_EQ(rte_vdev_uninit(name.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_is_valid_port(second), 0);
}

} // namespace
} // namespace holdfast::test
