// SPDX-License-Identifier: BSD-3-Clause
// The port's link is that of its active sub-device, and the application hears of each change once.
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

Shape with_events() {
    Shape shape;
    shape.conf.intr_conf.lsc = 1;
    return shape;
}

/// Counts the link events of a port for one scope.
class LinkEvents {
  public:
    explicit LinkEvents(const Vport &port) : port_(port.id()) {
        EXPECT_EQ(rte_eth_dev_callback_register(port_, RTE_ETH_EVENT_INTR_LSC, on_event, this), 0);
    }
    ~LinkEvents() { EXPECT_EQ(rte_eth_dev_callback_unregister(port_, RTE_ETH_EVENT_INTR_LSC, on_event, this), 0); }
    LinkEvents(const LinkEvents &) = delete;
    LinkEvents &operator=(const LinkEvents &) = delete;
    [[nodiscard]] int count() const { return count_.load(); }
    [[nodiscard]] bool up() const { return up_.load(); }

  private:
    static int on_event(std::uint16_t port, rte_eth_event_type, void *arg, void *) {
        auto &self = *static_cast<LinkEvents *>(arg);
        rte_eth_link link{};
        EXPECT_EQ(rte_eth_link_get_nowait(port, &link), 0);
        self.up_.store(link.link_status == RTE_ETH_LINK_UP);
        self.count_.fetch_add(1);
        return 0;
    }

    const std::uint16_t port_;
    std::atomic<int> count_{0};
    std::atomic<bool> up_{false};
};

class Link : public WithPorts {};

// F84
TEST_F(Link, IsValidRightAfterTheStart) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    const rte_eth_link link = port.link();
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_10G);
    EXPECT_EQ(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
    ASSERT_EQ(port.stop(), 0);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
}

// F80
TEST_F(Link, GoesDownWithTheLastSubDeviceWithOneEventPerChange) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const LinkEvents events(port);
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_UP) << "the standby's link is up";
    EXPECT_EQ(events.count(), 0);
    b.unplug();
    EXPECT_TRUE(eventually([&] { return events.count() == 1; }));
    EXPECT_FALSE(events.up());
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
    b.plug();
    EXPECT_TRUE(eventually([&] { return events.count() == 2; }));
    EXPECT_TRUE(events.up());
    EXPECT_TRUE(always([&] { return events.count() == 2; }, 250ms)) << events.count();
}

TEST_F(Link, ACableThatIsPulledAndPutBackIsTwoEvents) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    const LinkEvents events(port);
    for (int i = 1; i <= 10; i++) {
        m.link(i % 2 == 0);
        ASSERT_TRUE(eventually([&] { return events.count() == i; })) << i;
        EXPECT_EQ(events.up(), i % 2 == 0);
    }
    EXPECT_TRUE(always([&] { return events.count() == 10; }, 250ms));
}

// F82
TEST_F(Link, OfASubDeviceWithoutLinkEventsIsPolled) {
    Mayfly m("lsc=0");
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    const LinkEvents events(port);
    m.link(false);
    EXPECT_TRUE(eventually([&] { return events.count() == 1; }));
    EXPECT_FALSE(events.up());
    m.link(true);
    EXPECT_TRUE(eventually([&] { return events.count() == 2; }));
}

TEST_F(Link, WithoutEventsIsWhatTheSubDeviceSaysWhenAsked) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    for (const bool up : {false, true, false}) {
        m.link(up);
        EXPECT_EQ(port.link().link_status, up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN);
    }
}

TEST_F(Link, IsThatOfTheSubDeviceToWhichWasSwitched) {
    Mayfly a, b("speed=1000");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(port.link().link_speed, RTE_ETH_SPEED_NUM_10G);
    const LinkEvents events(port);
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_TRUE(eventually([&] { return events.count() == 1; }));
    EXPECT_EQ(port.link().link_speed, RTE_ETH_SPEED_NUM_1G);
    ASSERT_TRUE(port.switch_to(0).ok());
    EXPECT_TRUE(eventually([&] { return events.count() == 2; }));
    EXPECT_EQ(port.link().link_speed, RTE_ETH_SPEED_NUM_10G);
}

TEST_F(Link, ThatWasSetDownStaysDownOnALateSubDevice) {
    Mayfly a, b;
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), with_events()), 0);
    ASSERT_EQ(rte_eth_dev_set_link_down(port.id()), 0);
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_DOWN; }));
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    EXPECT_TRUE(always([&] { return port.link().link_status == RTE_ETH_LINK_DOWN; }, 100ms));
    ASSERT_EQ(rte_eth_dev_set_link_up(port.id()), 0);
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
}

// F108: slow work for one port is not to keep the events of another one.
TEST_F(Link, AnEventOfOnePortDoesNotWaitForAProbeOfAnother) {
    Mayfly slow, quick;
    slow.unplug();
    Vport first(devargs_of({&slow}, "hotplug_poll=5"));
    Vport second(quick.dev());
    ASSERT_EQ(first.up(pool(), with_events()), 0);
    ASSERT_EQ(second.up(pool(), with_events()), 0);
    const LinkEvents events(second);
    slow.delay("probe", 5s);
    const std::int64_t probes = slow.calls("probe");
    slow.plug();
    ASSERT_TRUE(eventually([&] { return slow.calls("probe") > probes; }));
    quick.link(false);
    EXPECT_TRUE(eventually([&] { return events.count() == 1 || slow.there(); }));
    EXPECT_FALSE(slow.there()) << "the event came only when the probe was over";
    EXPECT_FALSE(events.up());
    slow.clear();
    EXPECT_TRUE(eventually([&] { return first.joined(0); }));
}

// The same while the other port holds its own lock for long.
TEST_F(Link, AnEventOfOnePortDoesNotWaitForAStartOfASubDeviceOfAnother) {
    Mayfly slow, quick;
    slow.unplug();
    Vport first(devargs_of({&slow}, "hotplug_poll=5"));
    Vport second(quick.dev());
    ASSERT_EQ(first.up(pool(), with_events()), 0);
    ASSERT_EQ(second.up(pool(), with_events()), 0);
    const LinkEvents events(second);
    slow.delay("dev_start", 5s);
    const std::int64_t starts = slow.calls("dev_start");
    slow.plug();
    ASSERT_TRUE(eventually([&] { return slow.calls("dev_start") > starts; }));
    const auto began = std::chrono::steady_clock::now();
    quick.link(false);
    EXPECT_TRUE(eventually([&] { return events.count() == 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 4s) << "the event came only when the start was over";
    slow.clear();
    EXPECT_TRUE(eventually([&] { return first.joined(0); }));
}

} // namespace
} // namespace holdfast::test
