// SPDX-License-Identifier: BSD-3-Clause
#include "abi/layout.h"

#include <rte_eal.h>

namespace holdfast::abi {
namespace layout {
namespace {

std::size_t owner_size(Field::Owner owner) noexcept {
    switch (owner) {
    case Field::Owner::kDevice:
        return sizeof(rte_eth_dev);
    case Field::Owner::kData:
        return sizeof(rte_eth_dev_data);
    case Field::Owner::kOps:
        return sizeof(eth_dev_ops);
    case Field::Owner::kVdev:
        return sizeof(rte_vdev_device);
    case Field::Owner::kBusDevice:
        return sizeof(rte_device);
    case Field::Owner::kBusDriver:
        return sizeof(rte_driver);
    case Field::Owner::kDeviceSize:
        break;
    }
    return SIZE_MAX;
}

#define HOLDFAST_FIELD(owner, type, member, check)                                                                     \
    Entry {                                                                                                            \
        {#type "." #member, Field::Owner::owner, offsetof(type, member)}, sizeof(type::member),                        \
            alignof(decltype(type::member)), &Check::check                                                             \
    }
#define HOLDFAST_SLOT(member, ...)                                                                                     \
    Entry {                                                                                                            \
        {"eth_dev_ops." #member, Field::Owner::kOps, offsetof(eth_dev_ops, member)}, sizeof(AnyOp), alignof(AnyOp),    \
            &Check::__VA_ARGS__                                                                                        \
    }

constexpr std::array kEntries{
    HOLDFAST_FIELD(kVdev, rte_vdev_device, device, vdev_device),
    HOLDFAST_FIELD(kBusDriver, rte_driver, name, bus_driver_name),
    HOLDFAST_FIELD(kBusDevice, rte_device, name, bus_device_pointer<&rte_dev_name>),
    HOLDFAST_FIELD(kBusDevice, rte_device, bus_info, bus_device_pointer<&rte_dev_bus_info>),
    HOLDFAST_FIELD(kBusDevice, rte_device, driver, bus_device_driver),
    HOLDFAST_FIELD(kBusDevice, rte_device, bus, bus_device_pointer<&rte_dev_bus>),
    HOLDFAST_FIELD(kBusDevice, rte_device, numa_node, bus_device_numa),
    HOLDFAST_FIELD(kBusDevice, rte_device, devargs, bus_device_pointer<&rte_dev_devargs>),

    Entry{{"rte_eth_dev (size)", Field::Owner::kDeviceSize, sizeof(rte_eth_dev)},
          0,
          alignof(rte_eth_dev),
          &Check::device_size},
    HOLDFAST_FIELD(kDevice, rte_eth_dev, state, state),
    HOLDFAST_FIELD(kDevice, rte_eth_dev, dev_ops, dev_ops),
    HOLDFAST_SLOT(dev_infos_get, info_slot),
    HOLDFAST_SLOT(is_removed, slot<[](std::uint16_t port) { return rte_eth_dev_is_removed(port); }>),
    HOLDFAST_FIELD(kDevice, rte_eth_dev, device, device),
    HOLDFAST_FIELD(kDevice, rte_eth_dev, data, data),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, dev_flags, dev_flags),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, owner, owner),

    HOLDFAST_FIELD(kData, rte_eth_dev_data, numa_node, numa_node),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, name, name),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, mtu, mtu),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, mac_addrs, mac_addrs),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, nb_rx_queues, queue_count<true>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, nb_tx_queues, queue_count<false>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, rx_queues, queues<true>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, tx_queues, queues<false>),
    HOLDFAST_SLOT(rxq_info_get, queue_slot<true>),
    HOLDFAST_SLOT(txq_info_get, queue_slot<false>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, rx_queue_state, queue_state<true>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, tx_queue_state, queue_state<false>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, dev_conf, dev_conf),
    HOLDFAST_SLOT(link_update, slot<[](std::uint16_t port) {
                      rte_eth_link link{};
                      return rte_eth_link_get_nowait(port, &link);
                  }>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, dev_link, dev_link),
    // Bit-fields have no offset: they are the byte after port_id, which flags() compares with the names, too.
    Entry{{"rte_eth_dev_data.promiscuous", Field::Owner::kData,
           offsetof(rte_eth_dev_data, port_id) + sizeof(std::uint16_t)},
          1,
          1,
          &Check::flags},
    HOLDFAST_SLOT(stats_get, slot<[](std::uint16_t port) {
                      rte_eth_stats stats{};
                      return rte_eth_stats_get(port, &stats);
                  }>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, rx_mbuf_alloc_failed, alloc_failed),
    HOLDFAST_SLOT(vlan_filter_set, vlan_slot),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, vlan_filter_conf, vlan_filter),
    HOLDFAST_SLOT(pool_ops_supported,
                  slot<[](std::uint16_t port) { return rte_eth_dev_pool_ops_supported(port, ""); }>),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, backer_port_id, backer_port),
    HOLDFAST_FIELD(kDevice, rte_eth_dev, link_intr_cbs, callbacks),
    HOLDFAST_FIELD(kData, rte_eth_dev_data, port_id, port_id),
    HOLDFAST_FIELD(kDevice, rte_eth_dev, flow_fp_ops, flow_fp_ops),
};
#undef HOLDFAST_FIELD
#undef HOLDFAST_SLOT

constexpr auto kList = [] {
    std::array<Field, kEntries.size()> list{};
    for (std::size_t i = 0; i < list.size(); i++)
        list[i] = kEntries[i].field;
    return list;
}();

} // namespace

const char *Check::first_wrong(std::span<const Field> fields) noexcept {
    const bool primary = rte_eal_process_type() == RTE_PROC_PRIMARY;
    for (std::size_t i = 0; i < kEntries.size(); i++) {
        const Entry &entry = kEntries[i];
        const Field::Owner owner = entry.field.owner;
        const bool of_bus =
            owner == Field::Owner::kVdev || owner == Field::Owner::kBusDevice || owner == Field::Owner::kBusDriver;
        if (!primary && !of_bus)
            break;
        const std::size_t offset = fields[i].offset;
        const std::size_t room = owner_size(owner);
        if (entry.size > room || offset > room - entry.size || offset % entry.align != 0 ||
            !(this->*entry.holds)(entry, offset))
            return entry.field.name;
    }
    return nullptr;
}

} // namespace layout

std::span<const Field> fields() noexcept {
    return layout::kList;
}

Status check_layout(rte_eth_dev &dev, const rte_vdev_device &vdev, std::span<const Field> fields) noexcept {
    if (fields.size() != layout::kEntries.size())
        return {-EINVAL, "use a list of fields of another length"};
    layout::Check check(dev, vdev);
    if (const char *wrong = check.first_wrong(fields); wrong != nullptr)
        return {-ENOTSUP, wrong};
    return {};
}

} // namespace holdfast::abi
