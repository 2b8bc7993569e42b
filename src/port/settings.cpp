// SPDX-License-Identifier: BSD-3-Clause
#include "port/settings.h"

#include "abi/ethdev.h"
#include "base/ids.h"
#include "port/rss.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

bool same(const rte_ether_addr &a, const rte_ether_addr &b) noexcept {
    return rte_is_same_ether_addr(&a, &b) != 0;
}

bool same_list(const std::vector<rte_ether_addr> &a, const std::vector<rte_ether_addr> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::uint64_t number(const rte_ether_addr &mac) noexcept {
    std::uint64_t out = 0;
    std::memcpy(&out, mac.addr_bytes, sizeof(mac.addr_bytes));
    return out;
}

void append(std::vector<MacAdd> &out, std::uint64_t number, std::uint64_t pools) {
    MacAdd entry{};
    std::memcpy(entry.mac.addr_bytes, &number, sizeof(entry.mac.addr_bytes));
    for (; pools != 0; pools &= pools - 1) {
        entry.pool = static_cast<std::uint32_t>(std::countr_zero(pools));
        out.push_back(entry);
    }
}

/// Adds the change that sets `wanted`, unless nothing is wanted or it is there.
template <class C, class T>
void want(std::vector<Change> &out, const std::optional<T> &wanted, const std::optional<T> &has) {
    if (wanted && wanted != has)
        out.push_back(C{*wanted});
}

bool satisfied(const Rss &wanted, const std::optional<Rss> &has) {
    return has && has->functions == wanted.functions && has->algorithm == wanted.algorithm &&
           (wanted.key.empty() || wanted.key == has->key);
}

int apply_rss(abi::Ethdev &ethdev, PortId port, const Rss &rss) {
    rte_eth_dev_info info{};
    if (const int rc = ethdev.info(port, info); rc != 0)
        return rc;
    rte_eth_rss_conf conf{};
    conf.rss_hf = rss.functions & info.flow_type_rss_offloads;
    if (rss.functions != 0 && conf.rss_hf == 0)
        return -ENOTSUP;
    if ((info.rss_algo_capa & RTE_ETH_HASH_ALGO_TO_CAPA(rss.algorithm)) != 0)
        conf.algorithm = static_cast<rte_eth_hash_function>(rss.algorithm);
    std::vector<std::uint8_t> key = fit_rss_key(rss.key, info.hash_key_size);
    if (!rss.key.empty()) {
        if (key.empty())
            return -ENOTSUP;
        conf.rss_key = key.data();
        conf.rss_key_len = static_cast<std::uint8_t>(key.size());
    }
    return ethdev.set_rss(port, conf);
}

int apply_reta(abi::Ethdev &ethdev, PortId port, const Reta &reta) {
    rte_eth_dev_info info{};
    if (const int rc = ethdev.info(port, info); rc != 0)
        return rc;
    const std::vector<std::uint16_t> table = fit_reta(reta.queues, info.reta_size);
    return table.empty() ? -ENOTSUP : ethdev.set_reta(port, table);
}

} // namespace

bool belongs_before_start(const Change &change) noexcept {
    return std::holds_alternative<Mtu>(change) || std::holds_alternative<DefaultMac>(change) ||
           std::holds_alternative<MacRemove>(change);
}

int vlan_offloads(std::uint64_t rx_offloads) noexcept {
    constexpr std::pair<std::uint64_t, int> kBits[] = {
        {RTE_ETH_RX_OFFLOAD_VLAN_STRIP, RTE_ETH_VLAN_STRIP_OFFLOAD},
        {RTE_ETH_RX_OFFLOAD_VLAN_FILTER, RTE_ETH_VLAN_FILTER_OFFLOAD},
        {RTE_ETH_RX_OFFLOAD_VLAN_EXTEND, RTE_ETH_VLAN_EXTEND_OFFLOAD},
        {RTE_ETH_RX_OFFLOAD_QINQ_STRIP, RTE_ETH_QINQ_STRIP_OFFLOAD},
    };
    int mask = 0;
    for (const auto &[offload, bit] : kBits)
        mask |= (rx_offloads & offload) != 0 ? bit : 0;
    return mask;
}

