// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"
#include "abi/driver_abi.h"
#include "abi/leftover.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/state.h"
#include "port/answer.h"
#include "port/device_source.h"
#include "port/device_text.h"
#include "port/queues.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <net/if.h>

// From what is to what is wanted. The mutex is held while sub-devices are configured, started and stopped, and never
// while a device is probed or removed: the bus's lock may be held by a thread that wants our mutex.

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kComeAgain = 10ms;
/// How long after a start, and after a first doubt, ethdev's table of burst functions is looked at.
constexpr std::chrono::milliseconds kFastPathLook = 1s;

} // namespace

State VirtualPort::wanted(const SubDevice &sub) const noexcept {
    return sub.removed_by_hand ? State::kAbsent : wanted_;
}

bool VirtualPort::silence(const Locked &, SubDevice &sub, std::chrono::milliseconds limit) {
    sub.shut();
    const auto until = Clock::now() + limit;
    if (!sub.door().gate.settle())
        return false;
    for (int looks = 0; queues_->busy(sub.index()); looks++) {
        if (Clock::now() >= until)
            return false;
        if (looks < 100)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(100us);
    }
    return true;
}

bool VirtualPort::bring_down(const Locked &held, SubDevice &sub, std::chrono::milliseconds limit, bool touch) {
    if (!silence(held, sub, limit))
        return false;
    if (sub.state() == State::kStarted) {
        queues_->take_out(sub.index());
        if (touch) {
            sub.count(ethdev_); // some drivers clear their counters at stop
            if (const int rc = ethdev_.stop(sub.port()); rc != 0 && !sub.lost())
                HOLDFAST_LOG(WARNING, "%s: cannot stop %s (port %u): %s; it is removed all the same", name(),
                             sub.name(), unsigned{sub.port().raw()}, rte_strerror(-rc));
        }
        sub.move_to(State::kConfigured);
    }
    if (sub.state() == State::kConfigured)
        sub.move_to(State::kProbed);
    if (touch)
        abi::disarm_callbacks(sub.port());
    return true;
}

bool VirtualPort::tear_down(const Locked &held, SubDevice &sub, std::chrono::milliseconds limit) {
    if (!bring_down(held, sub, limit, sub.touchable()))
        return false;
    sub.leave(ethdev_);
    tell_secondaries(held);
    return true;
}

bool VirtualPort::give_up(SubDevice &sub) noexcept {
    if (!mutex_.try_lock())
        return false;
    const Locked held(mutex_, std::adopt_lock);
    try {
        if (sub.state() == State::kAbsent || sub.leaving)
            return true;
        const bool answers = !sub.released() && !sub.trouble().any();
        if (!bring_down(held, sub, 0ms, answers))
            return false;
        if (answers)
            sub.hand_back(ethdev_);
        tell_secondaries(held);
        return true;
    } catch (...) { // out of memory
        return false;
    }
}

void VirtualPort::take_down_lost(const Locked &held, Clock::time_point now) {
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->state() == State::kAbsent || sub->leaving)
            continue;
        const bool by_hand = wanted(*sub) == State::kAbsent;
        if (!sub->lost() && !by_hand)
            continue;
        if (sub->detaching() && !sub->released())
            continue; // in somebody else's hands: either it is released, or it is ours again
        if (sub->leaving_since == Clock::time_point{})
            sub->leaving_since = now;
        const PortId port = sub->port();
        if (!tear_down(held, *sub, kPatience)) {
            if (!sub->said_busy && Clock::now() - sub->leaving_since > 1s) {
                sub->said_busy = true;
                HOLDFAST_LOG(WARNING, "%s: %s is going, but an lcore is inside for more than 1 s; waiting", name(),
                             sub->name());
            }
            continue;
        }
        sub->leaving_since = {};
        sub->reason = by_hand            ? "removed by hand"
                      : sub->detaching() ? "detached by somebody else"
                      : sub->released()  ? "closed by somebody else"
                                         : "removed";
        HOLDFAST_LOG(NOTICE, "%s: %s (port %u) left: %s", name(), sub->name(), unsigned{port.raw()},
                     sub->reason.c_str());
        sub->retry_now();
        sub->look_again(now, config_.hotplug_poll);
    }
}

