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
#include "port/xstats.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

// What the application and the operator may ask.

namespace holdfast {

namespace {

const char *link_of(const Selection::View &view, const SubDevice &sub) noexcept {
    if (sub.state() != State::kStarted || !sub.usable() || !sub.link_counts())
        return "";
    const unsigned bit = 1U << sub.index().raw();
    return (view.down & bit) != 0 ? "down" : (view.shaky & bit) != 0 ? "shaky" : "up";
}

} // namespace

void VirtualPort::promise(const Locked &, rte_eth_dev_info &info) const {
    std::vector<const rte_eth_dev_info *> subs;
    each_present([&](const SubDevice &sub) { subs.push_back(&sub.info()); });
    intersect(subs, info);
    restrict(config_.policy, info);
}

Status VirtualPort::infos_get(rte_eth_dev_info *info) {
    const Locked held(mutex_);
    promise(held, *info);
    return {};
}

std::vector<std::uint32_t> VirtualPort::common_ptypes(const Locked &) const {
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
    return common;
}

const std::uint32_t *VirtualPort::ptypes_get(std::size_t *count) {
    const Locked held(mutex_);
    ptypes_ = common_ptypes(held);
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

int VirtualPort::read_stats(const Locked &) {
    int first = 0;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->state() != State::kAbsent && !sub->leaving)
            if (const Status s = sub->read_stats(ethdev_); !s.ok() && first == 0)
                first = s.code(); // not logged: who asks each second would flood the log
    return first;
}

abi::PortStats VirtualPort::summed(const Locked &) const {
    abi::PortStats sum = gone_;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        holdfast::add(sum, sub->counted());
    return sum;
}

void VirtualPort::add_to_gone(const Locked &, const SubDevice &place) {
    holdfast::add(gone_, place.counted());
}

int VirtualPort::stats_get(abi::PortStats *stats) {
    const Locked held(mutex_);
    const int rc = read_stats(held);
    if (rc == 0)
        *stats = summed(held);
    return rc;
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
    gone_ = {};
    return {};
}

PortCounts VirtualPort::count_port(const Locked &) const {
    const Queues::Counts bursts = queues_->counts();
    return {.switches = switches_,
            .refused = bursts.refused,
            .dropped = bursts.dropped,
            .stale = bursts.stale,
            .announcements = frames_announced_};
}

std::span<const SubCounts> VirtualPort::count_subs(const Locked &, std::array<SubCounts, kMaxSubDevices> &out) const {
    for (const std::unique_ptr<SubDevice> &sub : std::span(subs_).first(used_))
        out[sub->index().raw()] = {.stats = sub->counted(),
                                   .plugins = sub->plugins,
                                   .removals = sub->removals,
                                   .link_failures = sub->link().failures()};
    return {out.data(), used_};
}

int VirtualPort::xstats_get(rte_eth_xstat *stats, unsigned n) {
    const Locked held(mutex_);
    if (stats != nullptr)
        if (const int rc = read_stats(held); rc != 0)
            return rc;
    note_switch(held); // the data path may have switched a moment ago
    std::array<SubCounts, kMaxSubDevices> counts;
    return xstat_values(count_port(held), count_subs(held, counts), stats, n);
}

int VirtualPort::xstats_get_names(rte_eth_xstat_name *names, unsigned n) {
    const Locked held(mutex_);
    return xstat_names(used_, names, n);
}

VirtualPort::Info VirtualPort::describe() {
    const Locked held(mutex_);
    (void)read_stats(held);
    note_switch(held);
    const Selection::View view = selection_.view();
    const PortCounts counts = count_port(held);
    Info info{.name = name_,
              .active = view.active,
              .hold = view.hold,
              .switches = counts.switches,
              .refused = counts.refused,
              .dropped = counts.dropped,
              .stale = counts.stale,
              .announcements = counts.announcements,
              .subs = {}};
    for (const std::unique_ptr<SubDevice> &sub : std::span(subs_).first(used_)) {
        info.subs.push_back({.devargs = sub->devargs(),
                             .source = sub->source() != nullptr ? sub->source()->name() : std::string(),
                             .state = to_string(sub->state()),
                             .reason = sub->present() && !sub->usable() ? "has an error in itself" : sub->reason,
                             .link = link_of(view, *sub),
                             .link_failures = sub->link().failures(),
                             .wanted = !sub->removed_by_hand && !sub->vacant,
                             .active = view.active == sub->index(),
                             .joined = sub->announced && sub->usable(),
                             .probing = sub->probing,
                             .vacant = sub->vacant,
                             .tenant = sub->tenant,
                             .port = sub->port(),
                             .removals = sub->removals,
                             .plugins = sub->plugins,
                             .stats = sub->counted()});
    }
    return info;
}

} // namespace holdfast
