// SPDX-License-Identifier: BSD-3-Clause
// What was set before a sub-device came is given to it, all of it and nothing else.
#include "settings_rig.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

TEST_F(Settings, ALateSubDeviceGetsEverythingThatWasSetBeforeItCame) {
    Mayfly early, late;
    late.unplug();
    Vport port(devargs_of({&early, &late}));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    for (const Thing &t : kThings) {
        if (t.prepare != nullptr) {
            ASSERT_EQ(t.prepare(port.id()), 0) << t.what;
        }
        ASSERT_EQ(t.set(port.id()), 0) << t.what;
    }
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_set_link_down(port.id()), 0);
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const Told told = Told::by(late);
    EXPECT_EQ(told, Told::by(early));
    EXPECT_EQ(told.plain.promiscuous, 1);
    EXPECT_EQ(told.plain.allmulticast, 1);
    EXPECT_EQ(told.plain.mtu, 3000);
    EXPECT_EQ(told.plain.mac[5], 1);
    EXPECT_EQ(told.macs, (std::vector<Mac>{{2, 0, 0, 0, 0x11, 2}}));
    EXPECT_EQ(told.mc_macs.size(), 3U);
    EXPECT_EQ(told.vlans, std::vector<std::uint16_t>{100});
    EXPECT_NE(told.plain.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0U);
    EXPECT_EQ(told.plain.link_wanted, 0);
}

TEST_F(Settings, ALateSubDeviceIsToldOnlyWhatItLacks) {
    Mayfly early, late;
    late.unplug();
    Vport port(devargs_of({&early, &late}));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    rte_ether_addr mac = ether(9);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 7, 1), 0);
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(late.calls("mac_addr_add"), 1);
    EXPECT_EQ(late.calls("vlan_filter_set"), 1);
    EXPECT_EQ(late.calls("mtu_set"), 0);
    EXPECT_EQ(late.calls("set_mc_addr_list"), 0);
    EXPECT_EQ(late.calls("dev_set_link_down"), 0);
    EXPECT_EQ(late.calls("promiscuous_enable"), 0);
}

TEST_F(Settings, WhatIsSetWithoutAnySubDeviceIsGivenToTheFirstThatComes) {
    Mayfly m;
    m.unplug();
    Vport port(devargs_of({&m}));
    Shape shape;
    ASSERT_EQ(port.up(pool(), shape), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
    rte_ether_addr mac = ether(8);
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
    m.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_EQ(m.settings().promiscuous, 1);
    EXPECT_EQ(m.settings().mtu, 1400);
    EXPECT_EQ(m.settings().mac[5], 8);
}

TEST_F(Settings, WhatIsSetBeforeThePortIsConfiguredCounts) {
    Mayfly a, b;
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    rte_ether_addr mac = ether(8), more = ether(9);
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &more, 0), 0);
    ASSERT_EQ(port.up(pool()), 0);
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(a.settings().promiscuous, 1);
    EXPECT_EQ(Told::by(a), Told::by(b));
    EXPECT_EQ(Told::by(a).macs.size(), 1U);
}

// A setting that was changed between two lives of a sub-device.
TEST_F(Settings, WhatWasTakenBackWhileASubDeviceWasAwayDoesNotComeBackWithIt) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    rte_ether_addr one = ether(21), two = ether(22);
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &one, 0), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &two, 0), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 5, 1), 0);
    b.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
    ASSERT_EQ(rte_eth_promiscuous_disable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_remove(port.id(), &one), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 5, 0), 0);
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_EQ(Told::by(b), Told::by(a));
    EXPECT_EQ(Told::by(b).macs, (std::vector<Mac>{{2, 0, 0, 0, 0x11, 22}}));
}

// F68
TEST_F(Settings, ASubDeviceThatTakesItsMacOnlyWhenStoppedGetsItBeforeItStarts) {
    Mayfly a, b("live_mac=0");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    rte_ether_addr mac = ether(41);
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
    b.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(b.settings().mac[5], 41);
    // Live it refuses, so nobody has the new one.
    rte_ether_addr other = ether(42);
    EXPECT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &other), -EBUSY);
    EXPECT_EQ(a.settings().mac[5], 41);
    EXPECT_EQ(port.mac().addr_bytes[5], 41);
}

// F69
TEST_F(Settings, ASubDeviceWithoutAnyOptionalOperationJoins) {
    std::string none;
    for (const char *op : kOps)
        none += (none.empty() ? "no_ops=" : ";") + std::string(op);
    Mayfly a, b(none);
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_set_link_up(port.id()), 0);
    rte_ether_addr mac = ether(51);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    for (std::uint16_t v = 1; v < 20; v++) {
        ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), v, 1), 0);
    }
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
}

// F72
TEST_F(Settings, TheVlanFilterIsExactlyReplayed) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    for (const std::uint16_t v : std::to_array<std::uint16_t>({0, 1, 63, 64, 127, 4095})) {
        ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), v, 1), 0);
    }
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 64, 0), 0);
    replug(port, 1);
    EXPECT_EQ(Told::by(b).vlans, (std::vector<std::uint16_t>{0, 1, 63, 127, 4095}));
    EXPECT_EQ(Told::by(a).vlans, Told::by(b).vlans);
}

// F74: it was not there when the MTU was set, so it is refused with a reason.
TEST_F(Settings, ALateSubDeviceThatCannotHaveTheMtuIsRefusedWithTheReason) {
    Mayfly a, b("max_mtu=1500");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 9000), 0);
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.sub(1).reason == "cannot set the MTU: Invalid argument"; }))
        << port.sub(1).reason;
    EXPECT_FALSE(port.joined(1));
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1500), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
}

// F76
TEST_F(Settings, TheMulticastListIsExactlyReplayedAlsoWhenItIsEmpty) {
    Mayfly a, b, without("no_ops=set_mc_addr_list");
    Vport port(devargs_of({&a, &b, &without}));
    ASSERT_EQ(port.up(pool()), 0);
    std::array list{ether(61, 3), ether(62, 3), ether(63, 3)};
    ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port.id(), list.data(), 3), 0);
    replug(port, 1);
    EXPECT_EQ(Told::by(b).mc_macs, Told::by(a).mc_macs);
    EXPECT_EQ(Told::by(b).mc_macs.size(), 3U);
    ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port.id(), nullptr, 0), 0);
    EXPECT_EQ(Told::by(a).mc_macs.size(), 0U);
    replug(port, 1);
    EXPECT_EQ(Told::by(b).mc_macs.size(), 0U);
    EXPECT_TRUE(port.joined(2));
}

TEST_F(Settings, ALateSubDeviceWithASmallerMacTableJoinsAllTheSame) {
    Mayfly a, b("max_macs=2");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (std::uint8_t i = 0; i < 5; i++) {
        rte_ether_addr mac = ether(static_cast<std::uint8_t>(70 + i));
        ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    }
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(Told::by(a).macs.size(), 5U);
    EXPECT_EQ(Told::by(b).macs.size(), 1U);
}

TEST_F(Settings, AResetSubDeviceGetsEverythingAgain) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "mac=02:00:00:00:00:99"));
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    rte_ether_addr mac = ether(81);
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 9, 1), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    const Told before = Told::by(a);
    ASSERT_EQ(rte_eth_dev_reset(port.id()), 0);
    EXPECT_EQ(a.calls("dev_reset"), 1);
    ASSERT_EQ(port.up(pool(), filtering()), 0);
    EXPECT_EQ(Told::by(a), before);
    EXPECT_EQ(Told::by(b), before);
    EXPECT_TRUE(port.joined(0));
}

} // namespace
} // namespace holdfast::test