Status VirtualPort::close_leaving(abi::Wait wait, const rte_vdev_device *keep, std::vector<Orphan> *orphans) {
    Status first;
    if (orphans == nullptr && !secondaries_know())
        return first; // the next visit does it
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        PortId port;
        {
            const Locked held(mutex_);
            if (!sub->leaving || sub->closing)
                continue;
            if (sub->released()) { // nothing is left to be closed
                sub->left();
                continue;
            }
            sub->closing = true; // another thread may be at the same, if the port is removed while the host works on it
            port = sub->port();
        }
        const Status s = bus_.remove(port, owner_->id(), keep, wait);
        const Locked held(mutex_);
        if (s.code() == -EAGAIN && orphans == nullptr) {
            sub->closing = false; // not our turn: the next visit does it
            continue;
        }
        if (s.code() == -EAGAIN) {
            orphans->push_back({port, owner_});
        } else if (!s.ok()) {
            first = first.ok() ? s : first;
            HOLDFAST_LOG(WARNING, "%s: cannot %s (%s, port %u): %s", name(), s.what(), sub->name(),
                         unsigned{port.raw()}, rte_strerror(-s.code()));
        }
        sub->left();
    }
    return first;
}

void VirtualPort::refuse(const Locked &, SubDevice &sub, const Status &why, Clock::time_point now) {
    const std::string before = sub.reason;
    sub.put_off(why, now, config_.hotplug_poll);
    if (sub.reason != before) // one line per fact, not per attempt
        HOLDFAST_LOG(WARNING, "%s: %s is not plugged in: %s; trying again later", name(), sub.name(),
                     sub.reason.c_str());
}

void VirtualPort::welcome(const Locked &held, SubDevice &sub, const abi::Probed &probed, Clock::time_point now) {
    sub.missed_turn = probed.status.code() == -EAGAIN;
    sub.named = sub.named && sub.missed_turn;
    if (probed.absent) {
        sub.reason = "no such device";
        sub.look_again(now, config_.hotplug_poll);
        return;
    }
    if (probed.status.code() == -EBUSY && sub.source() != nullptr && sub.source()->taken()) {
        sub.retry_now();
        host_.wake();
        return;
    }
    if (!probed.status.ok()) {
        if (sub.missed_turn)
            sub.look_again(now, kComeAgain);
        else
            refuse(held, sub, probed.status, now);
        return;
    }
    if (const Status s = sub.adopt(ethdev_, probed.port, probed.used); !s.ok())
        refuse(held, sub, s, now);
}

bool VirtualPort::find_devargs(const Locked &, SubDevice &sub, Clock::time_point now) {
    DeviceSource *const source = sub.source();
    if (source == nullptr || sub.named)
        return true;
    if (!sub.asked) {
        sub.asked = true;
        if (settings_.default_mac)
            source->pair_with(std::to_array(settings_.default_mac->addr_bytes));
        source->ask();
    }
    std::optional<Answer> answer = source->answer();
    if (!answer)
        return false; // we are woken when it is there
    sub.asked = false;
    for (const std::unique_ptr<SubDevice> &other : subs_) {
        if (other.get() == &sub || (other->source() != nullptr && other->state() == State::kAbsent) ||
            answer->devargs.empty() || !same_device(other->devargs(), answer->devargs))
            continue;
        if (source->taken()) { // there may be another one
            sub.asked = true;
            source->ask();
            return false;
        }
        answer = {.devargs = {},
                  .reason = answer->devargs + " is another sub-device of this port",
                  .kind = Answer::Kind::kBroken};
    }
    if (!answer->devargs.empty()) {
        sub.be(std::move(answer->devargs));
        sub.named = true;
        return true;
    }
    if (answer->reason != sub.reason && answer->kind == Answer::Kind::kSaid)
        HOLDFAST_LOG(INFO, "%s: no device for %s: %s", name(), source->name().c_str(), answer->reason.c_str());
    else if (answer->reason != sub.reason)
        HOLDFAST_LOG(WARNING, "%s: no device for %s: %s", name(), source->name().c_str(), answer->reason.c_str());
    if (answer->kind == Answer::Kind::kBroken) {
        sub.put_off(std::move(answer->reason), now, config_.hotplug_poll);
    } else {
        sub.reason = std::move(answer->reason);
        sub.look_again(now, config_.hotplug_poll);
    }
    return false;
}

