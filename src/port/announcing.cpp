// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/policy.h"
#include "port/announce.h"
#include "port/queues.h"
#include "port/settings.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

// After a switch the network outside has to learn where the port's addresses are now, also if the application has
// nothing to send.

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// Between two announcements of the same switch.
constexpr std::chrono::milliseconds kSpacing = 50ms;
/// How long one burst of frames waits for lcores to leave the sub-device; and when it is tried again if they do not.
constexpr std::chrono::milliseconds kQuietWithin = 2ms;
constexpr std::chrono::milliseconds kTryAgain = 5ms;
constexpr unsigned kMostTries = 20;
/// Frames in one burst, and bursts in one visit.
constexpr std::size_t kBurst = 32;
constexpr unsigned kBurstsAtOnce = 8;

} // namespace

bool VirtualPort::announces(const Locked &) const {
    return config_.policy.announce > 0 && config_.policy.tx == TxPolicy::kActive && wanted_ == State::kStarted &&
           configuration_.tx_queues > 0;
}

Announcement VirtualPort::what_to_announce(const Locked &) const {
    std::vector<rte_ether_addr> macs;
    const auto add = [&macs](const rte_ether_addr &mac) {
        if (std::none_of(macs.begin(), macs.end(),
                         [&](const rte_ether_addr &m) { return rte_is_same_ether_addr(&m, &mac) != 0; }))
            macs.push_back(mac);
    };
    if (settings_.default_mac)
        add(*settings_.default_mac);
    for (const MacAdd &entry : settings_.macs.entries())
        if (rte_is_unicast_ether_addr(&entry.mac) != 0)
            add(entry.mac);
    std::vector<std::uint16_t> vlans;
    if (config_.policy.announce_vlans)
        for (std::uint16_t vlan = 1; vlan < settings_.vlans.size(); vlan++) // 0 is none
            if (settings_.vlans.test(vlan))
                vlans.push_back(vlan);
    return {std::move(macs), std::move(vlans)};
}

std::size_t VirtualPort::send_frames(const Locked &held, SubDevice &sub, const Announcement &what, std::size_t from) {
    if (!sub.usable() || sub.state() != State::kStarted || !queues_->tx(QueueId{0}).run || !sub.door().gate.borrow())
        return 0;
    std::size_t sent = 0;
    if (is_quiet(held, sub, kQuietWithin)) { // then its queue 0 is ours for one burst
        std::array<Frame, kBurst> frames;
        const std::size_t n = std::min(kBurst, what.size() - from);
        for (std::size_t i = 0; i < n; i++)
            frames[i] = what.frame(from + i);
        std::array<std::span<const std::uint8_t>, kBurst> texts;
        std::transform(frames.begin(), frames.end(), texts.begin(), [](const Frame &frame) {
            return std::span<const std::uint8_t>(frame.bytes).first(frame.length);
        });
        sent = ethdev_.send(sub.port(), QueueId{0}, std::span(texts).first(n));
    }
    sub.door().gate.give_back();
    frames_announced_ += sent;
    return sent;
}

void VirtualPort::plan_announcement(const Locked &held, SubIndex on) {
    announcing_ = {};
    if (!on.valid() || !announces(held))
        return;
    announcing_.on = on;
    announcing_.left = config_.policy.announce;
    announcing_.what = what_to_announce(held);
}

void VirtualPort::announce_first(const Locked &held, SubIndex on) {
    plan_announcement(held, on);
    announcing_.before_active = true;
    (void)announce(held, Clock::now());
    announcing_.before_active = false;
}

Clock::time_point VirtualPort::announce(const Locked &held, Clock::time_point now) {
    Announcing &a = announcing_;
    if (a.left == 0)
        return Clock::time_point::max();
    if (!announces(held) || (!a.before_active && a.on != selection_.active())) {
        a = {};
        return Clock::time_point::max();
    }
    for (unsigned burst = 0; now >= a.due; burst++) {
        if (burst == kBurstsAtOnce)
            return a.due = now + 1ms; // others want to be seen to as well
        const std::size_t sent = send_frames(held, *subs_[a.on.raw()], a.what, a.at);
        a.at += sent;
        if (sent == 0) { // lcores inside, a full queue; or it is gone by now
            if (a.tries++ == kMostTries)
                a.left = 0;
            a.due = now + kTryAgain;
        } else if (a.tries = 0; a.at >= a.what.size()) {
            a.at = 0;
            a.left--;
            a.due = now + kSpacing;
        }
        if (a.left == 0)
            return Clock::time_point::max();
    }
    return a.due;
}

} // namespace holdfast
