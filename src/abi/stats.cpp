// SPDX-License-Identifier: BSD-3-Clause
#include "abi/stats.h"

#include <cerrno>

namespace holdfast::abi {

int read_stats(PortId port, PortStats &stats) noexcept {
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
    // Here alone a sub-device's op is called as ethdev calls it: the counters of its queues have no public function but
    // the extended statistics, where each driver names them as it likes, or not at all.
    stats = {};
    if (rte_eth_dev_is_valid_port(port.raw()) == 0)
        return -ENODEV;
    rte_eth_dev &dev = rte_eth_devices[port.raw()];
    if (dev.dev_ops->stats_get == nullptr)
        return -ENOTSUP;
    stats.rx_nombuf = dev.data->rx_mbuf_alloc_failed;
    const int rc = dev.dev_ops->stats_get(&dev, &stats, &stats);
    return rc != 0 && rte_eth_dev_is_removed(port.raw()) != 0 ? -EIO : rc;
#else
    return rte_eth_stats_get(port.raw(), &stats);
#endif
}

} // namespace holdfast::abi