void VirtualPort::probe_absent(Clock::time_point now, abi::Wait wait) {
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        {
            const Locked held(mutex_);
            if (closing_ || sub->state() != State::kAbsent || wanted(*sub) == State::kAbsent)
                continue;
            if (sub->take_news() || (sub->source() != nullptr && sub->source()->has_news()))
                sub->retry_now();
            if (sub->next_try > now || !find_devargs(held, *sub, now))
                continue;
            sub->probing = true;
        }
        const abi::Probed probed = bus_.probe(sub->devargs(), owner_->id(), name(), wait); // ours to change, so no copy
        bool taken = false;
        {
            const Locked held(mutex_);
            sub->probing = false;
            welcome(held, *sub, probed, now);
            taken = sub->state() != State::kAbsent;
            if (taken && closing_) // the port went while we probed
                (void)tear_down(held, *sub, kPatience);
        }
        if (taken)
            check_devices();               // it may have gone before we knew which it is
        if (!taken && probed.port.valid()) // it answered no question: give it back
            (void)bus_.remove(probed.port, owner_->id(), nullptr, wait);
    }
}

void VirtualPort::raise(const Locked &held, Clock::time_point now) {
    each_usable([&](SubDevice &sub) HOLDFAST_TSA(no_thread_safety_analysis) {
        if (wanted(sub) == State::kAbsent)
            return; // removed by hand while it was probed: the next visit takes it down
        while (sub.state() < wanted(sub)) {
            const State before = sub.state();
            const Status s = before == State::kProbed ? configure_sub(held, sub) : start_sub(held, sub);
            if (s.ok())
                continue;
            if (sub.excused()) { // it went, or got into trouble, while it came: the next visit sees to it
                sub.stale = true;
                host_.wake();
                return;
            }
            refuse(held, sub, s, now);
            (void)tear_down(held, sub, kPatience); // nobody is inside: its gate never opened
            return;
        }
        // It recovered; or it was removed by hand, and plugged again before we came to take it down.
        if (sub.state() == State::kStarted && wanted(sub) == State::kStarted && !sub.door().gate.is_open() &&
            !sub.excused()) {
            if (const Status s = start_sub(held, sub); !s.ok() && !sub.excused()) {
                refuse(held, sub, s, now);
                (void)tear_down(held, sub, kPatience);
                return;
            }
        }
        if (sub.announced)
            return;
        sub.announced = true;
        sub.reason.clear();
        sub.joined();
        HOLDFAST_LOG(NOTICE, "%s: %s (port %u) joined", name(), sub.name(), unsigned{sub.port().raw()});
    });
}

Clock::time_point VirtualPort::next_visit(const Locked &, Clock::time_point now) const {
    auto next = Clock::time_point::max();
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->leaving || (sub->lost() && sub->state() != State::kAbsent))
            next = std::min(next, now + kComeAgain);
        else if (sub->present() && Trouble::wants_us(sub->trouble().look()))
            next = std::min(next, now + kComeAgain);
        else if (sub->state() == State::kAbsent && wanted(*sub) != State::kAbsent && !sub->asked)
            next = std::min(next, sub->next_try);
    }
    return next;
}

Clock::time_point VirtualPort::check_fast_path(const Locked &, Clock::time_point now) {
    if (wanted_ != State::kStarted || checked_start_ == starts_)
        return Clock::time_point::max();
    if (fast_path_due_ == Clock::time_point{}) // ethdev fills the table when our start() has returned
        fast_path_due_ = now + kFastPathLook;
    if (now < fast_path_due_)
        return fast_path_due_;
    fast_path_due_ = {};
    if (const Status s = abi::check_fast_path(dev_); s.ok()) {
        checked_start_ = starts_;
    } else if (fast_path_doubts_++ > 0) { // once: the application may be about to stop the port
        checked_start_ = starts_;
        HOLDFAST_LOG(ERR, "%s: ethdev does not call what the driver installed: %s differs", name(), s.what());
    } else {
        return fast_path_due_ = now + kFastPathLook;
    }
    fast_path_doubts_ = 0;
    return Clock::time_point::max();
}

Clock::time_point VirtualPort::reconcile(Clock::time_point now, abi::Wait wait) {
    {
        const Locked held(mutex_);
        if (!closing_) {
            take_down_lost(held, now);
            revive(held, now);
        }
    }
    (void)close_leaving(wait, nullptr, nullptr);
    probe_absent(now, wait);
    auto next = Clock::time_point::max();
    {
        const Locked held(mutex_);
        if (!closing_) {
            raise(held, now);
            note_switch(held);
            settle_link(held);
            tell_secondaries(held);
            answer_secondaries(held);
            next = std::min(next_visit(held, now), check_fast_path(held, now));
        }
    }
    (void)close_leaving(wait, nullptr, nullptr); // what could not join, or joined a port that was closed meanwhile
    host_.look(); // the event loop alone tells the application: two threads would be in its callbacks at once
    return next;
}

} // namespace holdfast
