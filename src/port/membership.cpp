// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/capabilities.h"
#include "port/device_source.h"
#include "port/device_text.h"
#include "port/queues.h"
#include "port/sub_device.h"
#include "port/switch_listeners.h"
#include "port/virtual_port.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// What an operator or the application orders: who is active, who belongs to the port.

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// How long one that leaves in peace goes on: at least, so that an lcore that saw it active a moment ago is through; as
/// long as its driver says that it still sends; or, if that cannot say, for this long.
constexpr std::chrono::milliseconds kAtLeast = 2ms;
constexpr std::chrono::milliseconds kBlindly = 20ms;
constexpr std::chrono::milliseconds kAtMost = 200ms;

/// Two that read the same descriptor would take each other's lines.
bool is_same_descriptor(const DeviceSource &one, const DeviceSource &other) {
    return one.name() == other.name() && one.name().starts_with("fd(");
}

} // namespace

Status VirtualPort::find(const Locked &, SubIndex index, SubDevice *&out) {
    if (index.raw() >= subs_.size())
        return {-EINVAL, "find that sub-device"};
    out = subs_[index.raw()].get();
    return out->vacant ? Status{-ENOENT, "find a sub-device in that place"} : Status{};
}

Status VirtualPort::make_active(SubIndex index, Hold hold) {
    const Locked held(mutex_);
    SubDevice *sub = nullptr;
    if (Status s = find(held, index, sub); !s.ok())
        return s;
    // Its active one may be lost at this moment: then that is one more reason to switch.
    for (;;) {
        const Selection::View view = selection_.view();
        const unsigned can = hold == Hold::kPinned ? view.usable : view.usable & ~view.down;
        if ((can >> index.raw() & 1U) == 0)
            return {-EAGAIN, "switch to a sub-device that can carry no traffic"};
        if (switch_over(held, index, view.active, hold, SwitchWhy::kByHand))
            break;
    }
    by_hand_ = {.sub = index, .hold = hold, .failures = sub->link().all_failures()};
    note_switch(held);
    host_.wake();
    return {};
}

Status VirtualPort::release_active() {
    const Locked held(mutex_);
    by_hand_ = {};
    why_ = SwitchWhy::kByHand;
    selection_.release();
    (void)settle(held, Clock::now());
    host_.look();
    return {};
}

void VirtualPort::send_off(const Locked &held, SubDevice &sub) {
    if (sub.state() != State::kStarted || !sub.usable()) {
        sub.shut();
        return;
    }
    // Tx moves first; what it was given is sent, and what it receives meanwhile is still taken from it.
    const Selection::View view = selection_.view();
    if (view.active == sub.index()) {
        Selection::View without = view;
        without.usable = static_cast<std::uint16_t>(view.usable & ~(1U << sub.index().raw()));
        without.hold = Hold::kFree;
        if (const std::uint16_t others = without.carriers(); others != 0)
            announce_first(held, SubIndex{static_cast<std::uint8_t>(std::countr_zero(others))});
    }
    why_ = SwitchWhy::kByHand;
    selection_.lose(sub.index());
    sub.sent_off = Clock::now();
}

bool VirtualPort::is_sending(const Locked &, SubDevice &sub, Clock::time_point now) {
    if (sub.sent_off == Clock::time_point{} || !sub.usable() || sub.state() != State::kStarted)
        return false;
    const auto since = now - sub.sent_off;
    if (since < kAtLeast)
        return true;
    bool sends = false;
    bool knows = true;
    for (std::uint16_t q = 0; q < configuration_.tx_queues; q++) {
        if (!queues_->tx(QueueId{q}).run)
            continue;
        // Descriptors are counted from the place of the next packet on, so the one before that is the last.
        const std::uint16_t last = static_cast<std::uint16_t>(
            fit_descriptors(queues_->tx(QueueId{q}).descriptors, sub.info().tx_desc_lim) - 1);
        const int status = ethdev_.tx_status(sub.port(), QueueId{q}, last);
        sends = sends || status == RTE_ETH_TX_DESC_FULL;
        knows = knows && status >= 0;
    }
    return since < (knows ? kAtMost : kBlindly) && (sends || !knows);
}

Status VirtualPort::remove_by_hand(SubIndex index) {
    const Locked held(mutex_);
    SubDevice *sub = nullptr;
    if (Status s = find(held, index, sub); !s.ok())
        return s;
    take_off(held, *sub);
    return {};
}

Status VirtualPort::drop(SubIndex index, std::uint64_t &tenant) {
    const Locked held(mutex_);
    SubDevice *sub = nullptr;
    if (Status s = find(held, index, sub); !s.ok())
        return s;
    sub->dropped = true;
    tenant = sub->tenant;
    take_off(held, *sub);
    return {};
}

void VirtualPort::take_off(const Locked &held, SubDevice &sub) {
    if (by_hand_.sub == sub.index())
        by_hand_ = {};
    if (!std::exchange(sub.removed_by_hand, true))
        send_off(held, sub);
    note_switch(held);
    host_.wake();
}

Status VirtualPort::plug_by_hand(SubIndex index) {
    const Locked held(mutex_);
    SubDevice *sub = nullptr;
    if (Status s = find(held, index, sub); !s.ok())
        return s;
    if (sub->dropped)
        return {-EBUSY, "plug a sub-device that is leaving for good"};
    sub->removed_by_hand = false;
    sub->leaving_since = {}; // if it had not left yet, then it stays
    sub->sent_off = {};
    if (sub->usable() && sub->state() == State::kStarted && sub->door().gate.is_open())
        sub->open(); // the selection has it again
    sub->said_busy = false;
    sub->asked = false; // an answer may be there since long ago
    sub->retry_now();
    host_.wake();
    return {};
}

Status VirtualPort::add(std::string devargs, std::unique_ptr<DeviceSource> source, SubIndex &out) {
    const Locked held(mutex_);
    if (closing_)
        return {-ENODEV, "add a sub-device to a port that is being closed"};
    SubDevice *place = nullptr;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->vacant) {
            place = place == nullptr ? sub.get() : place;
            continue;
        }
        // What a source named once, and does not any more, it has no claim to.
        const bool is_one = sub->source() == nullptr || sub->state() != State::kAbsent || sub->named || sub->probing;
        if (source == nullptr ? is_one && !sub->devargs().empty() && same_device(sub->devargs(), devargs)
                              : sub->source() != nullptr && is_same_descriptor(*sub->source(), *source))
            return {-EEXIST, "add a device that is a sub-device of this port already"};
    }
    if (place == nullptr)
        return {-ENOSPC, "add a sub-device more than a port can have"};
    add_to_gone(held, *place);
    place->move_in(std::move(devargs), std::move(source));
    used_ = std::max<std::size_t>(used_, place->index().raw() + 1U);
    out = place->index();
    HOLDFAST_LOG(NOTICE, "%s: %s was added as sub-device %u", name(), place->name(), unsigned{out.raw()});
    host_.wake();
    return {};
}

void VirtualPort::vacate() {
    std::vector<std::unique_ptr<DeviceSource>> ended; // which may wait for what they do
    const Locked held(mutex_);
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->dropped && sub->state() == State::kAbsent && !sub->leaving && !sub->probing && sub->lease == nullptr) {
            HOLDFAST_LOG(NOTICE, "%s: %s was dropped", name(), sub->name());
            ended.push_back(sub->move_out());
        }
}

} // namespace holdfast
