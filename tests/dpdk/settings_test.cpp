// SPDX-License-Identifier: BSD-3-Clause
// What an application sets: on every sub-device by one call each or on none.
#include "settings_rig.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

TEST_F(Settings, AChangeIsOneCallOfOneOperationOnEachPresentSubDevice) {
    for_each_thing({"", "", ""}, [](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
        std::vector<std::array<std::int64_t, kOps.size()>> before;
        std::transform(subs.begin(), subs.end(), std::back_inserter(before),
                       [](const Mayfly *m) { return all_calls(*m); });
        ASSERT_EQ(t.set(port.id()), 0);
        for (std::size_t i = 0; i < subs.size(); i++) {
            const auto after = all_calls(*subs[i]);
            for (std::size_t op = 0; op < kOps.size(); op++) {
                EXPECT_EQ(after[op] - before[i][op], std::strcmp(kOps[op], t.op) == 0 ? 1 : 0)
                    << subs[i]->name() << " " << kOps[op];
            }
            EXPECT_EQ(Told::by(*subs[i]), [&] {
                Told expected = Told::by(*subs[0]);
                std::copy_n(Told::by(*subs[i]).plain.mac, 6, expected.plain.mac);
                return expected;
            }());
        }
    });
}

// F66, F74
TEST_F(Settings, AChangeThatOneSubDeviceRefusesIsTakenBackFromTheOthers) {
    for_each_thing({"", "", ""}, [](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
        if (t.void_op)
            return; // ethdev forgets the address whatever the driver answers
        std::vector<Told> before;
        std::transform(subs.begin(), subs.end(), std::back_inserter(before),
                       [](const Mayfly *m) { return Told::by(*m); });
        const std::int64_t last_calls = subs[2]->calls(t.op);
        subs[1]->fail(t.op, ENOMEM);
        EXPECT_EQ(t.set(port.id()), -ENOMEM);
        subs[1]->clear();
        for (std::size_t i = 0; i < subs.size(); i++) {
            EXPECT_EQ(Told::by(*subs[i]), before[i]) << "sub-device " << i;
        }
        EXPECT_EQ(subs[2]->calls(t.op), last_calls) << "the one after it is not asked";
        // It was not recorded either: who comes back gets what the others have.
        replug(port, 2);
        Told expected = Told::by(*subs[0]);
        EXPECT_EQ(Told::by(*subs[2]), expected);
    });
}

// F43
TEST_F(Settings, AnInputOutputErrorOfALiveSubDeviceIsNoSuccess) {
    for_each_thing({"", ""}, [](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
        if (t.void_op)
            return;
        subs[1]->fail(t.op, EIO, 1);
        EXPECT_EQ(t.set(port.id()), -EIO);
        EXPECT_EQ(t.set(port.id()), 0) << "the next attempt";
        EXPECT_TRUE(port.joined(1));
    });
}

TEST_F(Settings, ASubDeviceThatLacksTheOperationDoesWithout) {
    for_each_thing({"", "no_ops=OP"}, [](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
        const std::int64_t calls = subs[0]->calls(t.op);
        EXPECT_EQ(t.set(port.id()), 0);
        EXPECT_EQ(subs[0]->calls(t.op), calls + 1);
        EXPECT_TRUE(port.joined(1));
    });
}

TEST_F(Settings, WhatNoSubDeviceCanDoIsNotDone) {
    for_each_thing({"no_ops=OP", "no_ops=OP"},
                   [](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &) {
                       EXPECT_EQ(t.set(port.id()), -ENOTSUP);
                   });
}

