// SPDX-License-Identifier: BSD-3-Clause
#include "abi/fast_path.h"
#include "abi/layout.h"

#include <cstring>

namespace holdfast::abi::layout {

bool Check::data(const Entry &, std::size_t offset) {
    rte_eth_dev_info now{};
    if (info(now) != 0 || now.driver_name != &kDriverName[0])
        return false;
    // No public function tells where the shared part begins, but one tells where dev_flags are in it. So the pointer
    // must be that of a struct around them; a wrong one is not followed.
    flags_of_dpdk_ = reinterpret_cast<std::uintptr_t>(now.dev_flags);
    const auto begin = read<std::uintptr_t>(dev_ + offset);
    data_ = reinterpret_cast<std::byte *>(begin);
    return begin % alignof(rte_eth_dev_data) == 0 && begin <= flags_of_dpdk_ &&
           flags_of_dpdk_ - begin < sizeof(rte_eth_dev_data);
}

bool Check::dev_flags(const Entry &, std::size_t offset) {
    return reinterpret_cast<std::uintptr_t>(at(offset)) == flags_of_dpdk_;
}

bool Check::owner(const Entry &, std::size_t offset) {
    constexpr std::uint64_t kName = 0x0041'4243'4445'4647;
    rte_eth_dev_owner got{};
    owner_patch_.emplace(at(offset), kLong); // stays: those who iterate over the ports pass an owned one by
    const Patch name(at(offset) + offsetof(rte_eth_dev_owner, name), kName);
    return rte_eth_dev_owner_get(port_, &got) == 0 && got.id == kLong &&
           std::memcmp(got.name, &kName, sizeof kName) == 0;
}

bool Check::numa_node(const Entry &, std::size_t offset) {
    const Patch patch(at(offset), kNumber);
    return rte_eth_dev_socket_id(port_) == kNumber;
}

bool Check::name(const Entry &entry, std::size_t offset) {
    char got[RTE_ETH_NAME_MAX_LEN]{};
    if (rte_eth_dev_get_name_by_port(port_, got) != 0 || got[0] == '\0')
        return false;
    return std::strncmp(got, reinterpret_cast<const char *>(at(offset)), entry.size) == 0;
}

bool Check::mtu(const Entry &, std::size_t offset) {
    for (const std::uint16_t value : kShorts) {
        const Patch patch(at(offset), value);
        std::uint16_t got = 0;
        if (rte_eth_dev_get_mtu(port_, &got) != 0 || got != value)
            return false;
    }
    return true;
}

bool Check::mac_addrs(const Entry &, std::size_t offset) {
    const rte_ether_addr mine{{0x02, 0x5a, 0x31, 0x4c, 0x27, 0x9e}};
    const rte_ether_addr decoy{{0x02, 0, 0, 0, 0, 0}};
    const Patch patch(at(offset), &mine);
    const Decoys guard(data_, offsetof(rte_eth_dev_data, flow_ops_mutex), &decoy);
    rte_ether_addr got{};
    return rte_eth_macaddr_get(port_, &got) == 0 && std::memcmp(&got, &mine, sizeof got) == 0;
}

template <bool Rx> bool Check::queue_count(const Entry &, std::size_t offset) {
    (Rx ? rx_ : tx_).count_at = offset;
    for (const std::uint16_t value : kShorts) {
        const Patch patch(at(offset), value);
        rte_eth_dev_info now{};
        if (info(now) != 0 || (Rx ? now.nb_rx_queues : now.nb_tx_queues) != value)
            return false;
    }
    return true;
}

template <bool Rx> int Check::queue_info(std::size_t queues_at, std::uint8_t &state) noexcept {
    // Last, so that they hold whatever was put over them before.
    void *queue = &state;
    const Patch count(at((Rx ? rx_ : tx_).count_at), std::uint16_t{1});
    const Patch array(at(queues_at), &queue);
    attach();
    int rc = 0;
    if constexpr (Rx) {
        rte_eth_rxq_info got{};
        rc = rte_eth_rx_queue_info_get(port_, 0, &got);
        state = got.queue_state;
    } else {
        rte_eth_txq_info got{};
        rc = rte_eth_tx_queue_info_get(port_, 0, &got);
        state = got.queue_state;
    }
    return rc;
}

template <bool Rx> bool Check::queues(const Entry &, std::size_t offset) {
    // With the array anywhere else DPDK finds none, and says so.
    std::uint8_t state = 0;
    (Rx ? rx_ : tx_).array_at = offset;
    return queue_info<Rx>(offset, state) == 0;
}

template <bool Rx> bool Check::queue_slot(const Entry &, std::size_t offset) {
    put_op(offset, any(&marker_op));
    std::uint8_t state = 0;
    return queue_info<Rx>((Rx ? rx_ : tx_).array_at, state) == 0 && t_seen.marker == 1 && t_seen.table == 0;
}

template <bool Rx> bool Check::queue_state(const Entry &, std::size_t offset) {
    for (const std::uint8_t value : {std::uint8_t{0x51}, std::uint8_t{0x2e}}) {
        const Patch patch(at(offset), value);
        std::uint8_t got = 0;
        if (queue_info<Rx>((Rx ? rx_ : tx_).array_at, got) != 0 || got != value)
            return false;
    }
    return true;
}

bool Check::dev_conf(const Entry &, std::size_t offset) {
    // Its Rx offloads are what one function tells of it; the rest is a public struct.
    struct Case {
        std::uint64_t offloads;
        int told;
    };
    constexpr std::array kCases{Case{0, 0}, Case{RTE_ETH_RX_OFFLOAD_VLAN_STRIP, RTE_ETH_VLAN_STRIP_OFFLOAD},
                                Case{RTE_ETH_RX_OFFLOAD_QINQ_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_EXTEND,
                                     RTE_ETH_QINQ_STRIP_OFFLOAD | RTE_ETH_VLAN_EXTEND_OFFLOAD}};
    conf_at_ = offset;
    for (const Case &c : kCases) {
        const Patch patch(at(offset + kOffloads), c.offloads);
        if (rte_eth_dev_get_vlan_offload(port_) != c.told)
            return false;
    }
    return true;
}

bool Check::dev_link(const Entry &, std::size_t offset) {
    const Patch patch(at(offset), kLong);
    rte_eth_link got{};
    static_assert(sizeof got == sizeof kLong);
    return rte_eth_link_get_nowait(port_, &got) == 0 && std::memcmp(&got, &kLong, sizeof got) == 0;
}

bool Check::flags(const Entry &, std::size_t offset) {
    const auto *ours = reinterpret_cast<const rte_eth_dev_data *>(data_);
    {
        const Patch patch(at(offset), kPromiscuousBit);
        if (rte_eth_promiscuous_get(port_) != 1 || rte_eth_allmulticast_get(port_) != 0 || ours->promiscuous != 1)
            return false;
    }
    {
        const Patch patch(at(offset), kAllMulticastBit);
        if (rte_eth_promiscuous_get(port_) != 0 || rte_eth_allmulticast_get(port_) != 1 || ours->all_multicast != 1)
            return false;
    }
    // A started port with link interrupts tells its stored link without asking the driver.
    rte_intr_conf interrupts{};
    interrupts.lsc = 1;
    const Patch conf(at(conf_at_ + offsetof(rte_eth_conf, intr_conf)), interrupts);
    const Patch patch(at(offset), kStartedBit);
    rte_eth_link link{};
    attach();
    return rte_eth_link_get_nowait(port_, &link) == 0 && t_seen.marker == 0 && ours->dev_started == 1;
}

bool Check::alloc_failed(const Entry &, std::size_t offset) {
    const Patch patch(at(offset), kLong);
    rte_eth_stats got{};
    return rte_eth_stats_get(port_, &got) == 0 && got.rx_nombuf == kLong;
}

bool Check::vlan_filter(const Entry &, std::size_t offset) {
    // ethdev sets the bit of a VLAN by itself when the driver has accepted it.
    constexpr std::uint16_t kVlan = 3 * 64 + 5;
    if (set_vlan(kVlan, true) != 0)
        return false;
    const bool set = read<std::uint64_t>(at(offset) + 3 * sizeof(std::uint64_t)) == std::uint64_t{1} << 5U;
    return set_vlan(kVlan, false) == 0 && set;
}

bool Check::vlan_slot(const Entry &, std::size_t offset) {
    put_op(offset, any(&marker_op));
    attach();
    return set_vlan(1, false) == 0 && t_seen.marker == 1 && t_seen.table == 0;
}

int Check::set_vlan(std::uint16_t vlan, bool on) noexcept {
    const Patch offloads(at(conf_at_ + kOffloads), std::uint64_t{RTE_ETH_RX_OFFLOAD_VLAN_FILTER});
    return rte_eth_dev_vlan_filter(port_, vlan, on ? 1 : 0);
}

bool Check::backer_port(const Entry &, std::size_t offset) {
    return read<std::uint16_t>(at(offset)) == RTE_MAX_ETHPORTS; // "none", set when the port was allocated
}

bool Check::callbacks(const Entry &, std::size_t offset) {
    std::byte *const head = dev_ + offset;
    const auto first = [head] { return read<void *>(head); };
    const auto last = [head] { return read<void *>(head + sizeof(void *)); };
    // An empty list's second word points at its first; and one more callback moves it to a link that ends the list.
    void *const before = last();
    if (before == nullptr || (first() == nullptr) != (before == head))
        return false;
    std::uint16_t seen = 0;
    if (rte_eth_dev_callback_register(port_, kPrivateEvent, &event_seen, &seen) != 0)
        return false;
    const bool moved = first() != nullptr && last() != nullptr && last() != before && last() != head;
    return rte_eth_dev_callback_unregister(port_, kPrivateEvent, &event_seen, &seen) == 0 && moved && last() == before;
}

bool Check::port_id(const Entry &, std::size_t offset) {
    for (const std::uint16_t value : kShorts) {
        std::uint16_t seen = 0;
        if (rte_eth_dev_callback_register(port_, kPrivateEvent, &event_seen, &seen) != 0)
            return false;
        {
            const Patch patch(at(offset), value);
            (void)rte_eth_dev_callback_process(reinterpret_cast<rte_eth_dev *>(dev_), kPrivateEvent, nullptr);
        }
        if (rte_eth_dev_callback_unregister(port_, kPrivateEvent, &event_seen, &seen) != 0 || seen != value)
            return false;
    }
    return read<std::uint16_t>(at(offset)) == port_;
}

bool Check::flow_fp_ops(const Entry &, std::size_t offset) {
    return read<const rte_flow_fp_ops *>(dev_ + offset) == &rte_flow_fp_default_ops; // set when the port was allocated
}

template bool Check::queue_count<true>(const Entry &, std::size_t);
template bool Check::queue_count<false>(const Entry &, std::size_t);
template bool Check::queues<true>(const Entry &, std::size_t);
template bool Check::queues<false>(const Entry &, std::size_t);
template bool Check::queue_slot<true>(const Entry &, std::size_t);
template bool Check::queue_slot<false>(const Entry &, std::size_t);
template bool Check::queue_state<true>(const Entry &, std::size_t);
template bool Check::queue_state<false>(const Entry &, std::size_t);

} // namespace holdfast::abi::layout
