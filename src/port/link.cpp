// SPDX-License-Identifier: BSD-3-Clause
#include "abi/link.h"

#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/state.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace holdfast {
namespace {

/// A sub-device without link events is asked this often, when the application wants events.
constexpr std::chrono::milliseconds kLinkPoll{100};
/// When to come again to a port whose mutex is held: by an operation that may take long.
constexpr std::chrono::milliseconds kBusy{5};

} // namespace

void VirtualPort::note_switch(const Locked &) {
    const SubIndex active = selection_.view().active;
    if (active == last_active_)
        return;
    if (active.valid()) {
        if (had_active_)
            switches_++;
        had_active_ = true;
        HOLDFAST_LOG(NOTICE, "%s: %s is active", name(), subs_[active.raw()]->name());
    } else if (wanted_ == State::kStarted) {
        HOLDFAST_LOG(WARNING, "%s: no sub-device can carry traffic", name());
    }
    last_active_ = active;
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
    auto next = Clock::time_point::max();
    {
        const Locked held(mutex_, std::adopt_lock);
        if (closing_)
            return next;
        note_switch(held);
        settle_link(held);
        news = link_is_news(held);
        answer_secondaries(held);
        if (wanted_ == State::kStarted && configuration_.conf.intr_conf.lsc != 0)
            next = now + kLinkPoll;
    }
    if (news) // the application is called without a lock of ours: it calls back into us
        (void)rte_eth_dev_callback_process(&dev_, RTE_ETH_EVENT_INTR_LSC, nullptr);
    return next;
}

int VirtualPort::link_update(int) {
    const Locked held(mutex_);
    settle_link(held);
    return 0;
}

} // namespace holdfast
