// SPDX-License-Identifier: BSD-3-Clause
#include "abi/leftover.h"

#include "base/ids.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <cstdint>

namespace holdfast::abi {
namespace {

std::uint16_t pass_rx(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, std::uint16_t, void *) noexcept {
    return n;
}

std::uint16_t pass_tx(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, void *) noexcept {
    return n;
}

template <class Lists, class F> void each(Lists &lists, F f) noexcept {
    for (auto *callback : lists)
        for (; callback != nullptr; callback = callback->next)
            f(*callback);
}

} // namespace

void disarm_callbacks(PortId port) noexcept {
    rte_eth_dev &dev = rte_eth_devices[port.raw()];
    each(dev.post_rx_burst_cbs, [](rte_eth_rxtx_callback &c) { c.fn.rx = pass_rx; });
    each(dev.pre_tx_burst_cbs, [](rte_eth_rxtx_callback &c) { c.fn.tx = pass_tx; });
}

} // namespace holdfast::abi
