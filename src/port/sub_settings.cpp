// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "base/result.h"
#include "port/netdev.h"
#include "port/settings.h"
#include "port/sub_device.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <cerrno>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <net/if.h>

// What a sub-device has of the application's settings, and what it had before it came.

namespace holdfast {

void SubDevice::hand_back(abi::Ethdev &ethdev) {
    if (!counted_last_)
        count(ethdev);
    if ((flags() & kGone) != 0)
        return;
    Settings before = has_;
    before.macs = {}; // lists, and what its next owner configures anyway, go with the port
    before.vlans = {};
    before.mc_list.reset();
    before.second_hand = false;
    // What somebody else did to the interface behind it meanwhile is his affair.
    const unsigned ours = (has_.promiscuous != own_.promiscuous ? unsigned{IFF_PROMISC} : 0U) |
                          (has_.allmulticast != own_.allmulticast ? unsigned{IFF_ALLMULTI} : 0U) |
                          (has_.link_up ? unsigned{IFF_UP} : 0U);
    const bool mtu = has_.mtu != own_.mtu;
    if (has_.link_up)
        own_.link_up = true; // as a new device has it
    for (const Change &c : own_.missing_from(before))
        if (holdfast::apply(ethdev, port_, c) == 0) // if not, it is no worse
            has_.record(c);
    if (own_flags_ && ours != 0)
        (void)set_netdev_flags(info_.if_index, ours, *own_flags_);
    // A driver may refuse the MTU that its interface had before it came.
    if (own_netdev_mtu_ && mtu && netdev_mtu(info_.if_index) != own_netdev_mtu_)
        (void)set_netdev_mtu(info_.if_index, *own_netdev_mtu_);
}

void SubDevice::forget(abi::Ethdev &ethdev) {
    has_ = {};
    if (rte_ether_addr mac{}; ethdev.mac(port_, mac) == 0)
        has_.default_mac = mac;
    has_.promiscuous = ethdev.promiscuous(port_);
    has_.allmulticast = ethdev.allmulticast(port_);
}

void SubDevice::inherit(const abi::Ethdev::Leftovers &from) {
    has_.second_hand = true;
    has_.vlans = from.vlans;
    for (const auto &[mac, pools] : from.macs)
        for (std::uint32_t pool = 0; pool < RTE_ETH_64_POOLS; pool++)
            if ((pools >> pool & 1U) != 0)
                has_.macs.add({mac, pool});
}

Outcome SubDevice::apply(abi::Ethdev &ethdev, const Change &change, int &rc) {
    rc = holdfast::apply(ethdev, port_, change);
    Outcome outcome = judge(ethdev, rc);
    // A virtual function that is not trusted. It joins all the same; not so with a wrong MAC address, which would keep
    // it from receiving anything.
    if (outcome == Outcome::kRefused && rc == -EPERM &&
        (std::holds_alternative<Promiscuous>(change) || std::holds_alternative<Allmulticast>(change)))
        outcome = Outcome::kLacking;
    if (outcome == Outcome::kDone)
        has_.record(change);
    return outcome;
}

void SubDevice::forget_rss() noexcept {
    has_.rss.reset();
    has_.reta.clear();
}

Status SubDevice::rss_key(abi::Ethdev &ethdev, std::vector<std::uint8_t> &key) {
    key.assign(info_.hash_key_size, 0);
    rte_eth_rss_conf conf{};
    conf.rss_key = key.data();
    conf.rss_key_len = info_.hash_key_size;
    const int rc = key.empty() ? -ENOTSUP : ethdev.rss(port_, conf);
    if (rc != 0 || conf.rss_key_len != info_.hash_key_size)
        key.clear();
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the hash key of a sub-device"} : Status{};
}

Status SubDevice::reta(abi::Ethdev &ethdev, std::vector<std::uint16_t> &table) {
    table.assign(info_.reta_size, 0);
    const int rc = table.empty() ? -ENOTSUP : ethdev.reta(port_, table);
    if (rc != 0)
        table.clear();
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the redirection table of a sub-device"} : Status{};
}

Status SubDevice::learn(abi::Ethdev &ethdev, const Change &change) {
    if (std::holds_alternative<Rss>(change) && !has_.rss) {
        rte_eth_rss_conf conf{};
        const int rc = ethdev.rss(port_, conf);
        if (judge(ethdev, rc) == Outcome::kRefused)
            return {rc, "read the hash functions of a sub-device"};
        Rss now{.functions = conf.rss_hf, .algorithm = conf.algorithm, .key = {}};
        if (Status s = rss_key(ethdev, now.key); !s.ok())
            return s;
        if (rc == 0)
            has_.rss = std::move(now);
    }
    if (std::holds_alternative<Reta>(change) && has_.reta.empty())
        return reta(ethdev, has_.reta);
    return {};
}

} // namespace holdfast