const char *describe(const Change &change) noexcept {
    return std::visit(Overloaded{[](const Mtu &) { return "set the MTU"; },
                                 [](const Promiscuous &) { return "set promiscuous mode"; },
                                 [](const Allmulticast &) { return "set allmulticast mode"; },
                                 [](const DefaultMac &) { return "set the default MAC address"; },
                                 [](const MacAdd &) { return "add a MAC address"; },
                                 [](const MacRemove &) { return "remove a MAC address"; },
                                 [](const VlanFilter &) { return "set a VLAN filter"; },
                                 [](const VlanOffload &) { return "set VLAN offloads"; },
                                 [](const McList &) { return "set the multicast list"; },
                                 [](const LinkUp &) { return "set the link up or down"; },
                                 [](const Rss &) { return "set RSS"; },
                                 [](const Reta &) { return "set the RSS redirection table"; }},
                      change);
}

int apply(abi::Ethdev &ethdev, PortId port, const Change &change) {
    return std::visit(Overloaded{[&](const Mtu &c) { return ethdev.set_mtu(port, c.mtu); },
                                 [&](const Promiscuous &c) { return ethdev.set_promiscuous(port, c.on); },
                                 [&](const Allmulticast &c) { return ethdev.set_allmulticast(port, c.on); },
                                 [&](const DefaultMac &c) { return ethdev.set_default_mac(port, c.mac); },
                                 [&](const MacAdd &c) { return ethdev.add_mac(port, c.mac, c.pool); },
                                 [&](const MacRemove &c) { return ethdev.remove_mac(port, c.mac); },
                                 [&](const VlanFilter &c) { return ethdev.set_vlan_filter(port, c.vlan, c.on); },
                                 [&](const VlanOffload &c) { return ethdev.set_vlan_offload(port, c.mask); },
                                 [&](const McList &c) { return ethdev.set_mc_list(port, c.list); },
                                 [&](const LinkUp &c) { return ethdev.set_link(port, c.up); },
                                 [&](const Rss &c) { return apply_rss(ethdev, port, c); },
                                 [&](const Reta &c) { return apply_reta(ethdev, port, c); }},
                      change);
}

void MacTable::add(const MacAdd &entry) {
    const auto [it, fresh] = table_.try_emplace(number(entry.mac));
    if (fresh)
        it->second.turn = turns_++;
    it->second.pools |= std::uint64_t{1} << entry.pool;
}

void MacTable::remove(const rte_ether_addr &mac) {
    table_.erase(number(mac));
}

std::uint64_t MacTable::pools(const rte_ether_addr &mac) const {
    const auto it = table_.find(number(mac));
    return it != table_.end() ? it->second.pools : 0;
}

std::vector<MacAdd> MacTable::of(const rte_ether_addr &mac) const {
    std::vector<MacAdd> out;
    append(out, number(mac), pools(mac));
    return out;
}

std::vector<MacAdd> MacTable::entries() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order; // turn, address
    order.reserve(table_.size());
    for (const auto &[address, entry] : table_)
        order.emplace_back(entry.turn, address);
    std::sort(order.begin(), order.end());
    std::vector<MacAdd> out;
    for (const auto &[turn, address] : order)
        append(out, address, table_.at(address).pools);
    return out;
}

void Settings::record(const Change &change) {
    std::visit(Overloaded{[&](const Mtu &c) { mtu = c.mtu; }, [&](const Promiscuous &c) { promiscuous = c.on; },
                          [&](const Allmulticast &c) { allmulticast = c.on; },
                          [&](const DefaultMac &c) {
                              // An address that was added while it was the default one has no place of its own.
                              if (default_mac && !same(*default_mac, c.mac))
                                  macs.remove(*default_mac);
                              default_mac = c.mac;
                          },
                          [&](const MacAdd &c) { macs.add(c); }, [&](const MacRemove &c) { macs.remove(c.mac); },
                          [&](const VlanFilter &c) { vlans.set(c.vlan, c.on); },
                          [&](const VlanOffload &c) { vlan_offload = c.mask; },
                          [&](const McList &c) { mc_list = c.list; }, [&](const LinkUp &c) { link_up = c.up; },
                          [&](const Rss &c) {
                              std::vector<std::uint8_t> key = c.key.empty() && rss ? rss->key : c.key;
                              rss = Rss{.functions = c.functions, .algorithm = c.algorithm, .key = std::move(key)};
                          },
                          [&](const Reta &c) { reta = c.queues; }},
               change);
}

