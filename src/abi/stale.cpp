// SPDX-License-Identifier: BSD-3-Clause
#include "abi/stale.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>

namespace holdfast::abi {

void release_stale(rte_eth_dev &dev, const char *name) noexcept {
    // Not on the stack: who is inside a call on this port now may look at it a moment later.
    static rte_eth_dev_data stand_in;
    static std::mutex mutex;
    const std::lock_guard held(mutex);
    std::snprintf(stand_in.name, sizeof(stand_in.name), "%s", name);
    stand_in.port_id = static_cast<std::uint16_t>(std::addressof(dev) - rte_eth_devices);
    rte_eth_dev_data *const shared = dev.data;
    dev.data = &stand_in;
    (void)rte_eth_dev_release_port(&dev); // a secondary's part: events, burst functions, what is private to the process
    dev.data = shared;
}

} // namespace holdfast::abi
