// SPDX-License-Identifier: BSD-3-Clause
// When the active sub-device becomes another one, and when not.
#include "support/captured_log.h"
#include "support/virtual_port.h"
#include <rte_pmd_holdfast.h>

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>

namespace holdfast::test {
namespace {

class Switching : public WithPorts {
  protected:
    /// The application's packets go to this one.
    [[nodiscard]] bool carries(const Vport &port, const Mayfly &m) const {
        const std::int64_t before = m.count(RTE_PMD_MAYFLY_TX_PACKETS);
        const std::uint16_t sent = send(port);
        return sent == 1 && m.count(RTE_PMD_MAYFLY_TX_PACKETS) == before + 1;
    }
    static bool both_joined(const Vport &port) {
        return eventually([&] { return port.joined(0) && port.joined(1); });
    }
};

// FAULTS F81. In-tree net_failsafe loses all traffic until the link returns.
TEST_F(Switching, TheLossOfTheActiveLinkMovesTheTrafficInTheEventItself) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    ASSERT_TRUE(carries(port, a));
    a.link(false); // raises the event before it returns, so nobody had time to help
    EXPECT_TRUE(carries(port, b));
    EXPECT_EQ(port.active(), 1);
    a.link(true);
    EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
    EXPECT_TRUE(carries(port, a));
}

TEST_F(Switching, ADriverWithoutLinkEventsIsPolled) {
    Mayfly a("lsc=0"), b("lsc=0");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
    EXPECT_TRUE(carries(port, b));
    a.link(true);
    EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
}

TEST_F(Switching, WithSwitchOnRemovalALinkChangesNothing) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "switch_on=removal"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    EXPECT_TRUE(always([&] { return port.active() == 0; }, 100ms));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN) << "the port's link is that of its active one";
    a.unplug();
    EXPECT_EQ(port.active(), 1);
}

TEST_F(Switching, WithoutAnyLinkNobodyIsActiveAndTxIsHeld) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    b.link(false);
    EXPECT_EQ(port.active(), -1);
    EXPECT_EQ(send(port), 0);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
    b.link(true);
    EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
    EXPECT_TRUE(carries(port, b));
}

TEST_F(Switching, APortWhosePreferredOneHasNoLinkStartsOnTheOther) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    a.link(false);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_UP);
    EXPECT_TRUE(carries(port, b));
}

TEST_F(Switching, WithReselectFailureThePreferredOneWaitsForTheOtherToFail) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "reselect=failure,hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    ASSERT_EQ(port.active(), 1);
    a.link(true);
    EXPECT_TRUE(always([&] { return port.active() == 1; }, 100ms));
    b.unplug();
    EXPECT_EQ(port.active(), 0);
    b.plug();
    ASSERT_TRUE(both_joined(port));
    EXPECT_EQ(port.active(), 0);
}

TEST_F(Switching, WithReselectBetterOnlyAFasterPreferredOneTakesOver) {
    Mayfly slow("speed=1000"), fast("speed=25000"), same("speed=25000");
    for (const auto &[first, second, returns] : {std::tuple{&fast, &slow, true}, std::tuple{&fast, &same, false}}) {
        Vport port(devargs_of({first, second}, "reselect=better"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(both_joined(port));
        first->link(false);
        ASSERT_EQ(port.active(), 1);
        first->link(true);
        if (returns)
            EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
        else
            EXPECT_TRUE(always([&] { return port.active() == 1; }, 100ms));
    }
}

TEST_F(Switching, AShortBreakIsNoneWithADownDelay) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "down_delay=600000"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    EXPECT_TRUE(always([&] { return port.active() == 0; }, 100ms));
    a.link(true);
    EXPECT_TRUE(always([&] { return port.active() == 0; }, 50ms));
    EXPECT_EQ(port.describe().switches, 0U);
}

TEST_F(Switching, ADownDelayThatIsOverCounts) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "down_delay=20"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    a.link(false);
    EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
}

