// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/driver_abi.h"
#include "abi/patch.h"

#include <rte_dev.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

// The check of driver_abi.h, for the sources layout*.cpp. Each field is put to the test alone, with values that no
// neighbour holds, and by a public function that reads this field and follows no pointer which was not proved before.
// That gives the order of the list in layout.cpp: first the bus's structs (on a copy of our own), then what makes a
// port valid and lets DPDK call us (state, ops, device), then `data`, then the rest.
namespace holdfast::abi::layout {

using AnyOp = void (*)();
using OpsTable = std::array<AnyOp, 1024 / sizeof(AnyOp)>; // larger than eth_dev_ops of any release
static_assert(sizeof(OpsTable) >= sizeof(eth_dev_ops));

/// What the ops saw. A check runs on one thread, and ethdev calls ops on the thread of its caller.
struct Seen {
    int decoy = 0;
    int table = 0;
    int marker = 0;
    bool first = false;
    const rte_device *device = nullptr;
    bool info_may_succeed = false;
};
inline thread_local Seen t_seen;

inline int decoy_op() noexcept {
    t_seen.decoy++;
    return -ENOTSUP;
}

inline int table_op() noexcept {
    t_seen.table++;
    return -ENOTSUP;
}

/// Refuses, and says whether it was called before any other op.
inline int first_op() noexcept {
    t_seen.first = t_seen.table == 0;
    return -ENOTSUP;
}

inline int marker_op() noexcept {
    t_seen.marker++;
    return 0;
}

inline int info_op(rte_eth_dev *, rte_eth_dev_info *info) noexcept {
    t_seen.marker++;
    t_seen.device = info->device;
    return t_seen.info_may_succeed ? 0 : -ENOTSUP;
}

template <class F> AnyOp any(F *function) noexcept {
    return reinterpret_cast<AnyOp>(function);
}

/// The one value of the type that is no event, so that no application's callback hears of the check.
inline constexpr rte_eth_event_type kPrivateEvent = RTE_ETH_EVENT_MAX;

inline int event_seen(std::uint16_t port, rte_eth_event_type, void *arg, void *) noexcept {
    *static_cast<std::uint16_t *>(arg) = port;
    return 0;
}

// Values that no field holds by itself; two of them where one could be there by chance.
inline constexpr char kDriverName[] = "holdfast layout check"; // an array: it must have one address
inline constexpr int kNumber = 0x5a314c27;
inline constexpr std::array<std::uint16_t, 2> kShorts{0x5a31, 0x2c47};
inline constexpr std::uint64_t kLong = 0x5a31'4c27'9e68'0fb3;
inline constexpr std::size_t kOffloads = offsetof(rte_eth_conf, rxmode) + offsetof(rte_eth_rxmode, offloads);
inline constexpr std::uint8_t kPromiscuousBit = 0x01;
inline constexpr std::uint8_t kAllMulticastBit = 0x04;
inline constexpr std::uint8_t kStartedBit = 0x08;

class Check;

struct Entry {
    Field field;
    std::size_t size;
    std::size_t align;
    bool (Check::*holds)(const Entry &entry, std::size_t offset);
};

/// One run over the list. What is proved is kept: the offset of a field that has held is used by the fields after it.
class Check {
  public:
    Check(rte_eth_dev &dev, const rte_vdev_device &vdev) noexcept
        : dev_(reinterpret_cast<std::byte *>(&dev)),
          vdev_(reinterpret_cast<std::byte *>(const_cast<rte_vdev_device *>(&vdev))) {}

    const char *first_wrong(std::span<const Field> fields) noexcept;

