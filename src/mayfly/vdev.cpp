// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/vdev.h"

#include "abi/driver_abi.h"
#include "abi/log.h"
#include "base/scope.h"
#include "mayfly/config.h"
#include "mayfly/device.h"
#include "mayfly/director.h"
#include "mayfly/port.h"
#include "mayfly/wait.h"

#include <ethdev_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

namespace holdfast::mayfly {
namespace {

/// The address of a device that was given none: local, and the same at each probe.
Mac address_of(const Device &device) noexcept {
    return {0x02, 'm', 'a', 'y', static_cast<std::uint8_t>(device.id >> 8), static_cast<std::uint8_t>(device.id)};
}

int refuse(const char *name, Status why) noexcept {
    HOLDFAST_LOG(ERR, "%s: cannot %s: %s", name, why.what(), rte_strerror(-why.code()));
    return why.code();
}

/// Whose inboxes the Tx of a device fills; nullptr: nobody's. Ports are paired with the peer's of the same number.
Device *peer_of(Device &device, const Config &config, unsigned number) {
    if (config.mode == Mode::kLoop)
        return &device;
    return config.mode == Mode::kPair ? find_device(port_name(config.peer, number)) : nullptr;
}

/// The address of a device's further port: the next one.
Mac next_to(Mac mac, unsigned number) noexcept {
    mac[5] = static_cast<std::uint8_t>(mac[5] + number);
    return mac;
}

/// Does our idea of DPDK's private structs hold? One probe that went well answers for the process.
Status check_layout_once(rte_eth_dev &dev, const rte_vdev_device &vdev) {
    static std::atomic<bool> checked{false};
    if (checked.load(std::memory_order_relaxed)) // pairs: checked (below): at worst it is checked twice
        return {};
    if (const Status s = abi::check_layout(dev, vdev); !s.ok()) {
        HOLDFAST_LOG(ERR, "%s: this DPDK places %s elsewhere", vdev.device.name, s.what());
        return {-ENOTSUP, "use a DPDK with another layout of its driver structs"};
    }
    checked.store(true, std::memory_order_relaxed); // pairs: checked (above)
    return {};
}

/// Makes the ethdev port. From the moment that the Port object owns it, its close() undoes everything.
Status make_port(rte_vdev_device &vdev, Device &device, const Config &config, unsigned number) {
    Device *peer = peer_of(device, config, number);
    if (config.mode == Mode::kPair && peer == &device)
        return {-EINVAL, "pair a device with itself (mode=loop does that)"};
    if (peer != nullptr && !peer->claim_inboxes(device))
        return {-EBUSY, "pair it: another device sends to this peer"};
    OnFailure unclaim([&]() noexcept {
        if (peer != nullptr)
            peer->unclaim_inboxes(device);
    });

    rte_eth_dev *dev = rte_eth_dev_allocate(device.name.c_str());
    if (dev == nullptr)
        return {-EEXIST, "allocate a port (does an old one still have this name?)"};
    OnFailure free_port([&]() noexcept { (void)rte_eth_dev_release_port(dev); });
    dev->device = &vdev.device;
    if (Status s = check_layout_once(*dev, vdev); !s.ok())
        return s;
    dev->data->numa_node = vdev.device.numa_node;
    dev->data->dev_flags = RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS | (config.lsc ? RTE_ETH_DEV_INTR_LSC : 0u) |
                           (config.rmv ? RTE_ETH_DEV_INTR_RMV : 0u) |
                           (config.live_mac ? 0u : RTE_ETH_DEV_NOLIVE_MAC_ADDR);
    const Mac mac = config.mac ? next_to(*config.mac, number) : address_of(device);
    // ethdev frees both when the port is released.
    auto *shared = static_cast<SharedPart *>(rte_zmalloc("net_mayfly", sizeof(SharedPart), 0));
    if (shared == nullptr)
        return {-ENOMEM, "allocate what secondary processes see"};
    shared->ports = config.ports;
    dev->data->dev_private = shared;
    dev->data->mac_addrs = static_cast<rte_ether_addr *>(
        rte_zmalloc("net_mayfly", config.max_macs * sizeof(rte_ether_addr), RTE_CACHE_LINE_SIZE));
    if (dev->data->mac_addrs == nullptr)
        return {-ENOMEM, "allocate MAC addresses"};
    std::memcpy(dev->data->mac_addrs, mac.data(), mac.size());

    auto port = std::make_unique<Port>(device, peer, config, *dev, mac);
    if (!port->begin())
        return {-ENODEV, "probe: the device was unplugged meanwhile"};
    dev->process_private = port.release();
    free_port.success();
    unclaim.success();
    rte_eth_dev_probing_finish(dev);
    return {};
}

/// Closes what is left of a device's ports, through ethdev, which takes the burst functions out of everybody's hands
/// first. The first error wins.
int close_port(const Device &device) {
    rte_eth_dev *dev = rte_eth_dev_allocated(device.name.c_str());
    if (dev == nullptr)
        return 0;
    if (dev->data->dev_started)
        (void)rte_eth_dev_stop(dev->data->port_id);
    (void)dev->dev_ops->dev_close(dev);
    return rte_eth_dev_release_port(dev);
}

/// Makes all ports of the device or none.
Status make_ports(rte_vdev_device &vdev, Device &device, const Config &config) {
    std::array<Device *, kMostPorts> ports{&device};
    for (unsigned i = 1; i < config.ports; i++)
        if (ports[i] = find_device(port_name(device.name, i)); ports[i] == nullptr)
            return {-EINVAL, "name the further ports: the name is too long"};
        else if (ports[i]->has_port()) // of a device of its own
            return {-EEXIST, "name the further ports: another device has such a name"};
    for (Device *port : ports)
        if (port != nullptr)
            port->share_hardware(ports);
    for (unsigned i = 0; i < config.ports; i++) {
        if (Status s = make_port(vdev, *ports[i], config, i); !s.ok()) {
            while (i-- > 0)
                (void)close_port(*ports[i]);
            return s;
        }
    }
    return {};
}

Status probe_primary(rte_vdev_device &vdev, std::string &why) {
    Device *device = find_device(vdev.device.name);
    if (device == nullptr)
        return {-EINVAL, "use this name: it is not net_mayfly and a number"};
    if (const int rc = device->enter(Op::kProbe); rc != 0)
        return {rc, "probe: a failure was ordered"};
    if (device->presence() != Device::Presence::kPlugged)
        return {-ENODEV, "probe: the device is unplugged"};
    Config config;
    const rte_devargs *devargs = vdev.device.devargs;
    const char *args = devargs != nullptr && devargs->args != nullptr ? devargs->args : "";
    if (!parse_config(args, config, why))
        return {-EINVAL, "read the devargs"};
    nap(config.probe_delay_ms * 1000);
    if (Status s = make_ports(vdev, *device, config); !s.ok())
        return s;
    // A script goes on over re-probes; only another text starts anew.
    if (device->new_script(config.script) && director().play(*device, config.steps) != 0)
        HOLDFAST_LOG(ERR, "%s: cannot start a thread for the script", device->name.c_str());
    return {};
}

} // namespace

std::string port_name(std::string_view device, unsigned number) {
    std::string name(device);
    return number == 0 ? name : name.append("_").append(std::to_string(number));
}

int probe(rte_vdev_device *vdev) noexcept {
    if (rte_eal_process_type() == RTE_PROC_SECONDARY)
        return attach_secondary(*vdev);
    try {
        std::string why;
        const Status s = probe_primary(*vdev, why);
        if (!why.empty())
            HOLDFAST_LOG(ERR, "%s: %s", vdev->device.name, why.c_str());
        // That an unplugged device is not there is what it is for: whoever polls for it is not to flood the log.
        if (s.code() == -ENODEV)
            HOLDFAST_LOG(INFO, "%s: cannot %s", vdev->device.name, s.what());
        return s.ok() || s.code() == -ENODEV ? s.code() : refuse(vdev->device.name, s);
    } catch (const std::bad_alloc &) {
        return refuse(vdev->device.name, {-ENOMEM, "probe"});
    }
}

/// Called for a device that is still open, too: at rte_eal_cleanup(), or by an application that only detaches.
int remove(rte_vdev_device *vdev) noexcept {
    if (rte_eal_process_type() == RTE_PROC_SECONDARY)
        return detach_secondary(*vdev);
    Device *device = find_device(vdev->device.name);
    if (device == nullptr)
        return 0;
    (void)device->enter(Op::kRemove);
    int first = 0;
    for (const Device *port : device->hardware()) {
        const int rc = port != nullptr ? close_port(*port) : 0;
        first = first != 0 ? first : rc;
    }
    return first;
}

} // namespace holdfast::mayfly
