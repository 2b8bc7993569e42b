// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/virtual_port.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

/// What the tests of settings share: the things that an application can set, and what a mayfly was told.
namespace holdfast::test {

using Mac = std::array<std::uint8_t, 6>;

inline rte_ether_addr ether(std::uint8_t last, std::uint8_t first = 0x02) {
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

inline const Thing kThings[] = {
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

inline constexpr std::array kOps{
    "promiscuous_enable", "promiscuous_disable", "allmulticast_enable", "allmulticast_disable", "mtu_set",
    "mac_addr_set",       "mac_addr_add",        "mac_addr_remove",     "vlan_filter_set",      "vlan_offload_set",
    "set_mc_addr_list",   "dev_set_link_up",     "dev_set_link_down"};

inline std::array<std::int64_t, kOps.size()> all_calls(const Mayfly &m) {
    std::array<std::int64_t, kOps.size()> out{};
    std::transform(kOps.begin(), kOps.end(), out.begin(), [&](const char *op) { return m.calls(op); });
    return out;
}

inline Shape filtering() {
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

} // namespace holdfast::test
