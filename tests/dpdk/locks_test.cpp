// SPDX-License-Identifier: BSD-3-Clause
// The lock rules: each test hangs (the watchdog ends it) or faults when its rule is broken.
#include "dpdk/control_calls.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class Locks : public WithPorts {
  protected:
    static Shape with_events() {
        Shape shape;
        shape.conf.intr_conf.lsc = 1;
        return shape;
    }
    /// Brings the host thread into a probe of `m` that takes long. False: it did not come there.
    static bool host_is_inside_a_probe(const Mayfly &m, std::chrono::milliseconds how_long) {
        const std::int64_t probes = m.calls("probe");
        m.delay("probe", how_long);
        m.plug();
        return eventually([&] { return m.calls("probe") > probes; });
    }
};

// F95: a callback of ours runs inside a control call of ours, with the port's mutex held by the same thread.
TEST_F(Locks, EventsRaisedInsideAnOperationOfASubDeviceDoNotDeadlock) {
    for (const rte_eth_event_type event : {RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_INTR_LSC}) {
        for (const char *op :
             {"mtu_set", "promiscuous_enable", "mac_addr_set", "stats_get", "dev_stop", "dev_configure", "dev_start"}) {
            SCOPED_TRACE(std::string(op) + ", event " + std::to_string(event));
            Mayfly a, b;
            Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
            ASSERT_EQ(port.up(pool(), with_events()), 0);
            ASSERT_TRUE(eventually([&] { return port.joined(1); }));
            b.raise_in(op, event);
            EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
            EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
            rte_ether_addr mac{{2, 0, 0, 0, 0, 5}};
            EXPECT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
            (void)port.stats();
            EXPECT_EQ(port.stop(), 0);
            EXPECT_EQ(port.configure(with_events()), 0);
            EXPECT_EQ(port.set_up_queues({}, pool()), 0);
            EXPECT_EQ(port.start(), 0);
            if (event == RTE_ETH_EVENT_INTR_RMV) {
                EXPECT_TRUE(eventually([&] { return port.sub(1).removals == 1; }));
            }
            EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
            EXPECT_EQ(b.settings().mtu, 1500);
            EXPECT_EQ(b.settings().promiscuous, 1);
        }
    }
}

struct Reentry {
    std::uint16_t port = 0;
    std::atomic<int> calls{0};
    std::atomic<int> errors{0};
};

// An application does in its callback what it likes with the port.
TEST_F(Locks, AnApplicationMayCallThePortFromItsLinkCallback) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    Reentry reentry;
    const auto on_link = [](std::uint16_t id, rte_eth_event_type, void *arg, void *) {
        auto &self = *static_cast<Reentry *>(arg);
        rte_eth_link link{};
        rte_eth_stats stats{};
        rte_eth_dev_info info{};
        self.errors += rte_eth_link_get(id, &link) != 0;
        self.errors += rte_eth_stats_get(id, &stats) != 0;
        self.errors += rte_eth_dev_info_get(id, &info) != 0;
        self.errors += rte_eth_dev_set_mtu(id, 1400) != 0;
        self.errors += rte_eth_promiscuous_enable(id) != 0;
        self.errors += rte_eth_dev_stop(id) != 0;
        self.errors += rte_eth_dev_start(id) != 0;
        self.calls++;
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(port.id(), RTE_ETH_EVENT_INTR_LSC, on_link, &reentry), 0);
    b.link(false);
    a.link(false);
    EXPECT_TRUE(eventually([&] { return reentry.calls.load() >= 1; }));
    a.link(true);
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
    // ethdev keeps a callback that runs, and it has the port stopped for a while.
    EXPECT_TRUE(eventually(
        [&] { return rte_eth_dev_callback_unregister(port.id(), RTE_ETH_EVENT_INTR_LSC, on_link, &reentry) == 0; }));
    EXPECT_EQ(reentry.errors.load(), 0);
    EXPECT_EQ(send(port), 1);
}

// Every other time the host thread has work at the same port, and would tell the application as well if that were its.
TEST_F(Locks, AnApplicationMayCloseThePortInItsLinkCallback) {
    for (int round = 0; round < 40; round++) {
        Mayfly a, b;
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool(), with_events()), 0);
        Reentry reentry{.port = port.id()};
        const auto on_link = [](std::uint16_t id, rte_eth_event_type, void *arg, void *) {
            auto &self = *static_cast<Reentry *>(arg);
            if (id != self.port)
                return 0;
            self.errors += rte_eth_dev_stop(id) != 0;
            self.errors += rte_eth_dev_close(id) != 0;
            self.calls++;
            return 0;
        };
        ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, &reentry), 0);
        if (round % 2 == 1)
            b.unplug();
        b.link(false);
        a.link(false);
        ASSERT_TRUE(eventually([&] { return reentry.calls.load() == 1; }));
        EXPECT_EQ(reentry.errors.load(), 0);
        EXPECT_FALSE(a.there());
        EXPECT_FALSE(b.there());
        // Not while the callback runs. (For all ports, because ethdev keeps those of a port that is gone.)
        EXPECT_TRUE(eventually([&] {
            return rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, &reentry) == 0;
        }));
        EXPECT_EQ(port.detach(), 0);
    }
}