    bool vdev_device(const Entry &, std::size_t offset);
    bool bus_driver_name(const Entry &, std::size_t offset);
    template <auto Get> bool bus_device_pointer(const Entry &, std::size_t offset);
    bool bus_device_driver(const Entry &, std::size_t offset);
    bool bus_device_numa(const Entry &, std::size_t offset);
    bool device_size(const Entry &, std::size_t size);
    bool state(const Entry &, std::size_t offset);
    bool dev_ops(const Entry &, std::size_t offset);
    bool info_slot(const Entry &, std::size_t offset);
    template <auto Call> bool slot(const Entry &, std::size_t offset);
    bool device(const Entry &, std::size_t offset);
    bool data(const Entry &, std::size_t offset);
    bool dev_flags(const Entry &, std::size_t offset);
    bool owner(const Entry &, std::size_t offset);
    bool numa_node(const Entry &, std::size_t offset);
    bool name(const Entry &, std::size_t offset);
    bool mtu(const Entry &, std::size_t offset);
    bool mac_addrs(const Entry &, std::size_t offset);
    template <bool Rx> bool queue_count(const Entry &, std::size_t offset);
    template <bool Rx> bool queues(const Entry &, std::size_t offset);
    template <bool Rx> bool queue_slot(const Entry &, std::size_t offset);
    template <bool Rx> bool queue_state(const Entry &, std::size_t offset);
    bool dev_conf(const Entry &, std::size_t offset);
    bool dev_link(const Entry &, std::size_t offset);
    bool flags(const Entry &, std::size_t offset);
    bool alloc_failed(const Entry &, std::size_t offset);
    bool vlan_slot(const Entry &, std::size_t offset);
    bool vlan_filter(const Entry &, std::size_t offset);
    bool backer_port(const Entry &, std::size_t offset);
    bool callbacks(const Entry &, std::size_t offset);
    bool port_id(const Entry &, std::size_t offset);
    bool flow_fp_ops(const Entry &, std::size_t offset);

  private:
    struct Queues {
        std::size_t count_at = 0;
        std::size_t array_at = 0;
    };

    template <class T> static T read(const std::byte *where) noexcept {
        T value;
        std::memcpy(&value, where, sizeof value);
        return value;
    }
    [[nodiscard]] std::byte *at(std::size_t offset) const noexcept { return data_ + offset; }
    void attach() noexcept;
    void put_op(std::size_t offset, AnyOp op) noexcept {
        std::memcpy(reinterpret_cast<std::byte *>(table_.data()) + offset, &op, sizeof op);
    }
    /// rte_eth_dev_info_get() with a driver in the device, which the bus sets only after the probe.
    int info(rte_eth_dev_info &info) noexcept;
    template <bool Rx> int queue_info(std::size_t queues_at, std::uint8_t &state) noexcept;
    int set_vlan(std::uint16_t vlan, bool on) noexcept;

    std::byte *dev_;
    std::byte *vdev_;
    std::byte *data_ = nullptr;
    std::uint16_t port_ = 0;
    std::size_t device_in_vdev_ = 0;
    std::size_t driver_name_at_ = 0;
    std::size_t driver_at_ = 0;
    std::size_t state_at_ = 0;
    std::size_t conf_at_ = 0;
    Queues rx_;
    Queues tx_;
    std::uintptr_t flags_of_dpdk_ = 0; ///< where DPDK says that dev_flags are
    OpsTable table_{};                 ///< refuses everything but the ops that were proved, or are being proved
    // Held until the end, made in this order and taken back in reverse.
    std::optional<Patch> state_patch_;
    std::optional<Patch> ops_patch_;
    std::optional<Patch> owner_patch_;
};

template <auto Get> bool Check::bus_device_pointer(const Entry &, std::size_t offset) {
    alignas(rte_device) std::byte copy[sizeof(rte_device)]{};
    const Patch patch(copy + offset, static_cast<const void *>(copy));
    return static_cast<const void *>(Get(reinterpret_cast<const rte_device *>(copy))) == copy;
}

template <auto Call> bool Check::slot(const Entry &, std::size_t offset) {
    put_op(offset, any(&marker_op));
    attach();
    return Call(port_) == 0 && t_seen.marker == 1 && t_seen.table == 0;
}

} // namespace holdfast::abi::layout
