// SPDX-License-Identifier: BSD-3-Clause
// What an application sets. The simulated hardware remembers it and does nothing else with it: no packet is filtered.
#include "mayfly/link.h"
#include "mayfly/port.h"

#include <cstring>

namespace holdfast::mayfly {
namespace {

Mac to_mac(const rte_ether_addr &address) noexcept {
    Mac mac{};
    std::memcpy(mac.data(), address.addr_bytes, mac.size());
    return mac;
}

} // namespace

Status Port::promiscuous_enable() {
    device_.settings([](Settings &s) { s.promiscuous = true; });
    return {};
}

Status Port::promiscuous_disable() {
    device_.settings([](Settings &s) { s.promiscuous = false; });
    return {};
}

Status Port::allmulticast_enable() {
    device_.settings([](Settings &s) { s.allmulticast = true; });
    return {};
}

Status Port::allmulticast_disable() {
    device_.settings([](Settings &s) { s.allmulticast = false; });
    return {};
}

void Port::mac_remove(std::uint32_t slot) {
    device_.settings([slot](Settings &s) { s.macs.erase(slot); });
}

Status Port::mac_add(rte_ether_addr *mac, std::uint32_t slot, std::uint32_t /*pool*/) {
    if (slot >= config_.max_macs)
        return {-ENOSPC, "add a MAC address: no such slot"};
    return device_.settings([&](Settings &s) -> Status {
        if (slot == 0) {
            s.mac = to_mac(*mac);
            return {};
        }
        // An address that joins a second pool has its place already.
        if (!s.macs.contains(slot) && s.macs.size() >= config_.mac_places())
            return {-ENOSPC, "add a MAC address: the table is full (macs=)"};
        s.macs[slot] = to_mac(*mac);
        return {};
    });
}

Status Port::mac_set(rte_ether_addr *mac) {
    return device_.settings([&](Settings &s) -> Status {
        if (!config_.live_mac && s.started)
            return {-EBUSY, "set the MAC address: not while started (live_mac=0)"};
        s.mac = to_mac(*mac);
        return {};
    });
}

Status Port::mc_list(rte_ether_addr *list, std::uint32_t count) {
    if (count > config_.mc_mac_places())
        return {-ENOSPC, "set the multicast list: it is too long"};
    device_.settings([&](Settings &s) {
        s.mc_macs.clear();
        for (std::uint32_t i = 0; i < count; i++)
            s.mc_macs.push_back(to_mac(list[i]));
    });
    return {};
}

Status Port::mtu_set(std::uint16_t mtu) {
    if (mtu > config_.max_mtu)
        return {-EINVAL, "set the MTU: it is above max_mtu="};
    device_.settings([mtu](Settings &s) { s.mtu = mtu; });
    return {};
}

Status Port::vlan_filter(std::uint16_t vlan, int on) {
    return device_.settings([&](Settings &s) -> Status {
        if (vlan >= s.vlans.size())
            return {-EINVAL, "filter a VLAN: no such id"};
        if (on != 0 && !s.vlans.test(vlan) && s.vlans.count() >= config_.vlans)
            return {-ENOSPC, "filter a VLAN: the table is full (vlans=)"};
        s.vlans.set(vlan, on != 0);
        return {};
    });
}

Status Port::vlan_tpid(enum rte_vlan_type type, std::uint16_t tpid) {
    if (type != RTE_ETH_VLAN_TYPE_OUTER && type != RTE_ETH_VLAN_TYPE_INNER)
        return {-EINVAL, "set a TPID: neither inner nor outer"};
    device_.settings([&](Settings &s) { (type == RTE_ETH_VLAN_TYPE_OUTER ? s.tpid_outer : s.tpid_inner) = tpid; });
    return {};
}

void Port::vlan_strip_queue(std::uint16_t queue, int on) {
    if (queue >= kMostQueues)
        return;
    const std::uint64_t bit = std::uint64_t{1} << queue;
    device_.settings([&](Settings &s) { s.strip_queues = on != 0 ? s.strip_queues | bit : s.strip_queues & ~bit; });
}

Status Port::vlan_offload(int /*mask*/) {
    const std::uint64_t offloads = dev_.data->dev_conf.rxmode.offloads; // ethdev has put the wanted ones there
    device_.settings([offloads](Settings &s) { s.rx_offloads = offloads; });
    return {};
}

Status Port::vlan_pvid(std::uint16_t vlan, int on) {
    device_.settings([&](Settings &s) { s.pvid = on != 0 ? vlan : std::uint16_t{0}; });
    return {};
}

Status Port::flow_ctrl_get(rte_eth_fc_conf *conf) {
    device_.settings([conf](const Settings &s) {
        conf->mode = static_cast<rte_eth_fc_mode>(s.fc_mode);
        conf->high_water = s.fc_high_water;
        conf->low_water = s.fc_low_water;
        conf->pause_time = s.fc_pause_time;
        conf->send_xon = s.fc_send_xon;
        conf->mac_ctrl_frame_fwd = s.fc_forward_ctrl;
        conf->autoneg = s.fc_autoneg;
    });
    return {};
}

Status Port::flow_ctrl_set(rte_eth_fc_conf *conf) {
    device_.settings([conf](Settings &s) {
        s.fc_mode = conf->mode;
        s.fc_high_water = conf->high_water;
        s.fc_low_water = conf->low_water;
        s.fc_pause_time = conf->pause_time;
        s.fc_send_xon = conf->send_xon;
        s.fc_forward_ctrl = conf->mac_ctrl_frame_fwd;
        s.fc_autoneg = conf->autoneg;
    });
    return {};
}

Status Port::ptypes_set(std::uint32_t mask) {
    device_.settings([mask](Settings &s) { s.ptype_mask = mask; });
    return {};
}

Status Port::link_up() {
    device_.settings([](Settings &s) { s.link_wanted = true; });
    publish_link(dev_, device_);
    return {};
}

Status Port::link_down() {
    device_.settings([](Settings &s) { s.link_wanted = false; });
    publish_link(dev_, device_);
    return {};
}

int Port::link_update(int /*wait*/) {
    return publish_link(dev_, device_);
}

} // namespace holdfast::mayfly
