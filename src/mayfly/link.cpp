// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/link.h"

#include "mayfly/device.h"

#include <ethdev_driver.h>

namespace holdfast::mayfly {

int publish_link(rte_eth_dev &port, Device &device) noexcept {
    std::uint32_t speed = 0;
    const bool wanted = device.settings([&speed](const Settings &s) {
        speed = s.speed;
        return s.started && s.link_wanted;
    });
    const bool plugged = device.presence() != Device::Presence::kUnplugged;
    rte_eth_link link = {};
    link.link_speed = speed;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_AUTONEG;
    link.link_status = wanted && plugged && device.carrier() ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    // One store, because readers (also in other processes) load the word without a lock.
    std::uint64_t &shared = port.data->dev_link.val64;
    const std::uint64_t before = __atomic_exchange_n(&shared, link.val64, __ATOMIC_SEQ_CST);
    return before == link.val64 ? -1 : 0;
}

} // namespace holdfast::mayfly