TEST_F(Switching, ALinkThatComesBackWaitsForTheUpDelay) {
    Mayfly a, b;
    for (const bool is_long : {true, false}) {
        Vport port(devargs_of({&a, &b}, is_long ? "up_delay=600000" : "up_delay=300"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(both_joined(port));
        EXPECT_EQ(port.active(), 0) << "the application's own start waits for nothing";
        a.link(false);
        a.link(true);
        if (is_long) {
            EXPECT_TRUE(always([&] { return port.active() == 1 && port.sub(0).link == "shaky"; }, 50ms));
        } else {
            EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
            EXPECT_EQ(port.sub(0).link, "up");
        }
    }
}

// FAULTS F86.
TEST_F(Switching, ALinkThatFlapsIsLeftAloneAndCounted) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    const CapturedLog log;
    for (int i = 0; i < 200; i++) {
        a.link(i % 2 != 0);
        if (i % 20 == 0)
            std::this_thread::sleep_for(5ms); // so that it is looked at in between
    }
    EXPECT_TRUE(eventually([&] { return port.sub(0).link_failures >= 2; }));
    const VirtualPort::Info info = port.describe();
    EXPECT_LE(info.switches, 5U);
    EXPECT_EQ(info.active.raw(), 1);
    EXPECT_LE(log.lines_with("the link of", a.name()), 4U) << log.text();
    EXPECT_TRUE(eventually([&] { return port.active() == 0; })) << "it is given another chance when it keeps still";
}

TEST_F(Switching, OneChosenByHandKeepsTheTrafficUntilItsLinkIsDown) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_TRUE(always([&] { return port.active() == 1; }, 50ms));
    b.link(false);
    EXPECT_EQ(port.active(), 0);
    EXPECT_EQ(port.switch_to(1).code(), -EAGAIN) << "it has no link";
    b.link(true);
    EXPECT_TRUE(always([&] { return port.active() == 0; }, 50ms));
}

// FAULTS F164: however it became active.
TEST_F(Switching, WhoeverIsActiveHasThePortsMacAddress) {
    Mayfly a("mac=02:00:00:00:00:0a"), b("mac=02:00:00:00:00:0b"), c("mac=02:00:00:00:00:0c");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    const auto expect_mac = [&](const Mayfly &m, std::uint8_t last) {
        EXPECT_TRUE(carries(port, m));
        EXPECT_EQ(m.settings().mac[5], last) << m.name();
        EXPECT_EQ(port.mac().addr_bytes[5], last);
    };
    expect_mac(a, 0x0a);
    a.link(false);
    expect_mac(b, 0x0a);
    ASSERT_EQ(rte_pmd_holdfast_add(port.id(), c.dev().c_str(), nullptr, 0), 2);
    ASSERT_TRUE(eventually([&] { return port.joined(2); }));
    b.unplug();
    expect_mac(c, 0x0a);
    a.link(true);
    ASSERT_TRUE(eventually([&] { return port.active() == 0; }));
    ASSERT_EQ(rte_pmd_holdfast_drop(port.id(), 0), 0);
    expect_mac(c, 0x0a);
    rte_ether_addr mac{.addr_bytes = {2, 0, 0, 0, 0, 0x1d}};
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
    expect_mac(c, 0x1d);
}

// FAULTS F175: a virtual function that nobody trusts.
TEST_F(Switching, ASubDeviceThatMayNotChangeItsModeOrItsMacAddressKeepsThemAndCarriesTraffic) {
    Mayfly vf("mac=02:00:00:00:00:0e"), b;
    vf.fail("mac_addr_set", EPERM);
    for (const char *op : {"promiscuous_enable", "allmulticast_enable"})
        vf.fail(op, EPERM);
    Vport port(devargs_of({&vf, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    EXPECT_EQ(port.mac().addr_bytes[5], 0x0e) << "the port has that of its first one";
    EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0) << "the other one can";
    EXPECT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
    EXPECT_TRUE(carries(port, vf));
    vf.unplug();
    ASSERT_TRUE(eventually([&] { return !vf.there(); }));
    EXPECT_TRUE(carries(port, b));
    vf.plug();
    ASSERT_TRUE(both_joined(port)) << port.sub(0).reason;
    EXPECT_TRUE(eventually([&] { return carries(port, vf); }));
}

// Threads that report losses of link while the control side weighs them.
TEST_F(Switching, LinksThatComeAndGoUnderTrafficLoseNoPacketOfTheApplication) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(both_joined(port));
    std::uint64_t sent = 0;
    for (int i = 0; i < 400; i++) {
        const Mayfly &m = i / 2 % 2 == 0 ? a : b; // the other one has its link
        m.link(i % 2 != 0);
        sent += send(port, 4);
    }
    EXPECT_EQ(sent, 1600U) << "one of the two could always carry traffic";
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS) + b.count(RTE_PMD_MAYFLY_TX_PACKETS), 1600);
    expect_no_late_access({&a, &b});
}

} // namespace
} // namespace holdfast::test