TEST_F(Settings, ASubDeviceThatVanishesMeanwhileIsNoError) {
    for (const char *how : {"rmv=1", "rmv=0,lsc=0"}) { // told by an event, and found out by its answer
        SCOPED_TRACE(how);
        for_each_thing({"", how, ""}, [&](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
            const std::int64_t calls = subs[2]->calls(t.op);
            subs[1]->unplug_in(t.op);
            EXPECT_EQ(t.set(port.id()), 0);
            EXPECT_EQ(subs[2]->calls(t.op), calls + 1);
            // Not asked of the port: it would look at the device's counters, and notice by that.
            EXPECT_TRUE(eventually([&] { return !subs[1]->there(); })) << "nobody noticed";
            EXPECT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
            subs[1]->plug();
            EXPECT_TRUE(eventually([&] { return port.joined(1); }));
            EXPECT_EQ(Told::by(*subs[1]), Told::by(*subs[0]));
        });
    }
}

// F67
TEST_F(Settings, AnAddressThatBecameTheDefaultOneIsThereOnce) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    std::array list{ether(31), ether(32), ether(33)};
    for (rte_ether_addr &mac : list) {
        ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    }
    EXPECT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &list[1]), -EEXIST) << "ethdev's own rule";
    ASSERT_EQ(rte_eth_dev_mac_addr_remove(port.id(), &list[1]), 0);
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &list[1]), 0);
    replug(port, 1);
    for (const Mayfly *m : {&a, &b}) {
        EXPECT_EQ(m->settings().mac[5], 32);
        EXPECT_EQ(Told::by(*m).macs, (std::vector<Mac>{{2, 0, 0, 0, 0x11, 31}, {2, 0, 0, 0, 0x11, 33}}));
    }
}

// F74
TEST_F(Settings, AnMtuThatOneSubDeviceCannotHaveIsRefusedForAll) {
    Mayfly a, b("max_mtu=1500");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    const std::int64_t calls = a.calls("mtu_set");
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 9000), -EINVAL);
    EXPECT_EQ(a.calls("mtu_set"), calls);
    EXPECT_EQ(a.settings().mtu, 1500);
    std::uint16_t mtu = 0;
    ASSERT_EQ(rte_eth_dev_get_mtu(port.id(), &mtu), 0);
    EXPECT_EQ(mtu, 1500);
}

TEST_F(Settings, AnMtuThatFailsAfterTheFirstOneIsTakenBackToTheOneBefore) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 2000), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape shape;
    shape.conf.rxmode.mtu = 1700;
    ASSERT_EQ(port.up(pool(), shape), 0); // the configuration brings its own
    EXPECT_EQ(a.settings().mtu, 1700);
    b.fail("mtu_set", EINVAL);
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 3000), -EINVAL);
    EXPECT_EQ(a.settings().mtu, 1700);
    b.clear();
    replug(port, 0);
    EXPECT_EQ(a.settings().mtu, 1700);
}

// F65
TEST_F(Settings, ASubDeviceWithoutAMacAddressDoesNotGiveThePortAZeroOne) {
    Vport port("dev(" + unique("net_ring") + ")");
    ASSERT_EQ(port.rc(), 0);
    rte_ether_addr mac = port.mac();
    EXPECT_NE(rte_is_valid_assigned_ether_addr(&mac), 0);
    EXPECT_EQ(port.up(pool()), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
}

// F2, F78
TEST_F(Settings, AMacInTheDevargsIsKeptByItsPortAndByNoOther) {
    Mayfly a, b("mac=02:00:00:00:00:0b"), c("mac=02:00:00:00:00:0c");
    b.unplug();
    Vport first(devargs_of({&a, &b}, "hotplug_poll=20,mac=02:11:22:33:44:55"));
    Vport second(c.dev());
    ASSERT_EQ(first.up(pool()), 0);
    ASSERT_EQ(second.up(pool()), 0);
    b.plug();
    ASSERT_TRUE(eventually([&] { return first.joined(1); }));
    a.unplug();
    ASSERT_TRUE(eventually([&] { return first.state(0) == "absent"; }));
    EXPECT_EQ(first.mac().addr_bytes[5], 0x55);
    EXPECT_EQ(b.settings().mac[5], 0x55);
    EXPECT_EQ(second.mac().addr_bytes[5], 0x0c);
    EXPECT_EQ(c.settings().mac[5], 0x0c);
}

} // namespace
} // namespace holdfast::test
