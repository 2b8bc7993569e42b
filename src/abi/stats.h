// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <ethdev_driver.h>
#include <rte_version.h>

namespace holdfast::abi {

/// All counters of a port. From DPDK 25.11 on those of its queues (q_ipackets ...) are a struct of their own, which
/// only drivers see; before, they are part of rte_eth_stats.
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
struct PortStats : rte_eth_stats, eth_queue_stats {};
#else
struct PortStats : rte_eth_stats {};
#endif

/// Asks a port's driver once for all of them. Answers what ethdev answers.
int read_stats(PortId port, PortStats &stats) noexcept;

/// A function for the slot stats_get, around one that fills a PortStats: `ops.stats_get = fill_stats<f>`. `Parts` is
/// what this DPDK passes; it leaves out the part that its caller does not want.
template <auto Get, class... Parts> int fill_stats(rte_eth_dev *dev, Parts *...parts) noexcept {
    PortStats all{};
    ((parts != nullptr ? void(static_cast<Parts &>(all) = *parts) : void()), ...);
    const int rc = Get(dev, &all);
    ((parts != nullptr ? void(*parts = static_cast<const Parts &>(all)) : void()), ...);
    return rc;
}

} // namespace holdfast::abi
