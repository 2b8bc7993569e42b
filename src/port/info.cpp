// SPDX-License-Identifier: BSD-3-Clause
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/capabilities.h"
#include "port/queues.h"
#include "port/stats.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// What the application and the operator may ask.

namespace holdfast {
namespace {

/// Our extended statistics have a fixed list for the life of a port, whoever is plugged in: applications keep the
/// indexes.
struct PerSub {
    const char *name;
    std::uint64_t (*value)(const SubDevice &);
};
constexpr std::array<PerSub, 8> kPerSub{{
    {"rx_packets", [](const SubDevice &s) { return s.counted().ipackets; }},
    {"tx_packets", [](const SubDevice &s) { return s.counted().opackets; }},
    {"rx_bytes", [](const SubDevice &s) { return s.counted().ibytes; }},
    {"tx_bytes", [](const SubDevice &s) { return s.counted().obytes; }},
    {"rx_missed", [](const SubDevice &s) { return s.counted().imissed; }},
    {"tx_errors", [](const SubDevice &s) { return s.counted().oerrors; }},
    {"plugins", [](const SubDevice &s) { return s.plugins; }},
    {"removals", [](const SubDevice &s) { return s.removals; }},
}};
constexpr std::array<const char *, 2> kPerPort{"switches", "tx_refused_bursts"};

} // namespace

Status VirtualPort::infos_get(rte_eth_dev_info *info) {
    const Locked held(mutex_);
    std::vector<const rte_eth_dev_info *> subs;
    each_present([&](const SubDevice &sub) { subs.push_back(&sub.info()); });
    intersect(subs, *info);
    return {};
}

const std::uint32_t *VirtualPort::ptypes_get(std::size_t *count) {
    const Locked held(mutex_);
    std::vector<std::uint32_t> common;
    bool first = true;
    each_usable([&](const SubDevice &sub) {
        std::vector<std::uint32_t> have(256);
        const int n = rte_eth_dev_get_supported_ptypes(sub.port().raw(), RTE_PTYPE_ALL_MASK, have.data(),
                                                       static_cast<int>(have.size()));
        have.resize(static_cast<std::size_t>(std::clamp(n, 0, static_cast<int>(have.size()))));
        if (first)
            common = have;
        else
            std::erase_if(common,
                          [&](std::uint32_t t) { return std::find(have.begin(), have.end(), t) == have.end(); });
        first = false;
    });
    ptypes_ = std::move(common);
    *count = ptypes_.size();
    return ptypes_.empty() ? nullptr : ptypes_.data();
}

void VirtualPort::rxq_info_get(std::uint16_t queue, rte_eth_rxq_info *info) {
    const Locked held(mutex_);
    const RxQueueRecord &r = queues_->rx(QueueId{queue});
    info->mp = r.pool;
    info->conf = r.conf;
    info->nb_desc = r.descriptors;
    info->scattered_rx = dev_.data->scattered_rx;
}

void VirtualPort::txq_info_get(std::uint16_t queue, rte_eth_txq_info *info) {
    const Locked held(mutex_);
    const TxQueueRecord &r = queues_->tx(QueueId{queue});
    info->conf = r.conf;
    info->nb_desc = r.descriptors;
}

int VirtualPort::stats_get(rte_eth_stats *stats) {
    const Locked held(mutex_);
    rte_eth_stats sum{};
    int first = 0;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->state() != State::kAbsent && !sub->leaving)
            if (const Status s = sub->read_stats(ethdev_); !s.ok() && first == 0)
                first = s.code(); // not logged: who asks each second would flood the log
        add(sum, sub->counted());
    }
    if (first == 0)
        *stats = sum;
    return first;
}

Status VirtualPort::stats_reset() {
    const Locked held(mutex_);
    // Nobody starts at zero before all can: the packets up to here are counted, whoever refuses.
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->state() != State::kAbsent && !sub->leaving)
            if (Status s = sub->read_stats(ethdev_); !s.ok())
                return s;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (Status s = sub->restart_stats(ethdev_); !s.ok())
            return s;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        sub->clear_stats();
    return {};
}

int VirtualPort::xstats_get(rte_eth_xstat *stats, unsigned n) {
    const std::size_t count = kPerPort.size() + subs_.size() * kPerSub.size();
    if (stats == nullptr || n < count)
        return static_cast<int>(count);
    rte_eth_stats sum{};
    if (const int rc = stats_get(&sum); rc != 0) // reads the sub-devices' counters
        return rc;
    const Locked held(mutex_);
    std::uint64_t id = 0;
    const auto put = [&](std::uint64_t value) {
        stats[id] = {.id = id, .value = value};
        id++;
    };
    put(switches_);
    put(queues_->refused());
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        for (const PerSub &x : kPerSub)
            put(x.value(*sub));
    return static_cast<int>(count);
}

int VirtualPort::xstats_get_names(rte_eth_xstat_name *names, unsigned n) {
    const std::size_t count = kPerPort.size() + subs_.size() * kPerSub.size();
    if (names == nullptr || n < count)
        return static_cast<int>(count);
    for (const char *text : kPerPort)
        std::snprintf((names++)->name, sizeof(names->name), "%s", text);
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        for (const PerSub &x : kPerSub)
            std::snprintf((names++)->name, sizeof(names->name), "sub%u_%s", unsigned{sub->index().raw()}, x.name);
    return static_cast<int>(count);
}

VirtualPort::Info VirtualPort::describe() {
    const Locked held(mutex_);
    const Selection::View view = selection_.view();
    Info info{.name = name_, .active = view.active, .switches = switches_, .refused = queues_->refused(), .subs = {}};
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->state() != State::kAbsent && !sub->leaving)
            (void)sub->read_stats(ethdev_);
        info.subs.push_back({.devargs = sub->devargs(),
                             .source = sub->source() != nullptr ? sub->source()->name() : std::string(),
                             .state = to_string(sub->state()),
                             .reason = sub->present() && !sub->usable() ? "has an error in itself" : sub->reason,
                             .wanted = !sub->removed_by_hand,
                             .active = view.active == sub->index(),
                             .joined = sub->announced,
                             .port = sub->port(),
                             .removals = sub->removals,
                             .plugins = sub->plugins,
                             .stats = sub->counted()});
    }
    return info;
}

} // namespace holdfast
