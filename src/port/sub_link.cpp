// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "base/link_filter.h"
#include "port/netdev.h"
#include "port/sub_device.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <net/if.h>

// What is known of a sub-device's link, and what follows from it.

namespace holdfast {
namespace {

/// Drivers that tell of their link are looked at all the same: one may write a change down and tell nobody, as of what
/// it was told to do itself.
constexpr std::chrono::milliseconds kEventMissed{1000};

} // namespace

bool SubDevice::link_is_ready() noexcept {
    const std::optional<unsigned> flags = netdev_flags(netdev());
    const bool up = flags && (*flags & IFF_UP) != 0;
    // Up comes first, and then the queues are made ready: that it is up counts at the second look.
    return !flags || (*flags & IFF_RUNNING) != 0 || (up && std::exchange(seen_up_, up));
}

void SubDevice::on_link_change(bool up) noexcept {
    if (link_rules_.counts) {
        // pairs: sub-link-events (SubDevice::look_at_link). Before the selection: who looks in between looks again.
        link_events_seen_.fetch_add(1, std::memory_order_acq_rel);
        if (!up)
            link_dips_.fetch_add(1, std::memory_order_release); // pairs: sub-link-events (SubDevice::look_at_link)
        if (up)
            selection_.regain_link(index_); // the others may fail before anybody weighs it
        else if (link_rules_.delays.down_delay == std::chrono::milliseconds::zero())
            selection_.lose_link(index_);
    }
    host_.look(); // the event loop weighs it, and tells the application
}

void SubDevice::on_carrier(bool up) noexcept {
    // pairs: sub-kernel-link (SubDevice::adopt).
    if (!kernel_link_.load(std::memory_order_relaxed))
        return;
    // What the kernel calls up has a carrier; what it calls down may have one. pairs: sub-carrier (kernel_says_down).
    if (up)
        carrier_.store(true, std::memory_order_relaxed);
    on_link_change(up);
}

bool SubDevice::watch_carrier() noexcept {
    const unsigned index = netdev();
    // pairs: sub-kernel-link (SubDevice::adopt).
    if (index == 0 || !kernel_link_.load(std::memory_order_relaxed))
        return false;
    const std::optional<bool> up = netdev_carrier(index); // not every interface can say it
    // pairs: sub-carrier (SubDevice::kernel_says_down). If there is another interface by now, it is asked next time.
    if (up && netdev() == index && carrier_.exchange(*up, std::memory_order_relaxed) != *up)
        on_link_change(*up);
    return true;
}

bool SubDevice::has_link(abi::Ethdev &ethdev) {
    if (kernel_says_down())
        return false;
    rte_eth_link link{};
    if (judge(ethdev, ethdev.link(port_, link)) != Outcome::kDone)
        return true; // it cannot tell
    return link.link_status == RTE_ETH_LINK_UP;
}

void SubDevice::heed(LinkFilter::Verdict verdict) noexcept {
    if (verdict == LinkFilter::Verdict::kDown)
        selection_.lose_link(index_);
    else
        selection_.gain_link(index_, verdict == LinkFilter::Verdict::kShaky);
}

void SubDevice::begin_link(abi::Ethdev &ethdev, Clock::time_point now, bool trusted) {
    if (!link_rules_.counts)
        return;
    // pairs: sub-link-events (SubDevice::on_link_change).
    seen_dips_ = link_dips_.load(std::memory_order_acquire);
    const std::uint32_t events = link_events_seen_.load(std::memory_order_acquire);
    heed(link_.begin(has_link(ethdev), trusted, now));
    if (link_events_seen_.load(std::memory_order_acquire) != events) // pairs: sub-link-events (on_link_change)
        weigh_link(ethdev, now);
    link_changed_ = false;
}

void SubDevice::weigh_link(abi::Ethdev &ethdev, Clock::time_point now) {
    // An event that comes while we look may say the contrary of what we have seen, and has written so into the
    // selection: then that is looked at once more. Not for ever; each event asks for another look anyway.
    for (int looks = 0; looks < 4; looks++) {
        // pairs: sub-link-events (SubDevice::on_link_change).
        const std::uint32_t events = link_events_seen_.load(std::memory_order_acquire);
        const std::uint32_t dips = link_dips_.load(std::memory_order_acquire);
        const bool up = has_link(ethdev);
        // It was down and up again since the last look; from the second time on that is flapping.
        for (std::uint32_t i = std::min(dips - std::exchange(seen_dips_, dips), 2U); up && i > 0; i--) {
            (void)link_.see(false, now);
            (void)link_.see(true, now);
        }
        heed(link_.see(up, now));
        if (link_events_seen_.load(std::memory_order_acquire) == events) // pairs: sub-link-events (on_link_change)
            return;
    }
}

Clock::time_point SubDevice::look_at_link(abi::Ethdev &ethdev, Clock::time_point now, std::chrono::milliseconds poll) {
    if (!link_rules_.counts || state_ != State::kStarted || !usable())
        return Clock::time_point::max();
    const bool trusted = link_.verdict() == LinkFilter::Verdict::kGood;
    weigh_link(ethdev, now);
    link_changed_ = link_changed_ || trusted != (link_.verdict() == LinkFilter::Verdict::kGood);
    return std::min(link_.due(), now + (link_events_ ? std::max(poll, kEventMissed) : poll));
}

bool SubDevice::kernel_says_down() const noexcept {
    if (!kernel_link_.load(std::memory_order_relaxed)) // pairs: sub-kernel-link (SubDevice::adopt), the same thread
        return false;
    const std::optional<unsigned> flags = netdev_flags(netdev());
    if (!flags) // also for want of a descriptor
        return has_vanished();
    // pairs: sub-carrier (SubDevice::watch_carrier). A bool by itself: after a change there is another look.
    return !carrier_.load(std::memory_order_relaxed) || (*flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING);
}

} // namespace holdfast
