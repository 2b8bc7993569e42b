// SPDX-License-Identifier: BSD-3-Clause
#include "abi/layout.h"

#include <rte_bus.h>

#include <dlfcn.h>
#include <link.h>

namespace holdfast::abi::layout {

bool Check::vdev_device(const Entry &, std::size_t offset) {
    // Every device of a bus points at it.
    const auto *device = reinterpret_cast<const rte_device *>(vdev_ + offset);
    device_in_vdev_ = offset;
    const rte_bus *bus = rte_bus_find_by_name("vdev");
    return bus != nullptr && rte_dev_bus(device) == bus;
}

bool Check::bus_driver_name(const Entry &, std::size_t offset) {
    alignas(rte_driver) std::byte copy[sizeof(rte_driver)]{};
    const Patch patch(copy + offset, &kDriverName[0]);
    driver_name_at_ = offset;
    return rte_driver_name(reinterpret_cast<const rte_driver *>(copy)) == &kDriverName[0];
}

bool Check::bus_device_driver(const Entry &entry, std::size_t offset) {
    driver_at_ = offset;
    return bus_device_pointer<&rte_dev_driver>(entry, offset);
}

bool Check::bus_device_numa(const Entry &, std::size_t offset) {
    alignas(rte_device) std::byte copy[sizeof(rte_device)]{};
    const Patch patch(copy + offset, kNumber);
    return rte_dev_numa_node(reinterpret_cast<const rte_device *>(copy)) == kNumber;
}

bool Check::device_size(const Entry &, std::size_t size) {
    // The size of the array stands in the symbol table of the library that has it.
    Dl_info found{};
    void *entry = nullptr;
    if (dladdr1(rte_eth_devices, &found, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr)
        return false;
    const auto *symbol = static_cast<const ElfW(Sym) *>(entry);
    const auto distance = static_cast<std::size_t>(dev_ - reinterpret_cast<std::byte *>(rte_eth_devices));
    if (size == 0 || symbol->st_size != size * RTE_MAX_ETHPORTS || distance % size != 0)
        return false;
    port_ = static_cast<std::uint16_t>(distance / size);
    return true;
}

bool Check::state(const Entry &, std::size_t offset) {
    const bool valid_before = rte_eth_dev_is_valid_port(port_) != 0;
    state_at_ = offset;
    state_patch_.emplace(dev_ + offset, RTE_ETH_DEV_ATTACHED);
    return !valid_before && rte_eth_dev_is_valid_port(port_) != 0;
}

void Check::attach() noexcept {
    // ethdev moves the state of a port whose driver says "removed", which is what our refusals may look like.
    const rte_eth_dev_state attached = RTE_ETH_DEV_ATTACHED;
    std::memcpy(dev_ + state_at_, &attached, sizeof attached);
    t_seen = {};
}

bool Check::dev_ops(const Entry &, std::size_t offset) {
    OpsTable decoys;
    decoys.fill(any(&decoy_op));
    table_.fill(any(&table_op));
    ops_patch_.emplace(dev_ + offset, static_cast<const void *>(table_.data()));
    const Decoys guard(dev_, offsetof(rte_eth_dev, link_intr_cbs), decoys.data());
    rte_eth_dev_info info;
    attach();
    return rte_eth_dev_info_get(port_, &info) != 0 && t_seen.table > 0 && t_seen.decoy == 0;
}

bool Check::info_slot(const Entry &, std::size_t offset) {
    // A refused call is followed by one of is_removed, with other arguments, so info_op must not be the one to be
    // tried.
    put_op(offset, any(&first_op));
    rte_eth_dev_info info;
    attach();
    const bool refused = rte_eth_dev_info_get(port_, &info) != 0;
    if (!refused || !t_seen.first)
        return false;
    put_op(offset, any(&info_op));
    return true;
}

bool Check::device(const Entry &, std::size_t offset) {
    const auto *expected = reinterpret_cast<const rte_device *>(vdev_ + device_in_vdev_);
    rte_eth_dev_info info;
    attach();
    const bool failed = rte_eth_dev_info_get(port_, &info) != 0;
    return failed && t_seen.device == expected && read<const rte_device *>(dev_ + offset) == expected;
}

int Check::info(rte_eth_dev_info &info) noexcept {
    alignas(rte_driver) std::byte driver[sizeof(rte_driver)]{};
    const Patch name(driver + driver_name_at_, &kDriverName[0]);
    const Patch patch(vdev_ + device_in_vdev_ + driver_at_, static_cast<const void *>(driver));
    attach();
    t_seen.info_may_succeed = true;
    return rte_eth_dev_info_get(port_, &info);
}

} // namespace holdfast::abi::layout
