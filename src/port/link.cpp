// SPDX-License-Identifier: BSD-3-Clause
#include "abi/link.h"

#include "abi/log.h"
#include "base/ids.h"
#include "base/link_filter.h"
#include "base/mutex.h"
#include "base/policy.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

/// How often a change of the active one's link is looked for of which nobody tells, when the application wants events:
/// of its speed, for one.
constexpr std::chrono::milliseconds kLinkPoll{100};
/// When to come again to a port whose mutex is held: by an operation that may take long.
constexpr std::chrono::milliseconds kBusy{5};

} // namespace

void VirtualPort::tell_later(const Locked &, SubIndex active) {
    constexpr std::size_t kMost = 64; // somebody who is in our callback for that long does not want to know them all
    const Selection::View view = selection_.view();
    SwitchEvent event{.from = told_active_, .to = active, .why = SwitchWhy::kFirst};
    if (const auto chosen = std::exchange(why_, {}))
        event.why = *chosen;
    else if (last_active_.valid())
        event.why = (view.usable >> last_active_.raw() & 1U) == 0 ? SwitchWhy::kRemoval
                    : (view.down >> last_active_.raw() & 1U) != 0 ? SwitchWhy::kLink
                                                                  : SwitchWhy::kBetter;
    if (untold_.size() == kMost)
        untold_.erase(untold_.begin());
    untold_.push_back(event);
    told_active_ = active;
}

void VirtualPort::note_switch(const Locked &held) {
    const SubIndex active = selection_.view().active;
    if (active == last_active_) {
        why_.reset();
        return;
    }
    if (!active.valid())
        announcing_ = {}; // whoever comes next is announced, also if it is the same
    tell_later(held, active);
    if (active.valid()) {
        if (had_active_)
            switches_++;
        // If it became so in an event, nothing could be sent before.
        if (had_active_ && announcing_.on != active)
            plan_announcement(held, active);
        had_active_ = true;
        HOLDFAST_LOG(NOTICE, "%s: %s is active", name(), subs_[active.raw()]->name());
    } else if (wanted_ == State::kStarted) {
        HOLDFAST_LOG(WARNING, "%s: no sub-device can carry traffic", name());
    }
    last_active_ = active;
}

void VirtualPort::note_own_switch(const Locked &held) {
    const std::vector<SwitchEvent> untold = untold_;
    const SubIndex told = told_active_;
    note_switch(held);
    untold_ = untold;
    told_active_ = told;
    announcing_ = {};
}

void VirtualPort::say_link(const Locked &, SubDevice &sub) const {
    if (!sub.take_link_change())
        return;
    const LinkFilter &link = sub.link();
    if (link.verdict() == LinkFilter::Verdict::kGood)
        HOLDFAST_LOG(NOTICE, "%s: the link of %s is up", name(), sub.name());
    else if (link.held_down() == LinkFilter::Span::zero())
        HOLDFAST_LOG(NOTICE, "%s: the link of %s is down", name(), sub.name());
    else // what it does until then is not logged
        HOLDFAST_LOG(NOTICE, "%s: the link of %s is down, again within a minute; it has to be up for %lld ms", name(),
                     sub.name(), static_cast<long long>(link.held_down().count()));
}

Clock::time_point VirtualPort::look_at_links(const Locked &held, Clock::time_point now) {
    auto next = Clock::time_point::max();
    if (wanted_ != State::kStarted)
        return next;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        next = std::min(next, sub->look_at_link(ethdev_, now, config_.policy.lsc_poll));
        say_link(held, *sub);
    }
    return next;
}

bool VirtualPort::is_faster(const Locked &, SubDevice &one, SubDevice &other) {
    rte_eth_link a{};
    rte_eth_link b{};
    if (one.judge(ethdev_, ethdev_.link(one.port(), a)) != Outcome::kDone ||
        other.judge(ethdev_, ethdev_.link(other.port(), b)) != Outcome::kDone)
        return false;
    const auto speed = [](const rte_eth_link &link) {
        return link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? RTE_ETH_SPEED_NUM_NONE : link.link_speed;
    };
    return speed(a) != speed(b) ? speed(a) > speed(b) : a.link_duplex > b.link_duplex;
}

