// SPDX-License-Identifier: BSD-3-Clause
// A device is gone, and its driver spins for seconds over dead registers when it is stopped and closed. That is the
// host thread's time, and nobody else's. (A stray pause of this machine is far below the driver's.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::test {
namespace {

constexpr std::chrono::milliseconds kSpins = 3s;

class DeadDevice : public WithPorts {
  protected:
    /// Brings the host thread into a call of a driver that hangs, for a device that is gone.
    static bool host_hangs_in(const Mayfly &m, const char *op) {
        const std::int64_t calls = m.calls(op);
        m.delay(op, kSpins);
        m.unplug();
        return eventually([&] { return m.calls(op) > calls; });
    }
};

TEST_F(DeadDevice, ControlCallsOfThePortDoNotWaitForItsDriver) {
    for (const char *op : {"dev_stop", "dev_close"}) {
        SCOPED_TRACE(op);
        Mayfly a("mode=loop"), b("mode=loop");
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        EXPECT_EQ(send(port, 4), 4);
        ASSERT_TRUE(host_hangs_in(a, op));
        const std::string before = port.state(0);
        EXPECT_EQ(send(port, 4), 4);
        EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 4);
        EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
        EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
        EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_UP);
        EXPECT_GE(port.stats().opackets, 4U);
        EXPECT_EQ(rte_eth_stats_reset(port.id()), 0);
        EXPECT_EQ(port.stats().opackets, 0U);
        EXPECT_EQ(port.stop(), 0);
        EXPECT_EQ(port.up(pool()), 0);
        EXPECT_EQ(send(port, 2), 2);
        EXPECT_TRUE(a.there()) << "the driver was faster than all of this";
        EXPECT_EQ(port.state(0), before);
        EXPECT_TRUE(eventually([&] { return !a.there(); }));
        EXPECT_EQ(port.stats().opackets, 2U) << "what the lost one had counted before the reset came back";
        a.clear();
        a.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(a.settings().mtu, 1500) << "configured anew after the MTU was set";
        EXPECT_EQ(a.settings().promiscuous, 1);
        expect_no_late_access({&a, &b});
    }
}

TEST_F(DeadDevice, OtherPortsDoNotWaitForItsDriver) {
    for (const char *op : {"dev_stop", "dev_close"}) {
        SCOPED_TRACE(op);
        Mayfly a, b, c, d;
        Vport port(devargs_of({&a})), other(devargs_of({&b, &c}));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_EQ(other.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return other.joined(1); }));
        ASSERT_TRUE(host_hangs_in(a, op));
        EXPECT_EQ(rte_eth_dev_set_mtu(other.id(), 1400), 0);
        b.unplug();
        EXPECT_EQ(send(other, 4), 4);
        EXPECT_EQ(c.count(RTE_PMD_MAYFLY_TX_PACKETS), 4);
        {
            Vport third(devargs_of({&d}));
            ASSERT_EQ(third.rc(), 0);
            EXPECT_EQ(third.state(0), "probed") << "it was not plugged in with the port";
            EXPECT_EQ(third.up(pool()), 0);
            EXPECT_EQ(send(third, 1), 1);
        }
        EXPECT_TRUE(a.there()) << "the driver was faster than all of this";
        EXPECT_TRUE(eventually([&] { return !a.there() && !b.there(); }));
    }
}

TEST_F(DeadDevice, ClosingOrDetachingThePortMeanwhileLeavesNothing) {
    for (const char *op : {"dev_stop", "dev_close"})
        for (const bool close : {true, false}) {
            SCOPED_TRACE(std::string(op) + (close ? ", close" : ", detach"));
            Mayfly a, b;
            Vport port(devargs_of({&a, &b}));
            ASSERT_EQ(port.up(pool()), 0);
            ASSERT_TRUE(eventually([&] { return port.joined(1); }));
            ASSERT_TRUE(host_hangs_in(a, op));
            EXPECT_EQ(close ? port.close() : port.detach(), 0);
            EXPECT_TRUE(eventually([&] { return !a.there() && !b.there(); }));
            expect_no_late_access({&a, &b});
        }
}

TEST_F(DeadDevice, SeveralThatHangAtOnceAreAllTakenDown) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(2); }));
    b.delay("dev_stop", 500ms);
    b.delay("dev_close", 500ms);
    ASSERT_TRUE(host_hangs_in(a, "dev_stop"));
    b.unplug();
    EXPECT_EQ(send(port, 1), 1);
    EXPECT_EQ(c.count(RTE_PMD_MAYFLY_TX_PACKETS), 1);
    EXPECT_TRUE(eventually([&] { return !a.there() && !b.there(); }));
    expect_no_late_access({&a, &b, &c});
}

} // namespace
} // namespace holdfast::test
