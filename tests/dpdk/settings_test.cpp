// SPDX-License-Identifier: BSD-3-Clause
// What an application sets: on every sub-device by one call each or on none, and given to those that come later.
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

namespace holdfast::test {
namespace {

using Mac = std::array<std::uint8_t, 6>;

rte_ether_addr ether(std::uint8_t last, std::uint8_t first = 0x02) {
    return {{first, 0, 0, 0, 0x11, last}};
}

/// All that a mayfly was told, lists included.
struct Told {
    rte_pmd_mayfly_settings plain{};
    std::vector<Mac> macs;
    std::vector<Mac> mc_macs;
    std::vector<std::uint16_t> vlans;

    static Told by(const Mayfly &m) {
        Told out{.plain = m.settings(), .macs = {}, .mc_macs = {}, .vlans = {}};
        const char *name = m.name().c_str();
        std::array<std::uint8_t[6], 256> raw{};
        const auto read = [&](int n) {
            std::vector<Mac> list;
            for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(n, 0)); i++)
                list.push_back(std::to_array(raw[i]));
            std::sort(list.begin(), list.end());
            return list;
        };
        out.macs = read(rte_pmd_mayfly_macs(name, raw.data(), raw.size()));
        out.mc_macs = read(rte_pmd_mayfly_mc_macs(name, raw.data(), raw.size()));
        out.vlans.resize(4096);
        out.vlans.resize(static_cast<std::size_t>(std::max(rte_pmd_mayfly_vlans(name, out.vlans.data(), 4096), 0)));
        return out;
    }
    friend bool operator==(const Told &a, const Told &b) {
        const auto plain = [](const Told &t) {
            const rte_pmd_mayfly_settings &s = t.plain;
            return std::tuple(s.configured, s.started, s.promiscuous, s.allmulticast, s.link_wanted,
                              std::to_array(s.mac), s.mtu, s.rx_queues, s.tx_queues, s.rx_offloads, s.tx_offloads);
        };
        return plain(a) == plain(b) && a.macs == b.macs && a.mc_macs == b.mc_macs && a.vlans == b.vlans;
    }
    friend std::ostream &operator<<(std::ostream &out, const Told &t) {
        const rte_pmd_mayfly_settings &s = t.plain;
        out << "promiscuous " << int{s.promiscuous} << " allmulticast " << int{s.allmulticast} << " link "
            << int{s.link_wanted} << " started " << int{s.started} << " mtu " << s.mtu << " rx_offloads "
            << s.rx_offloads << " mac ..." << int{s.mac[5]} << " macs";
        for (const Mac &m : t.macs)
            out << " ..." << int{m[5]};
        out << " multicast";
        for (const Mac &m : t.mc_macs)
            out << " ..." << int{m[5]};
        out << " vlans";
        for (const std::uint16_t v : t.vlans)
            out << " " << v;
        return out;
    }
};

/// One thing that an application can set, with the one operation that carries it out below.
struct Thing {
    const char *what;
    const char *op;
    int (*set)(std::uint16_t port);
    int (*prepare)(std::uint16_t port) = nullptr; ///< what has to be set before
    bool void_op = false;                         ///< the operation has no result
};

