// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that are absent, come, leave and come back. (FAULTS.md, section 9.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class Hotplug : public WithPorts {};

TEST_F(Hotplug, APortComesUpWithTheSubDevicesThatAreThere) {
    Mayfly away, here("mode=loop");
    away.unplug();
    Vport port(devargs_of({&away, &here}));
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(port.state(0), "absent");
    EXPECT_EQ(send(port, 3), 3);
    EXPECT_EQ(receive(port), 3);
}

// F79
TEST_F(Hotplug, APortWithoutAnySubDeviceComesUpWithItsLinkDown) {
    Mayfly a, b;
    a.unplug();
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
    EXPECT_EQ(port.active(), -1);
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(send(port), 1);
}

TEST_F(Hotplug, ThePreferredSubDeviceBecomesActiveAgainWhenItReturns) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 5; i++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
        a.unplug();
        EXPECT_EQ(port.active(), 1) << "at once";
        ASSERT_TRUE(eventually([&] { return !a.there(); }));
        a.plug();
    }
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_EQ(port.active(), 0);
    const std::int64_t before = a.count(RTE_PMD_MAYFLY_TX_PACKETS);
    EXPECT_EQ(send(port, 9), 9);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), before + 9);
    // One that is not preferred does not take over.
    c.unplug();
    ASSERT_TRUE(eventually([&] { return !c.there(); }));
    c.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(2); }));
    EXPECT_EQ(port.active(), 0);
}

TEST_F(Hotplug, ASwitchByHandStaysAlsoWhenThePreferredOneReturns) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(2); }));
    ASSERT_TRUE(port.switch_to(2).ok());
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    a.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_EQ(port.active(), 2);
    c.unplug();
    EXPECT_EQ(port.active(), 0);
    EXPECT_EQ(port.switch_to(2).code(), -EAGAIN);
    EXPECT_EQ(port.switch_to(3).code(), -ENOENT);
    EXPECT_EQ(port.switch_to(16).code(), -EINVAL);
}

TEST_F(Hotplug, RemovedByHandStaysAbsentUntilItIsPluggedByHand) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    EXPECT_EQ(port.active(), 1) << "at once";
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_FALSE(a.there());
    EXPECT_EQ(port.sub(0).reason, "removed by hand");
    EXPECT_FALSE(port.sub(0).wanted);
    const std::int64_t probes = a.calls("probe");
    EXPECT_TRUE(always([&] { return !a.there(); }, 100ms));
    EXPECT_EQ(a.calls("probe"), probes) << "it is not even looked for";
    // Not by a new configuration either.
    ASSERT_EQ(port.stop(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_TRUE(always([&] { return !a.there(); }, 30ms));
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    EXPECT_EQ(port.remove_by_hand(2).code(), -ENOENT);
    EXPECT_EQ(port.plug_by_hand(2).code(), -ENOENT);
}

TEST_F(Hotplug, RemoveAndPlugAtOnceEndsWithASubDeviceThatWorks) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 100; i++) {
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        if (i % 3 == 1)
            std::this_thread::yield();
        if (i % 3 == 2)
            std::this_thread::sleep_for(100us);
        ASSERT_TRUE(port.plug_by_hand(0).ok());
    }
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    EXPECT_TRUE(always([&] { return port.joined(0); }, 50ms));
    while (receive(port) != 0)
        ;
    EXPECT_EQ(send(port, 4), 4);
    EXPECT_EQ(receive(port), 4);
    expect_no_late_access({&a, &b});
}

TEST_F(Hotplug, ASubDeviceThatIsRemovedByHandWhileItIsProbedDoesNotJoin) {
    Mayfly a, b;
    b.unplug();
    b.delay("probe", 50ms);
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(port.remove_by_hand(1).ok());
    // No probe is under way and none begins.
    std::int64_t probes = -1;
    ASSERT_TRUE(eventually([&] {
        const std::int64_t before = b.calls("probe");
        std::this_thread::sleep_for(120ms);
        probes = b.calls("probe");
        return probes == before;
    }));
    b.plug();
    ASSERT_TRUE(port.plug_by_hand(1).ok());
    ASSERT_TRUE(eventually([&] { return b.calls("probe") > probes; }));
    ASSERT_TRUE(port.remove_by_hand(1).ok());
    // The probe that is under way gives it a port for a moment.
    EXPECT_TRUE(eventually([&] { return always([&] { return port.state(1) == "absent" && !b.there(); }, 150ms); }));
    EXPECT_EQ(b.calls("dev_start"), 0);
}

// F106
TEST_F(Hotplug, SubDevicesOfEightPortsThatComeAtOnceAllJoin) {
    std::vector<std::unique_ptr<Mayfly>> mayflies;
    std::vector<std::unique_ptr<Vport>> ports;
    for (int i = 0; i < 8; i++) {
        Mayfly &m = *mayflies.emplace_back(std::make_unique<Mayfly>());
        m.unplug();
        ASSERT_EQ(ports.emplace_back(std::make_unique<Vport>(devargs_of({&m})))->up(pool()), 0);
    }
    for (const auto &m : mayflies)
        m->plug();
    for (const auto &p : ports) {
        EXPECT_TRUE(eventually([&] { return p->joined(0); })) << p->name();
    }
    for (const auto &p : ports) {
        EXPECT_EQ(send(*p), 1);
    }
}

// F111: asked to leave, and the request is taken back before or after it left.
TEST_F(Hotplug, APlannedUnplugThatIsTakenBackEndsWithASubDeviceThatWorks) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    for (int i = 0; i < 40; i++) {
        a.unplug_planned();
        if (i % 2 == 0) {
            ASSERT_TRUE(eventually([&] { return !a.there(); }));
        }
        a.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << i;
    }
    EXPECT_EQ(send(port), 1);
    expect_no_late_access({&a, &b});
}

// A planned unplug lets the device work until its port is closed, so nothing that was accepted before is lost.
TEST_F(Hotplug, APlannedUnplugLosesNoPacket) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    std::int64_t sent = 0;
    for (int i = 0; i < 30; i++) {
        sent += send(port, 7);
        a.unplug_planned();
        sent += send(port, 7);
        ASSERT_TRUE(eventually([&] { return !a.there(); }));
        sent += send(port, 7);
        a.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    }
    EXPECT_EQ(sent, 30 * 21);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS) + b.count(RTE_PMD_MAYFLY_TX_PACKETS), sent);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_DEAD), 0);
}

// Each port waits for its own interval. (F3)
TEST_F(Hotplug, ThePollIntervalBelongsToOnePort) {
    Mayfly a, b;
    a.unplug();
    b.unplug();
    Vport fast(devargs_of({&a}, "hotplug_poll=5"));
    Vport slow(devargs_of({&b}, "hotplug_poll=86400000"));
    ASSERT_EQ(fast.rc(), 0);
    ASSERT_EQ(slow.rc(), 0);
    // The first look may be the host thread's: while a port is attached, a probe of another port can be under way.
    ASSERT_TRUE(eventually([&] { return !slow.sub(0).reason.empty(); }));
    const std::int64_t slow_probes = b.calls("probe"), fast_probes = a.calls("probe");
    EXPECT_TRUE(eventually([&] { return a.calls("probe") >= fast_probes + 10; }));
    EXPECT_EQ(b.calls("probe"), slow_probes);
}

} // namespace
} // namespace holdfast::test