// The bus's lock is free, or soon free, for others while the host thread is inside a probe.
TEST_F(Locks, AnotherPortCanBeAttachedAndDetachedWhileASlowProbeIsUnderWay) {
    Mayfly slow, other, third;
    slow.unplug();
    Vport port(devargs_of({&slow}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(host_is_inside_a_probe(slow, 1s));
    {
        Vport second(devargs_of({&other}, "hotplug_poll=5"));
        ASSERT_EQ(second.rc(), 0);
        ASSERT_EQ(rte_vdev_init(third.name().c_str(), ""), 0);
        ASSERT_EQ(second.up(pool()), 0);
        EXPECT_EQ(rte_vdev_uninit(third.name().c_str()), 0);
        EXPECT_TRUE(eventually([&] { return second.joined(0); })) << "when it is its turn";
    }
    slow.clear();
    EXPECT_TRUE(eventually([&] { return port.joined(0); }));
}

TEST_F(Locks, SettingsOfAPortDoNotWaitForItsOwnSlowProbe) {
    Mayfly a, slow;
    slow.unplug();
    Vport port(devargs_of({&a, &slow}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(host_is_inside_a_probe(slow, 2s));
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
    EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    (void)port.stats();
    EXPECT_EQ(port.stop(), 0);
    EXPECT_EQ(port.up(pool()), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1300), 0);
    EXPECT_EQ(send(port), 1);
    EXPECT_FALSE(slow.there()) << "no mutex of ours is held across a probe";
    slow.clear();
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(slow.settings().mtu, 1300);
}

// rte_dev_probe() does not hold the bus's lock, and the new port finds another one's hot-plug under way.
TEST_F(Locks, APortMadeWhileAnotherOneProbesTakesItsSubDevicesMacAllTheSame) {
    Mayfly slow, quick("mac=02:00:00:00:77:01");
    slow.unplug();
    Vport first(devargs_of({&slow}, "hotplug_poll=5"));
    ASSERT_EQ(first.up(pool()), 0);
    ASSERT_TRUE(host_is_inside_a_probe(slow, 1s));
    const std::string name = unique("net_holdfast");
    ASSERT_EQ(rte_dev_probe((name + "," + quick.dev()).c_str()), 0);
    std::uint16_t id = 0;
    ASSERT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &id), 0);
    rte_ether_addr mac{};
    EXPECT_EQ(rte_eth_macaddr_get(id, &mac), 0);
    EXPECT_EQ(mac.addr_bytes[0], 0x02);
    EXPECT_EQ(mac.addr_bytes[4], 0x77);
    EXPECT_EQ(mac.addr_bytes[5], 0x01);
    EXPECT_EQ(rte_eth_dev_close(id), 0);
    EXPECT_EQ(rte_vdev_uninit(name.c_str()), 0);
    slow.clear();
    EXPECT_TRUE(eventually([&] { return first.joined(0); }));
}

// The bus holds its lock around our remove, and the host thread wants it for the probe that it is in.
TEST_F(Locks, DetachWithoutCloseWhileTheHostThreadProbesEndsAndLeavesNothing) {
    for (int round = 0; round < 3; round++) {
        Mayfly a, slow;
        slow.unplug();
        Vport port(devargs_of({&a, &slow}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(host_is_inside_a_probe(slow, 1500ms));
        EXPECT_EQ(port.detach(), 0);
        slow.clear();
        EXPECT_TRUE(eventually([&] { return !slow.there() && !a.there(); }))
            << "what was probed meanwhile is an orphan";
        expect_no_late_access({&a, &slow});
    }
}

TEST_F(Locks, CloseWhileTheHostThreadProbesEndsAndLeavesNothing) {
    for (int round = 0; round < 3; round++) {
        Mayfly a, slow;
        slow.unplug();
        Vport port(devargs_of({&a, &slow}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(host_is_inside_a_probe(slow, 300ms));
        EXPECT_EQ(port.close(), 0);
        EXPECT_FALSE(a.there());
        EXPECT_FALSE(slow.there()) << "close waits, so nothing comes afterwards";
        slow.clear();
    }
}

TEST_F(Locks, CloseWhileTheHostThreadIsInsideAnyStepOfAPlugInEndsAndLeavesNothing) {
    for (const char *op : {"probe", "dev_infos_get", "dev_configure", "rx_queue_setup", "dev_start", "mac_addr_set"}) {
        SCOPED_TRACE(op);
        Mayfly a, slow;
        slow.unplug();
        Vport port(devargs_of({&a, &slow}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool()), 0);
        const std::int64_t calls = slow.calls(op);
        slow.delay(op, 100ms);
        slow.plug();
        ASSERT_TRUE(eventually([&] { return slow.calls(op) > calls; }));
        EXPECT_EQ(port.close(), 0);
        EXPECT_FALSE(a.there());
        EXPECT_FALSE(slow.there());
        slow.clear();
        expect_no_late_access({&a, &slow});
    }
}

TEST_F(Locks, DetachWithoutCloseWhileASubDeviceIsBeingTakenOffEndsAndLeavesNothing) {
    for (const char *op : {"dev_close", "remove", "dev_stop"}) {
        SCOPED_TRACE(op);
        Mayfly a, slow;
        Vport port(devargs_of({&a, &slow}, "hotplug_poll=5"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        const std::int64_t calls = slow.calls(op);
        slow.delay(op, 1s);
        slow.unplug();
        ASSERT_TRUE(eventually([&] { return slow.calls(op) > calls; }));
        EXPECT_EQ(port.detach(), 0);
        slow.clear();
        EXPECT_TRUE(eventually([&] { return !slow.there() && !a.there(); }));
        expect_no_late_access({&a, &slow});
    }
}

// A removal reported while the application holds the port's mutex in a long call: the traffic moves all the same.
TEST_F(Locks, ARemovalIsHandledByTheDataPathWhileAControlCallIsSlow) {
    Mayfly a, b, slow;
    Vport port(devargs_of({&a, &b, &slow}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(2); }));
    const std::int64_t calls = slow.calls("mtu_set");
    slow.delay("mtu_set", 2s);
    std::atomic<bool> done{false};
    std::thread setter([&] {
        EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
        done.store(true);
    });
    EXPECT_TRUE(eventually([&] { return slow.calls("mtu_set") > calls; }));
    a.unplug();
    EXPECT_EQ(send(port, 4), 4);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 4);
    EXPECT_FALSE(done.load()) << "the removal waited for the call";
    setter.join();
    EXPECT_TRUE(eventually([&] { return !a.there(); }));
}

// F94
TEST_F(Locks, ControlCallsFromManyThreadsDuringPlugCyclesEnd) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    ControlCalls calls(port.id());
    for (int i = 0; i < 60; i++) {
        const std::uint8_t sub = static_cast<std::uint8_t>(i % 2);
        const Mayfly &m = sub == 0 ? a : b;
        if (i % 3 == 0)
            m.unplug_planned();
        else
            m.unplug();
        EXPECT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
        m.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(sub); })) << port.sub(sub).reason;
    }
    calls.end();
    EXPECT_EQ(a.settings().mtu, b.settings().mtu);
    EXPECT_EQ(a.settings().promiscuous, b.settings().promiscuous);
    EXPECT_EQ(a.settings().mac[5], b.settings().mac[5]);
    expect_no_late_access({&a, &b});
}

// Ports that come and go in one thread while sub-devices of another port do so in the host thread.
TEST_F(Locks, AttachAndDetachOfPortsDuringPlugCyclesOfAnotherPort) {
    Mayfly cycling, a, b;
    Vport port(devargs_of({&cycling}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    std::atomic<bool> stop{false};
    std::thread cycler([&] {
        while (!stop.load()) {
            (void)rte_pmd_mayfly_unplug(cycling.name().c_str(), RTE_PMD_MAYFLY_SYNC);
            (void)eventually([&] { return !cycling.there() || stop.load(); });
            (void)rte_pmd_mayfly_plug(cycling.name().c_str());
            (void)eventually([&] { return cycling.there() || stop.load(); });
        }
    });
    for (int i = 0; i < 40; i++) {
        Vport other(devargs_of({&a, &b}, "hotplug_poll=10000"));
        ASSERT_EQ(other.rc(), 0);
        // Who attaches holds the bus's lock: the host thread must not sit on the turn to hot-plug and wait for it.
        EXPECT_TRUE(other.state(0) == "probed" && other.state(1) == "probed") << "not at once, but later";
        ASSERT_EQ(other.up(pool()), 0);
        if (i % 2 == 0) {
            EXPECT_EQ(other.detach(), 0);
        }
    }
    stop.store(true);
    cycler.join();
    (void)rte_pmd_mayfly_plug(cycling.name().c_str());
    EXPECT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_TRUE(eventually([&] { return !a.there() && !b.there(); }));
}

} // namespace
} // namespace holdfast::test