SubIndex VirtualPort::best(const Locked &held, const Selection::View &view) {
    constexpr SubIndex kPreferred{0};
    if (view.hold != Hold::kFree || !view.active.valid() || view.carriers() == 0)
        return view.active;
    // Also while one that is not trusted has the traffic, for want of a better one, and there is a better one by now.
    const bool preferred_can = view.carries(kPreferred);
    if (!view.carries(view.active))
        return preferred_can ? kPreferred : SubIndex{static_cast<std::uint8_t>(std::countr_zero(view.carriers()))};
    if (view.active == kPreferred || !preferred_can || config_.policy.reselect == Reselect::kFailure)
        return view.active;
    if (config_.policy.reselect == Reselect::kBetter &&
        !is_faster(held, *subs_[kPreferred.raw()], *subs_[view.active.raw()]))
        return view.active;
    return kPreferred;
}

bool VirtualPort::switch_over(const Locked &held, SubIndex to, SubIndex from, Hold hold, SwitchWhy why) {
    if (to != from)
        announce_first(held, to);
    why_ = why;
    if (selection_.choose(to, from, hold))
        return true;
    why_.reset();
    if (to != from)
        plan_announcement(held, {});
    return false;
}

void VirtualPort::choose(const Locked &held) {
    const Selection::View view = selection_.view();
    // After a stop and a start, or an error that it recovered from, who was chosen by hand is so again.
    if (by_hand_.hold != Hold::kFree && view.hold == Hold::kFree) {
        const std::size_t chosen = by_hand_.sub.raw();
        const auto has = [chosen](std::uint16_t set) { return (set >> chosen & 1U) != 0; };
        const std::uint64_t failures = subs_[chosen]->link().all_failures();
        if (by_hand_.hold == Hold::kHeld && (has(view.down) || failures != by_hand_.failures)) {
            by_hand_ = {}; // it lost its link
        } else if (has(view.usable)) {
            (void)switch_over(held, by_hand_.sub, view.active, by_hand_.hold, SwitchWhy::kByHand);
            return;
        }
    }
    if (const SubIndex to = best(held, view); to != view.active)
        (void)switch_over(held, to, view.active, Hold::kFree, SwitchWhy::kBetter);
}

Clock::time_point VirtualPort::settle(const Locked &held, Clock::time_point now) {
    const Clock::time_point next = look_at_links(held, now);
    choose(held);
    note_switch(held);
    settle_link(held);
    return next;
}

void VirtualPort::settle_link(const Locked &) {
    rte_eth_link link{};
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_AUTONEG;
    link.link_status = RTE_ETH_LINK_DOWN;
    if (const SubIndex active = selection_.view().active; wanted_ == State::kStarted && active.valid()) {
        SubDevice &sub = *subs_[active.raw()];
        rte_eth_link below{};
        if (sub.usable() && sub.judge(ethdev_, ethdev_.link(sub.port(), below)) == Outcome::kDone)
            link = below;
        if (link.link_status == RTE_ETH_LINK_UP && sub.usable() && sub.kernel_says_down())
            link.link_status = RTE_ETH_LINK_DOWN;
    }
    abi::store_link(dev_, link);
}

bool VirtualPort::link_is_news(const Locked &) {
    if (wanted_ != State::kStarted || configuration_.conf.intr_conf.lsc == 0)
        return false;
    const rte_eth_link now = abi::load_link(dev_);
    const rte_eth_link before = std::exchange(announced_, now);
    return !abi::same_link(before, now);
}

Clock::time_point VirtualPort::refresh_link(Clock::time_point now) {
    if (!mutex_.try_lock())
        return now + kBusy;
    bool news = false;
    std::vector<SwitchEvent> switches;
    auto next = Clock::time_point::max();
    {
        const Locked held(mutex_, std::adopt_lock);
        if (closing_)
            return next;
        next = settle(held, now);
        next = std::min(next, announce(held, Clock::now()));
        news = link_is_news(held);
        switches = std::exchange(untold_, {});
        answer_secondaries(held);
        if (wanted_ == State::kStarted && configuration_.conf.intr_conf.lsc != 0)
            next = std::min(next, now + kLinkPoll);
    }
    if (news) // the application is called without a lock of ours: it calls back into us
        (void)rte_eth_dev_callback_process(&dev_, RTE_ETH_EVENT_INTR_LSC, nullptr);
    listeners_.tell(id_, switches); // last: nothing of the port is touched after one that closes it
    return next;
}

int VirtualPort::link_update(int) {
    const Locked held(mutex_);
    (void)settle(held, Clock::now());
    return 0;
}

} // namespace holdfast
