// SPDX-License-Identifier: BSD-3-Clause
// A device with several ports, of which one is a sub-device: the others are the application's.
#include "detach_rig.h"
#include "support/virtual_port.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace holdfast::test {
namespace {

constexpr const char *kFirstIsGone = "cannot use a device whose first port is gone while another one of it lives: "
                                     "Device or resource busy";

/// F105. A device with two ports.
class SeveralPorts : public WithPorts {
  protected:
    /// The id of the device's second port, or RTE_MAX_ETHPORTS.
    static std::uint16_t second_of(const Mayfly &m) {
        std::uint16_t id = RTE_MAX_ETHPORTS;
        return rte_eth_dev_get_port_by_name((m.name() + "_1").c_str(), &id) == 0 ? id : RTE_MAX_ETHPORTS;
    }
    static void expect_nobodys(std::uint16_t id) {
        rte_eth_dev_owner owner{};
        ASSERT_EQ(rte_eth_dev_owner_get(id, &owner), 0);
        EXPECT_EQ(owner.id, static_cast<std::uint64_t>(RTE_ETH_DEV_NO_OWNER)) << owner.name;
    }
    /// The port looks for the device again and again, and has to leave the second one alone.
    static void expect_refused(const Vport &port, const Mayfly &m) {
        ASSERT_TRUE(eventually([&] { return port.sub(0).reason == kFirstIsGone; })) << port.sub(0).reason;
        EXPECT_TRUE(always([&] { return port.state(0) == "absent" && port.sub(0).reason == kFirstIsGone; }, 50ms));
        EXPECT_FALSE(m.there());
        expect_nobodys(second_of(m));
        EXPECT_EQ(m.count(RTE_PMD_MAYFLY_LIVES), 1);
    }
    static int close_second(const Mayfly &m) {
        const std::uint16_t id = second_of(m);
        (void)rte_eth_dev_stop(id);
        return rte_eth_dev_close(id);
    }
    /// Both ports are there, and the sub-device is the first of them.
    static void expect_first_is_ours(const Vport &port, const Mayfly &m, std::int64_t life) {
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(port.sub(0).port, m.port());
        EXPECT_EQ(m.count(RTE_PMD_MAYFLY_LIVES), life);
        ASSERT_NE(second_of(m), RTE_MAX_ETHPORTS);
        expect_nobodys(second_of(m));
    }
};

TEST_F(SeveralPorts, PluggedAgainASubDeviceIsNotAnotherPortOfItsDevice) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 1));
    for (std::int64_t life = 1; life <= 3; life++) {
        SCOPED_TRACE(life);
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent" && !m.there(); }));
        EXPECT_NE(find_vdev(m.name()), nullptr) << "the device has to stay while a port of it lives";
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        if (life == 1) {
            ASSERT_NO_FATAL_FAILURE(expect_refused(port, m));
        }
        ASSERT_EQ(close_second(m), 0);
        ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, life + 1));
        EXPECT_EQ(send(port), 1);
    }
    EXPECT_EQ(port.close(), 0);
    EXPECT_NE(find_vdev(m.name()), nullptr);
    EXPECT_EQ(close_second(m), 0);
}

TEST_F(SeveralPorts, ASubDeviceThatSomebodyElseClosedIsNotReplacedByAnotherPortOfItsDevice) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    const std::uint16_t first = m.port().raw();
    ASSERT_EQ(rte_eth_dev_stop(first), 0);
    ASSERT_EQ(rte_eth_dev_close(first), 0);
    ASSERT_NO_FATAL_FAILURE(expect_refused(port, m));
    ASSERT_EQ(close_second(m), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

TEST_F(SeveralPorts, APulledDeviceComesBackWhenAllItsOldPortsAreClosed) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    m.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent" && !m.there(); }));
    m.plug();
    ASSERT_NO_FATAL_FAILURE(expect_refused(port, m));
    ASSERT_EQ(close_second(m), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

TEST_F(SeveralPorts, AnotherVirtualPortThatWaitsForTheDeviceDoesNotGetItsOtherPort) {
    const Mayfly m("ports=2");
    Vport has(devargs_of({&m}, "hotplug_poll=2")), waits(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(has.up(pool()), 0);
    ASSERT_EQ(waits.up(pool()), 0);
    EXPECT_EQ(waits.sub(0).reason, "cannot take a device that another port owns: Device or resource busy");
    ASSERT_TRUE(has.remove_by_hand(0).ok());
    ASSERT_NO_FATAL_FAILURE(expect_refused(waits, m));
    ASSERT_EQ(close_second(m), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(waits, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

// Its first port is known from the first look on, whoever had it then.
TEST_F(SeveralPorts, ADeviceWhoseFirstPortTheApplicationKeptAndClosedIsNotTakenByItsOther) {
    const Mayfly m("ports=2");
    ASSERT_EQ(rte_vdev_init(m.name().c_str(), "ports=2"), 0);
    const std::uint16_t first = m.port().raw();
    const rte_eth_dev_owner owner = [] {
        rte_eth_dev_owner o{};
        EXPECT_EQ(rte_eth_dev_owner_new(&o.id), 0);
        return o;
    }();
    ASSERT_EQ(rte_eth_dev_owner_set(first, &owner), 0);
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.sub(0).reason, "cannot take a device that another port owns: Device or resource busy");
    ASSERT_EQ(rte_eth_dev_close(first), 0);
    ASSERT_EQ(rte_eth_dev_owner_delete(owner.id), 0);
    ASSERT_NO_FATAL_FAILURE(expect_refused(port, m));
    ASSERT_EQ(close_second(m), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

// What was known of a device goes with it.
TEST_F(SeveralPorts, ADeviceThatSomebodyProbedAnewIsTakenByItsFirstPort) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent" && !m.there(); }));
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    ASSERT_NO_FATAL_FAILURE(expect_refused(port, m));
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_EQ(detach(m.name()), 0);
    ASSERT_EQ(rte_vdev_init(m.name().c_str(), "ports=2"), 0);
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

TEST_F(SeveralPorts, ADetachByOthersTakesAllPortsAndTheFirstIsOursAgainAfterwards) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(detach(m.name()), 0);
    EXPECT_EQ(find_vdev(m.name()), nullptr);
    EXPECT_EQ(second_of(m), RTE_MAX_ETHPORTS);
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }));
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

// A device that refuses to stop is removed with its driver, which has to wait for the other port too.
TEST_F(SeveralPorts, ASubDeviceThatCouldNotBeClosedComesBackWhenTheOtherPortsAreGone) {
    const Mayfly m("ports=2");
    Vport port(devargs_of({&m}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    m.fail("dev_stop", EBUSY);
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_NE(second_of(m), RTE_MAX_ETHPORTS);
    m.clear();
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    const char *reason = "cannot remove a device that did not close while another port of it lives: "
                         "Device or resource busy";
    EXPECT_TRUE(eventually([&] { return port.sub(0).reason == reason; })) << port.sub(0).reason;
    expect_nobodys(second_of(m));
    ASSERT_EQ(close_second(m), 0);
    ASSERT_NO_FATAL_FAILURE(expect_first_is_ours(port, m, 2));
    ASSERT_EQ(close_second(m), 0);
}

} // namespace
} // namespace holdfast::test