std::vector<Change> Settings::undo(const Change &change) const {
    std::vector<Change> out;
    const auto put_back = [&](const rte_ether_addr &mac) {
        for (const MacAdd &m : macs.of(mac))
            out.push_back(m);
    };
    std::visit(Overloaded{[&](const Mtu &) { want<Mtu>(out, mtu, {}); },
                          // Off is what a device has until it is told otherwise.
                          [&](const Promiscuous &) { out.push_back(Promiscuous{promiscuous.value_or(false)}); },
                          [&](const Allmulticast &) { out.push_back(Allmulticast{allmulticast.value_or(false)}); },
                          [&](const DefaultMac &c) {
                              if (!default_mac || same(*default_mac, c.mac))
                                  return;
                              out.push_back(DefaultMac{*default_mac});
                              put_back(*default_mac); // see record()
                          },
                          [&](const MacAdd &c) {
                              // The default address cannot be removed; that it is in the list too changes nothing.
                              if (macs.has(c) || (default_mac && same(*default_mac, c.mac)))
                                  return;
                              out.push_back(MacRemove{c.mac}); // takes it out of all pools, so put the others back
                              put_back(c.mac);
                          },
                          [&](const MacRemove &c) { put_back(c.mac); },
                          [&](const VlanFilter &c) { out.push_back(VlanFilter{c.vlan, vlans.test(c.vlan)}); },
                          [&](const VlanOffload &) { want<VlanOffload>(out, vlan_offload, {}); },
                          [&](const McList &) { out.push_back(McList{mc_list.value_or(McList{}.list)}); },
                          [&](const LinkUp &) { out.push_back(LinkUp{link_up.value_or(true)}); },
                          [&](const Rss &) {
                              if (rss)
                                  out.push_back(*rss);
                          },
                          [&](const Reta &) {
                              if (!reta.empty())
                                  out.push_back(Reta{reta});
                          }},
               change);
    return out;
}

std::vector<Change> Settings::missing_from(const Settings &has) const {
    std::vector<Change> out;
    want<Mtu>(out, mtu, has.mtu);
    const bool new_default = default_mac && (!has.default_mac || !same(*default_mac, *has.default_mac));
    const auto is_default = [&](const rte_ether_addr &mac) { return has.default_mac && same(mac, *has.default_mac); };
    // An address leaves all its pools at once, so one that is in a pool too many comes back into the others. Before the
    // default address, for ethdev refuses one that is in the list. The default address itself cannot be removed: if it
    // was added to the list too, then it goes with the new default.
    MacTable kept = has.macs;
    for (const MacAdd &m : has.macs.entries())
        if (!is_default(m.mac) && kept.pools(m.mac) != 0 &&
            (!macs.has(m) || (new_default && same(m.mac, *default_mac)))) {
            out.push_back(MacRemove{m.mac});
            kept.remove(m.mac);
        }
    if (new_default) {
        out.push_back(DefaultMac{*default_mac});
        if (has.default_mac)
            kept.remove(*has.default_mac);
    }
    // What a new device has goes for a second-hand one.
    const auto or_as_new = [&](const std::optional<bool> &wanted, bool as_new) {
        return wanted || !has.second_hand ? wanted : as_new;
    };
    want<Promiscuous>(out, or_as_new(promiscuous, false), has.promiscuous);
    want<Allmulticast>(out, or_as_new(allmulticast, false), has.allmulticast);
    for (const MacAdd &m : macs.entries())
        if (!kept.has(m))
            out.push_back(m);
    want<VlanOffload>(out, vlan_offload, has.vlan_offload);
    for (std::size_t vlan = 0; vlan < vlans.size(); vlan++)
        if (vlans[vlan] != has.vlans[vlan])
            out.push_back(VlanFilter{static_cast<std::uint16_t>(vlan), vlans[vlan]});
    const McList list{mc_list.value_or(McList{}.list)};
    if ((has.second_hand && !has.mc_list) || !same_list(list.list, has.mc_list.value_or(McList{}.list)))
        out.push_back(list);
    if (rss && !satisfied(*rss, has.rss))
        out.push_back(*rss);
    if (!reta.empty() && reta != has.reta)
        out.push_back(Reta{reta});
    want<LinkUp>(out, or_as_new(link_up, true), has.link_up);
    return out;
}

} // namespace holdfast
