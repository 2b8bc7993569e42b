// SPDX-License-Identifier: BSD-3-Clause
#include "port/settings.h"

#include "abi/ethdev.h"
#include "base/ids.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

bool has_mac(const std::vector<MacAdd> &list, const rte_ether_addr &mac) {
    return std::any_of(list.begin(), list.end(), [&](const MacAdd &m) { return same(m.mac, mac); });
}

bool has_entry(const std::vector<MacAdd> &list, const MacAdd &entry) {
    return std::any_of(list.begin(), list.end(),
                       [&](const MacAdd &m) { return same(m.mac, entry.mac) && m.pool == entry.pool; });
}

/// Adds the change that sets `wanted`, unless nothing is wanted or it is there.
template <class C, class T>
void want(std::vector<Change> &out, const std::optional<T> &wanted, const std::optional<T> &has) {
    if (wanted && wanted != has)
        out.push_back(C{*wanted});
}

} // namespace

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
                                 [](const LinkUp &) { return "set the link up or down"; }},
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
                                 [&](const LinkUp &c) { return ethdev.set_link(port, c.up); }},
                      change);
}

void Settings::record(const Change &change) {
    std::visit(Overloaded{[&](const Mtu &c) { mtu = c.mtu; }, [&](const Promiscuous &c) { promiscuous = c.on; },
                          [&](const Allmulticast &c) { allmulticast = c.on; },
                          [&](const DefaultMac &c) {
                              // An address that was added while it was the default one has no place of its own.
                              if (default_mac && !same(*default_mac, c.mac))
                                  std::erase_if(macs, [&](const MacAdd &m) { return same(m.mac, *default_mac); });
                              default_mac = c.mac;
                          },
                          [&](const MacAdd &c) {
                              if (!has_entry(macs, c))
                                  macs.push_back(c);
                          },
                          [&](const MacRemove &c) {
                              std::erase_if(macs, [&](const MacAdd &m) { return same(m.mac, c.mac); });
                          },
                          [&](const VlanFilter &c) { vlans.set(c.vlan, c.on); },
                          [&](const VlanOffload &c) { vlan_offload = c.mask; },
                          [&](const McList &c) { mc_list = c.list; }, [&](const LinkUp &c) { link_up = c.up; }},
               change);
}

std::vector<Change> Settings::undo(const Change &change) const {
    std::vector<Change> out;
    std::visit(Overloaded{[&](const Mtu &) { want<Mtu>(out, mtu, {}); },
                          // Off is what a device has until it is told otherwise.
                          [&](const Promiscuous &) { out.push_back(Promiscuous{promiscuous.value_or(false)}); },
                          [&](const Allmulticast &) { out.push_back(Allmulticast{allmulticast.value_or(false)}); },
                          [&](const DefaultMac &c) {
                              if (!default_mac || same(*default_mac, c.mac))
                                  return;
                              out.push_back(DefaultMac{*default_mac});
                              for (const MacAdd &m : macs) // see record()
                                  if (same(m.mac, *default_mac))
                                      out.push_back(m);
                          },
                          [&](const MacAdd &c) {
                              // The default address cannot be removed; that it is in the list too changes nothing.
                              if (has_entry(macs, c) || (default_mac && same(*default_mac, c.mac)))
                                  return;
                              out.push_back(MacRemove{c.mac}); // takes it out of all pools, so put the others back
                              for (const MacAdd &m : macs)
                                  if (same(m.mac, c.mac))
                                      out.push_back(m);
                          },
                          [&](const MacRemove &c) {
                              for (const MacAdd &m : macs)
                                  if (same(m.mac, c.mac))
                                      out.push_back(m);
                          },
                          [&](const VlanFilter &c) { out.push_back(VlanFilter{c.vlan, vlans.test(c.vlan)}); },
                          [&](const VlanOffload &) { want<VlanOffload>(out, vlan_offload, {}); },
                          [&](const McList &) { out.push_back(McList{mc_list}); },
                          [&](const LinkUp &) { out.push_back(LinkUp{link_up.value_or(true)}); }},
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
    std::vector<MacAdd> kept = has.macs;
    for (const MacAdd &m : has.macs)
        if (!is_default(m.mac) && has_mac(kept, m.mac) &&
            (!has_entry(macs, m) || (new_default && same(m.mac, *default_mac)))) {
            out.push_back(MacRemove{m.mac});
            std::erase_if(kept, [&](const MacAdd &k) { return same(k.mac, m.mac); });
        }
    if (new_default) {
        out.push_back(DefaultMac{*default_mac});
        std::erase_if(kept, [&](const MacAdd &k) { return is_default(k.mac); });
    }
    want<Promiscuous>(out, promiscuous, has.promiscuous);
    want<Allmulticast>(out, allmulticast, has.allmulticast);
    for (const MacAdd &m : macs)
        if (!has_entry(kept, m))
            out.push_back(m);
    want<VlanOffload>(out, vlan_offload, has.vlan_offload);
    for (std::size_t vlan = 0; vlan < vlans.size(); vlan++)
        if (vlans[vlan] != has.vlans[vlan])
            out.push_back(VlanFilter{static_cast<std::uint16_t>(vlan), vlans[vlan]});
    if (!same_list(mc_list, has.mc_list))
        out.push_back(McList{mc_list});
    want<LinkUp>(out, link_up, has.link_up);
    return out;
}

} // namespace holdfast
