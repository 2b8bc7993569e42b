// SPDX-License-Identifier: BSD-3-Clause
// A mayfly's port in a secondary process. The device, its queues and its rings are memory of the primary alone; the
// shared part of the port may be read, and closing it gives back what this process holds, which is nothing.
#include "abi/callback.h"
#include "abi/fast_path.h"
#include "mayfly/config.h"
#include "mayfly/vdev.h"

#include <ethdev_vdev.h>

#include <cerrno>
#include <cstdint>

namespace holdfast::mayfly {
namespace {

struct Onlooker {
    int close() { return 0; }
    Status info(rte_eth_dev_info *info) {
        info->max_rx_queues = dev->data->nb_rx_queues;
        info->max_tx_queues = dev->data->nb_tx_queues;
        info->max_mac_addrs = 1;
        return {};
    }
    int link_update(int /*wait*/) { return 0; } // the primary keeps the shared word true

    rte_eth_dev *dev;
};

constexpr eth_dev_ops look_ops() noexcept {
    eth_dev_ops ops{};
    ops.dev_close = abi::callback<&Onlooker::close>;
    ops.link_update = abi::callback<&Onlooker::link_update>;
    ops.dev_infos_get = abi::callback<&Onlooker::info>;
    return ops;
}
constexpr eth_dev_ops kLook = look_ops();

std::uint16_t no_burst(void * /*queue*/, rte_mbuf ** /*packets*/, std::uint16_t /*n*/) noexcept {
    return 0;
}

Onlooker g_onlookers[RTE_MAX_ETHPORTS];

int attach(rte_vdev_device &vdev, unsigned number) noexcept {
    rte_eth_dev *dev = rte_eth_dev_attach_secondary(port_name(vdev.device.name, number).c_str());
    if (dev == nullptr)
        return -ENODEV;
    Onlooker &onlooker = g_onlookers[dev->data->port_id];
    onlooker.dev = dev;
    dev->process_private = &onlooker;
    dev->device = &vdev.device;
    dev->dev_ops = &kLook;
    abi::empty_fast_path(*dev);
    dev->rx_pkt_burst = no_burst;
    dev->tx_pkt_burst = no_burst;
    rte_eth_dev_probing_finish(dev);
    return 0;
}

} // namespace

/// Further ports may be closed already: they are then not attached, and that is all.
int attach_secondary(rte_vdev_device &vdev) noexcept {
    if (const int rc = attach(vdev, 0); rc != 0)
        return rc;
    const rte_eth_dev *first = rte_eth_dev_allocated(vdev.device.name);
    const auto *shared = first != nullptr ? static_cast<const SharedPart *>(first->data->dev_private) : nullptr;
    for (unsigned i = 1; shared != nullptr && i < shared->ports; i++)
        (void)attach(vdev, i);
    return 0;
}

int detach_secondary(rte_vdev_device &vdev) noexcept {
    int first = 0;
    for (unsigned i = 0; i < kMostPorts; i++) {
        rte_eth_dev *dev = rte_eth_dev_allocated(port_name(vdev.device.name, i).c_str());
        const int rc = dev == nullptr || dev->device != &vdev.device ? 0 : rte_eth_dev_release_port(dev);
        first = first != 0 ? first : rc;
    }
    return first;
}

} // namespace holdfast::mayfly
