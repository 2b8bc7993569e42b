// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"
#include "abi/driver_abi.h"
#include "abi/ethdev.h"
#include "abi/events.h"
#include "abi/log.h"
#include "abi/vdev_bus.h"
#include "base/policy.h"
#include "base/result.h"
#include "base/scope.h"
#include "driver/devargs.h"
#include "driver/ops.h"
#include "driver/secondary.h"
#include "driver/telemetry.h"
#include "hotplug/host_thread.h"
#include "hotplug/line_reader.h"
#include "port/capabilities.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/shared.h"
#include "port/virtual_port.h"

#include <ethdev_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

const char *name_of(const rte_vdev_device &vdev) noexcept {
    return rte_dev_name(&vdev.device);
}

/// The checks of our own picture of DPDK's structs: once, on the first port.
Status check_once(rte_eth_dev &dev, const rte_vdev_device &vdev) {
    static bool good = false;
    if (good)
        return {};
    const Status s = abi::check_layout(dev, vdev);
    good = s.ok();
    if (!good)
        HOLDFAST_LOG(ERR, "%s: this DPDK does not have %s where the driver was built to find it", name_of(vdev),
                     s.what());
    return good ? s : Status{s.code(), "use this DPDK; build the driver against the version that runs"};
}

/// What is wrong with the descriptors that the devargs name; nothing if they can be read.
std::optional<std::string> fault_in_descriptors(const Config &config) {
    for (const Source &source : config.devices)
        if (const auto *descriptor = std::get_if<DescriptorSource>(&source))
            if (const char *fault = LineReader::fault_in(descriptor->fd); fault != nullptr)
                return holdfast::complain(std::to_string(descriptor->fd), descriptor->at, fault);
    return {};
}

Status create(rte_vdev_device &vdev, Config config) {
    rte_eth_dev *dev = rte_eth_dev_allocate(name_of(vdev));
    if (dev == nullptr)
        return {-EEXIST, "allocate a port"}; // ethdev has said why: the name is taken, or there are too many ports
    OnFailure release([&]() noexcept { (void)rte_eth_dev_release_port(dev); });
    dev->device = &vdev.device;
    if (Status s = check_once(*dev, vdev); !s.ok())
        return s;
    dev->data->numa_node = vdev.device.numa_node;
    dev->data->dev_flags = RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
    // Both are DPDK's memory: ethdev frees them with the port, and other processes see them.
    void *shared =
        rte_zmalloc_socket("holdfast_shared", sizeof(SharedPort), alignof(SharedPort), vdev.device.numa_node);
    if (shared == nullptr)
        return {-ENOMEM, "get shared memory"};
    dev->data->dev_private = new (shared) SharedPort;
    if (Status s = abi::register_events(); !s.ok())
        return s;
    HostThread &host = HostThread::get();
    if (Status s = host.run(); !s.ok())
        return s;
    dev->data->mac_addrs = static_cast<rte_ether_addr *>(
        rte_zmalloc_socket("holdfast_macs", sizeof(rte_ether_addr) * kMaxMacs, 0, vdev.device.numa_node));
    if (dev->data->mac_addrs == nullptr)
        return {-ENOMEM, "get memory for MAC addresses"};

    std::vector<std::unique_ptr<DeviceSource>> sources;
    if (Status s = host.make_sources(config, sources); !s.ok())
        return s;
    const Policy policy = config.policy;
    auto port = std::make_unique<VirtualPort>(*dev, std::move(config), abi::real_ethdev(), abi::real_bus(), host,
                                              std::move(sources));
    dev->process_private = port.get();
    install(*dev, policy);
    if (Status s = port->begin(); !s.ok()) {
        dev->process_private = nullptr;
        return s;
    }
    host.add(*port.release());
    register_telemetry();
    serve_secondaries();
    release.success();
    rte_eth_dev_probing_finish(dev);
    return {};
}

int probe(rte_vdev_device *vdev) noexcept {
    try {
        Status s;
        if (rte_eal_process_type() == RTE_PROC_SECONDARY) {
            s = attach_secondary(*vdev);
        } else {
            const rte_devargs *given = rte_dev_devargs(&vdev->device);
            Config config;
            std::optional<std::string> wrong =
                parse_devargs(given != nullptr && given->args != nullptr ? given->args : "", config);
            if (!wrong)
                wrong = fault_in_descriptors(config);
            if (wrong) {
                HOLDFAST_LOG(ERR, "%s: cannot read the arguments: %s", name_of(*vdev), wrong->c_str());
                return -EINVAL;
            }
            s = create(*vdev, std::move(config));
        }
        if (!s.ok())
            HOLDFAST_LOG(ERR, "%s: cannot %s: %s", name_of(*vdev), s.what(), rte_strerror(-s.code()));
        return s.code();
    } catch (const std::exception &) {
        return -ENOMEM;
    }
}

int remove(rte_vdev_device *vdev) noexcept {
    if (rte_eal_process_type() == RTE_PROC_SECONDARY)
        return detach_secondary(*vdev);
    rte_eth_dev *dev = rte_eth_dev_allocated(name_of(*vdev));
    if (dev == nullptr)
        return 0; // closed before
    // The application did not close the port. The bus holds its lock around us, or (rte_eal_cleanup) walks its list
    // with the next device in hand: so we do not wait for the host thread, and that one device stays in the list.
    if (dev->data->dev_started != 0)
        (void)rte_eth_dev_stop(dev->data->port_id);
    // It has told what went wrong. The port is gone in any case, so the bus has to let go of the device too.
    (void)dismantle(*dev, abi::Wait::kBriefly, vdev->next.tqe_next);
    return rte_eth_dev_release_port(dev);
}

rte_vdev_driver g_driver = [] {
    rte_vdev_driver driver{};
    driver.driver.name = "net_holdfast";
    driver.probe = probe;
    driver.remove = remove;
    return driver;
}();

/// At load. A driver that is not registered leaves the process as it was: its devices are then unknown to the bus.
[[gnu::constructor]] void load() noexcept {
    abi::register_log("pmd.net.holdfast");
    if (const Status s = abi::check_version(); !s.ok()) {
        std::fprintf(stderr, "net_holdfast is not available: cannot %s\n", s.what());
        return;
    }
    rte_vdev_register(&g_driver);
    // The bus goes by the beginning of a name, so a longer or shorter one stands in the way like an equal one.
    if (const rte_vdev_driver *other = abi::clashing_driver(g_driver); other != nullptr) {
        rte_vdev_unregister(&g_driver);
        std::fprintf(stderr,
                     "net_holdfast: a driver named %s is loaded already, so this copy of the driver stays unused\n",
                     other->driver.name);
        return;
    }
    abi::register_vdev_key();
}

[[gnu::destructor]] void unload() noexcept {
    HostThread::get().stop();
}

// What dpdk-pmdinfo.py looks for in the module's read-only data.
[[gnu::used]] const char kPmdInfo[] =
    "PMD_INFO_STRING= {\"name\" : \"net_holdfast\", \"params\" : \"dev(<devargs>) exec(<command>) fd(<number>[,force]) "
    "udev(<match;...>) mac=<mac> hotplug_poll=<ms> exec_timeout=<ms> switch_on=link|removal "
    "reselect=always|better|failure lsc_poll=<ms> down_delay=<ms> up_delay=<ms> announce=<int> announce_vlans=no|yes "
    "rx=all|active tx=active|balance|round-robin|broadcast xmit_policy=l2|l23|l34 no_active=hold|drop\", "
    "\"kmod\" : \"\", \"pci_ids\" : []}";

} // namespace
} // namespace holdfast
