// SPDX-License-Identifier: BSD-3-Clause
#include "driver/secondary.h"

#include "abi/callback.h"
#include "abi/fast_path.h"
#include "abi/log.h"
#include "abi/stats.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "driver/onlooker.h"
#include "driver/watcher.h"
#include "hotplug/host_thread.h"

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace holdfast {
namespace {

using abi::callback;

/// What is not here, ethdev refuses with -ENOTSUP: whatever would change the port.
constexpr eth_dev_ops kOnlookerOps = [] {
    eth_dev_ops ops{};
    ops.dev_close = callback<&Onlooker::close>;
    ops.link_update = callback<&Onlooker::link_update>;
    ops.dev_infos_get = callback<&Onlooker::info>;
    ops.stats_get = abi::fill_stats<callback<&Onlooker::stats>>;
    ops.xstats_get = callback<&Onlooker::xstats>;
    ops.xstats_get_names = callback<&Onlooker::xstats_names>;
    ops.rxq_info_get = callback<&Onlooker::rxq_info>;
    ops.txq_info_get = callback<&Onlooker::txq_info>;
    ops.dev_supported_ptypes_get = callback<&Onlooker::ptypes>;
    ops.get_restore_flags = [](rte_eth_dev *, rte_eth_dev_operation) -> std::uint64_t { return 0; };
    return ops;
}();

int on_ask(const rte_mp_msg *, const void *) noexcept {
    HostThread::get().look(); // in EAL's thread: nothing that could wait
    return 0;
}

} // namespace

void serve_secondaries() noexcept {
    // It fails when this EAL has no channel to other processes; then there are none.
    static const int once = rte_mp_action_register(kAskMessage, on_ask);
    (void)once;
}

Status attach_secondary(rte_vdev_device &vdev) {
    rte_eth_dev *dev = rte_eth_dev_attach_secondary(rte_dev_name(&vdev.device));
    if (dev == nullptr) {
        const rte_devargs *given = rte_dev_devargs(&vdev.device);
        if (given != nullptr && given->args != nullptr && given->args[0] != '\0')
            return {-ENODEV, "find the primary process's port"};
        // The primary's list of devices holds one that was closed. An error here would end this process's EAL.
        HOLDFAST_LOG(INFO, "%s: the primary process has closed this port", rte_dev_name(&vdev.device));
        return {};
    }
    Onlooker &onlooker = Onlooker::of(dev->data->port_id);
    onlooker.begin(*dev);
    dev->process_private = &onlooker;
    dev->device = &vdev.device;
    dev->dev_ops = &kOnlookerOps;
    abi::empty_fast_path(*dev);
    dev->rx_pkt_burst = datapath::no_rx_burst;
    dev->tx_pkt_burst = datapath::no_tx_burst;
    rte_eth_dev_probing_finish(dev);
    Watcher::get().begin();
    return {};
}

int detach_secondary(rte_vdev_device &vdev) noexcept {
    const char *name = rte_dev_name(&vdev.device);
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (Onlooker &port = Onlooker::of(p); port.attached() && std::strcmp(port.name(), name) == 0)
            port.end();
    Watcher::get().end();
    rte_eth_dev *dev = rte_eth_dev_allocated(name);
    return dev == nullptr ? 0 : rte_eth_dev_release_port(dev);
}

} // namespace holdfast