const Thing kThings[] = {
    {.what = "promiscuous on", .op = "promiscuous_enable", .set = rte_eth_promiscuous_enable},
    {.what = "promiscuous off",
     .op = "promiscuous_disable",
     .set = rte_eth_promiscuous_disable,
     .prepare = rte_eth_promiscuous_enable},
    {.what = "allmulticast on", .op = "allmulticast_enable", .set = rte_eth_allmulticast_enable},
    {.what = "allmulticast off",
     .op = "allmulticast_disable",
     .set = rte_eth_allmulticast_disable,
     .prepare = rte_eth_allmulticast_enable},
    {.what = "MTU", .op = "mtu_set", .set = [](std::uint16_t p) { return rte_eth_dev_set_mtu(p, 2000); }},
    {.what = "MTU again",
     .op = "mtu_set",
     .set = [](std::uint16_t p) { return rte_eth_dev_set_mtu(p, 3000); },
     .prepare = [](std::uint16_t p) { return rte_eth_dev_set_mtu(p, 2000); }},
    {.what = "default MAC",
     .op = "mac_addr_set",
     .set =
         [](std::uint16_t p) {
             rte_ether_addr mac = ether(1);
             return rte_eth_dev_default_mac_addr_set(p, &mac);
         }},
    {.what = "MAC added",
     .op = "mac_addr_add",
     .set =
         [](std::uint16_t p) {
             rte_ether_addr mac = ether(2);
             return rte_eth_dev_mac_addr_add(p, &mac, 0);
         }},
    {.what = "MAC removed",
     .op = "mac_addr_remove",
     .set =
         [](std::uint16_t p) {
             rte_ether_addr mac = ether(3);
             return rte_eth_dev_mac_addr_remove(p, &mac);
         },
     .prepare =
         [](std::uint16_t p) {
             rte_ether_addr mac = ether(3);
             return rte_eth_dev_mac_addr_add(p, &mac, 0);
         },
     .void_op = true},
    {.what = "VLAN filter on",
     .op = "vlan_filter_set",
     .set = [](std::uint16_t p) { return rte_eth_dev_vlan_filter(p, 100, 1); }},
    {.what = "VLAN filter off",
     .op = "vlan_filter_set",
     .set = [](std::uint16_t p) { return rte_eth_dev_vlan_filter(p, 101, 0); },
     .prepare = [](std::uint16_t p) { return rte_eth_dev_vlan_filter(p, 101, 1); }},
    {.what = "VLAN strip",
     .op = "vlan_offload_set",
     .set =
         [](std::uint16_t p) {
             return rte_eth_dev_set_vlan_offload(p, RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD);
         }},
    {.what = "multicast list",
     .op = "set_mc_addr_list",
     .set =
         [](std::uint16_t p) {
             std::array list{ether(4, 0x03), ether(5, 0x03), ether(6, 0x03)};
             return rte_eth_dev_set_mc_addr_list(p, list.data(), 3);
         }},
    {.what = "link down", .op = "dev_set_link_down", .set = rte_eth_dev_set_link_down},
    {.what = "link up", .op = "dev_set_link_up", .set = rte_eth_dev_set_link_up, .prepare = rte_eth_dev_set_link_down},
};

constexpr std::array kOps{
    "promiscuous_enable", "promiscuous_disable", "allmulticast_enable", "allmulticast_disable", "mtu_set",
    "mac_addr_set",       "mac_addr_add",        "mac_addr_remove",     "vlan_filter_set",      "vlan_offload_set",
    "set_mc_addr_list",   "dev_set_link_up",     "dev_set_link_down"};

std::array<std::int64_t, kOps.size()> all_calls(const Mayfly &m) {
    std::array<std::int64_t, kOps.size()> out{};
    std::transform(kOps.begin(), kOps.end(), out.begin(), [&](const char *op) { return m.calls(op); });
    return out;
}

Shape filtering() {
    Shape shape;
    shape.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
    return shape;
}

class Settings : public WithPorts {
  protected:
    /// Runs `check` once for each thing, each time on a new started port over new mayflies.
    template <class F> void for_each_thing(const std::vector<std::string> &args, F check) {
        for (const Thing &t : kThings) {
            if (args.front() == "no_ops=OP" && t.prepare != nullptr)
                continue; // nobody could prepare it
            SCOPED_TRACE(t.what);
            std::vector<std::unique_ptr<Mayfly>> mayflies;
            std::vector<const Mayfly *> raw;
            for (std::string a : args) {
                if (const auto at = a.find("OP"); at != std::string::npos)
                    a.replace(at, 2, t.op);
                raw.push_back(mayflies.emplace_back(std::make_unique<Mayfly>(a)).get());
            }
            Vport port(devargs_of(raw));
            ASSERT_EQ(port.rc(), 0);
            ASSERT_EQ(port.up(pool(), filtering()), 0);
            if (t.prepare != nullptr) {
                ASSERT_EQ(t.prepare(port.id()), 0);
            }
            check(t, port, raw);
        }
    }
    /// Takes a sub-device away and brings it back: everything has to be replayed.
    static void replug(const Vport &port, std::uint8_t sub) {
        ASSERT_TRUE(port.remove_by_hand(sub).ok());
        ASSERT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
        ASSERT_TRUE(port.plug_by_hand(sub).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(sub); }));
    }
};

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
    for (const char *how : {"rmv=1", "rmv=0"}) { // told by an event, and found out by its answer
        SCOPED_TRACE(how);
        for_each_thing({"", how, ""}, [&](const Thing &t, const Vport &port, const std::vector<const Mayfly *> &subs) {
            const bool silent = t.void_op && how == std::string("rmv=0"); // then nobody can know
            const std::int64_t calls = subs[2]->calls(t.op);
            subs[1]->unplug_in(t.op);
            EXPECT_EQ(t.set(port.id()), 0);
            EXPECT_EQ(subs[2]->calls(t.op), calls + 1);
            if (silent) {
                EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0); // this one sees it
            }
            EXPECT_TRUE(eventually([&] { return port.state(1) == "absent"; }));
            subs[1]->plug();
            EXPECT_TRUE(eventually([&] { return port.joined(1); }));
            EXPECT_EQ(Told::by(*subs[1]), Told::by(*subs[0]));
        });
    }
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
