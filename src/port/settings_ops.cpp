// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/state.h"
#include "port/queues.h"
#include "port/settings.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

// What the application sets: carried out on every sub-device or on none, then recorded for those that come later.

namespace holdfast {

void VirtualPort::roll_back(const Locked &, SubDevice &sub, const std::vector<Change> &undo) {
    for (const Change &c : undo) {
        int rc = 0;
        if (sub.usable() && sub.apply(ethdev_, c, rc) == Outcome::kRefused)
            HOLDFAST_LOG(ERR, "%s: cannot take back on %s: %s: %s", name(), sub.name(), holdfast::describe(c),
                         rte_strerror(-rc));
    }
}

Status VirtualPort::complete_vlans(const Locked &, SubDevice &sub, const VlanOffload &offload) {
    // It may have come, with filters of its own, while filtering was off and ethdev would take none.
    if ((offload.mask & RTE_ETH_VLAN_FILTER_OFFLOAD) == 0 || settings_.vlans == sub.has().vlans)
        return {};
    for (std::size_t vlan = 0; vlan < settings_.vlans.size(); vlan++) {
        if (settings_.vlans[vlan] == sub.has().vlans[vlan])
            continue;
        const VlanFilter c{static_cast<std::uint16_t>(vlan), settings_.vlans[vlan]};
        int rc = 0;
        switch (sub.apply(ethdev_, c, rc)) {
        case Outcome::kDone:
            break;
        case Outcome::kLacking:
        case Outcome::kVanished:
            return {};
        case Outcome::kRefused:
            return {rc, holdfast::describe(c)};
        }
    }
    return {};
}

Status VirtualPort::change(const Change &change, Refusal refusal) {
    const Locked held(mutex_);
    std::vector<std::pair<SubDevice *, std::vector<Change>>> done; // with what takes it back
    unsigned lacking = 0;
    Status status;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        // One that is still on its way to the others gets it by replay: ethdev would refuse some of it now.
        if (!sub->usable() || sub->state() < std::min(wanted_, State::kConfigured))
            continue;
        if (Status s = sub->learn(ethdev_, change); !s.ok()) {
            status = s; // it could not be taken back
            break;
        }
        std::vector<Change> undo = sub->has().undo(change);
        int rc = 0;
        switch (sub->apply(ethdev_, change, rc)) {
        case Outcome::kDone:
            done.emplace_back(sub.get(), std::move(undo));
            if (const VlanOffload *c = std::get_if<VlanOffload>(&change))
                status = complete_vlans(held, *sub, *c);
            break;
        case Outcome::kVanished:
            break;
        case Outcome::kLacking:
            lacking++;
            break;
        case Outcome::kRefused:
            if (status.ok())
                status = {rc, holdfast::describe(change)};
            break;
        }
        if (!status.ok() && refusal == Refusal::kRollsBack)
            break;
    }
    if (!status.ok() && refusal == Refusal::kRollsBack) {
        for (auto &[sub, undo] : done)
            roll_back(held, *sub, undo);
        return status;
    }
    // What none of them can do is not done. If some can, the others do without.
    if (lacking != 0 && done.empty() && status.ok())
        return {-ENOTSUP, holdfast::describe(change)};
    settings_.record(change);
    if (std::holds_alternative<LinkUp>(change)) { // not every driver tells of what it was told
        (void)settle(held, Clock::now());
        host_.look();
    }
    return status;
}

Status VirtualPort::mac_addr_add(rte_ether_addr *mac, std::uint32_t, std::uint32_t pool) {
    return change(MacAdd{*mac, pool});
}

void VirtualPort::mac_addr_remove(std::uint32_t index) {
    // ethdev forgets the address whatever we answer, so it is taken off everywhere it can be.
    if (const Status s = change(MacRemove{dev_.data->mac_addrs[index]}, Refusal::kIsIgnored); !s.ok())
        report(s);
}

Status VirtualPort::set_mc_addr_list(rte_ether_addr *list, std::uint32_t count) {
    return change(McList{{list, list + count}});
}

Status VirtualPort::vlan_offload_set(int) {
    // ethdev has put the new set into the configuration already and takes it back if we fail.
    const std::uint64_t offloads = dev_.data->dev_conf.rxmode.offloads;
    if (Status s = change(VlanOffload{vlan_offloads(offloads)}); !s.ok())
        return s;
    const Locked held(mutex_);
    configuration_.conf.rxmode.offloads = offloads;
    return {};
}

} // namespace holdfast
