// SPDX-License-Identifier: BSD-3-Clause
#include "driver/ops.h"

#include "abi/bus.h"
#include "abi/callback.h"
#include "abi/fast_path.h"
#include "abi/stats.h"
#include "base/policy.h"
#include "base/result.h"
#include "datapath/choice.h"
#include "datapath/datapath.h"
#include "hotplug/host_thread.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

int close_port(rte_eth_dev *dev) noexcept {
    return dismantle(*dev, abi::Wait::kForever, nullptr);
}

/// Nothing: we replay by ourselves, each thing once and to those sub-devices only that lack it.
std::uint64_t restore_nothing(rte_eth_dev *, rte_eth_dev_operation) noexcept {
    return 0;
}

using abi::callback;

constexpr eth_dev_ops kOps = [] {
    eth_dev_ops ops{};
    ops.dev_configure = callback<&VirtualPort::configure>;
    ops.dev_start = callback<&VirtualPort::start>;
    ops.dev_stop = callback<&VirtualPort::stop>;
    ops.dev_set_link_up = callback<&VirtualPort::set_link_up>;
    ops.dev_set_link_down = callback<&VirtualPort::set_link_down>;
    ops.dev_close = close_port;
    ops.dev_reset = callback<&VirtualPort::reset>;
    ops.link_update = callback<&VirtualPort::link_update>;
    ops.promiscuous_enable = callback<&VirtualPort::promiscuous_enable>;
    ops.promiscuous_disable = callback<&VirtualPort::promiscuous_disable>;
    ops.allmulticast_enable = callback<&VirtualPort::allmulticast_enable>;
    ops.allmulticast_disable = callback<&VirtualPort::allmulticast_disable>;
    ops.mac_addr_remove = callback<&VirtualPort::mac_addr_remove>;
    ops.mac_addr_add = callback<&VirtualPort::mac_addr_add>;
    ops.mac_addr_set = callback<&VirtualPort::mac_addr_set>;
    ops.set_mc_addr_list = callback<&VirtualPort::set_mc_addr_list>;
    ops.mtu_set = callback<&VirtualPort::mtu_set>;
    ops.stats_get = abi::fill_stats<callback<&VirtualPort::stats_get>>;
    ops.stats_reset = callback<&VirtualPort::stats_reset>;
    ops.xstats_get = callback<&VirtualPort::xstats_get>;
    ops.xstats_reset = callback<&VirtualPort::xstats_reset>;
    ops.xstats_get_names = callback<&VirtualPort::xstats_get_names>;
    ops.dev_infos_get = callback<&VirtualPort::infos_get>;
    ops.rxq_info_get = callback<&VirtualPort::rxq_info_get>;
    ops.txq_info_get = callback<&VirtualPort::txq_info_get>;
    ops.dev_supported_ptypes_get = callback<&VirtualPort::ptypes_get>;
    ops.vlan_filter_set = callback<&VirtualPort::vlan_filter_set>;
    ops.vlan_offload_set = callback<&VirtualPort::vlan_offload_set>;
    ops.rx_queue_start = callback<&VirtualPort::rx_queue_start>;
    ops.rx_queue_stop = callback<&VirtualPort::rx_queue_stop>;
    ops.tx_queue_start = callback<&VirtualPort::tx_queue_start>;
    ops.tx_queue_stop = callback<&VirtualPort::tx_queue_stop>;
    ops.rx_queue_setup = callback<&VirtualPort::rx_queue_setup>;
    ops.rx_queue_release = callback<&VirtualPort::rx_queue_release>;
    ops.tx_queue_setup = callback<&VirtualPort::tx_queue_setup>;
    ops.tx_queue_release = callback<&VirtualPort::tx_queue_release>;
    ops.tx_done_cleanup = datapath::tx_done_cleanup;
    ops.rss_hash_update = callback<&VirtualPort::rss_hash_update>;
    ops.rss_hash_conf_get = callback<&VirtualPort::rss_hash_conf_get>;
    ops.reta_update = callback<&VirtualPort::reta_update>;
    ops.reta_query = callback<&VirtualPort::reta_query>;
    ops.get_restore_flags = restore_nothing;
    return ops;
}();

} // namespace

void install(rte_eth_dev &dev, const Policy &policy) noexcept {
    dev.dev_ops = &kOps;
    abi::empty_fast_path(dev);
    const datapath::Choice choice = datapath::choose(policy);
    dev.rx_pkt_burst = choice.rx_burst;
    dev.tx_pkt_burst = choice.tx_burst;
    dev.tx_pkt_prepare = choice.tx_prepare;
    dev.rx_queue_count = abi::count_rx<datapath::rx_queue_count>;
    dev.tx_queue_count = datapath::tx_queue_count;
    dev.rx_descriptor_status = datapath::rx_descriptor_status;
    dev.tx_descriptor_status = datapath::tx_descriptor_status;
}

int dismantle(rte_eth_dev &dev, abi::Wait wait, const rte_vdev_device *keep) noexcept {
    auto *port = abi::self<VirtualPort>(&dev);
    if (port == nullptr)
        return 0;
    HostThread &host = HostThread::get();
    host.remove(*port, wait);
    std::vector<Orphan> orphans;
    const Status s = port->close(wait, keep, orphans);
    host.take(std::move(orphans));
    if (!s.ok())
        port->report(s);
    dev.process_private = nullptr;
    // ethdev frees the arrays; what they point to goes with the object.
    if (dev.data->rx_queues != nullptr)
        std::fill_n(dev.data->rx_queues, dev.data->nb_rx_queues, nullptr);
    if (dev.data->tx_queues != nullptr)
        std::fill_n(dev.data->tx_queues, dev.data->nb_tx_queues, nullptr);
    if (s.code() == -EBUSY && port->stuck()) // an lcore is inside and still uses it, so it stays for ever
        return s.code();
    if (!host.hand_over(*port))
        delete port;
    return s.code();
}

} // namespace holdfast
