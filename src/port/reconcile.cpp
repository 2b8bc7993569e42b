// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"
#include "abi/driver_abi.h"
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
#include <utility>
#include <vector>

// From what is to what is wanted. The mutex is held while sub-devices are configured, started and stopped, and never
// while a device is probed or removed: the bus's lock may be held by a thread that wants our mutex.

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kComeAgain = 10ms;
constexpr std::chrono::milliseconds kLookAgain = 2ms;
/// How long a sub-device that comes waits for its interface to be up. Then it gets its traffic all the same.
constexpr std::chrono::milliseconds kLinkTime = 1s;
/// How long after a start, and after a first doubt, ethdev's table of burst functions is looked at.
constexpr std::chrono::milliseconds kFastPathLook = 1s;

} // namespace

State VirtualPort::wanted(const SubDevice &sub) const noexcept {
    return sub.removed_by_hand || sub.vacant ? State::kAbsent : wanted_;
}

void VirtualPort::refuse(const Locked &held, SubDevice &sub, const Status &why, Clock::time_point now) {
    refuse(held, sub, std::string("cannot ") + why.what() + ": " + rte_strerror(-why.code()), now);
}

void VirtualPort::refuse(const Locked &, SubDevice &sub, std::string why, Clock::time_point now) {
    const std::string before = sub.reason;
    sub.put_off(std::move(why), now, config_.hotplug_poll);
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
        // The devargs are ours to change, so these need no copy of them.
        std::string why;
        const bool ready = sub->source() == nullptr || sub->source()->prepare(sub->lease, why);
        const abi::Probed probed =
            ready ? bus_.probe(sub->devargs(), owner_->id(), name(), wait) : abi::Probed{.status = {-EBUSY, "prepare"}};
        bool taken = false;
        {
            const Locked held(mutex_);
            sub->probing = false;
            if (ready) {
                welcome(held, *sub, probed, now);
            } else {
                sub->named = sub->missed_turn = false; // its source may name another one
                refuse(held, *sub, std::move(why), now);
            }
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
        const bool ran = sub.state() == State::kStarted; // else its interface was looked at in this visit already
        if (!ran)
            sub.hold_until = now + kLinkTime;
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
        if (ran && sub.state() == State::kStarted && wanted(sub) == State::kStarted && !sub.door().gate.is_open() &&
            !sub.excused()) {
            if (const Status s = start_sub(held, sub); !s.ok() && !sub.excused()) {
                refuse(held, sub, s, now);
                (void)tear_down(held, sub, kPatience);
                return;
            }
        }
        if (sub.announced || (sub.state() == State::kStarted && !sub.door().gate.is_open()))
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
        else if (sub->removed_by_hand && sub->state() != State::kAbsent) // it sends what it was given
            next = std::min(next, now + kLookAgain);
        else if (sub->present() && Trouble::wants_us(sub->trouble().look()))
            next = std::min(next, now + kComeAgain);
        else if (sub->usable() && sub->state() == State::kStarted && wanted(*sub) == State::kStarted &&
                 !sub->door().gate.is_open()) // its interface is not up yet
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
    take_down_lost(now);
    {
        const Locked held(mutex_);
        if (!closing_)
            revive(held, now);
    }
    (void)close_leaving(wait, nullptr, nullptr);
    probe_absent(now, wait);
    auto next = Clock::time_point::max();
    {
        const Locked held(mutex_);
        if (!closing_) {
            raise(held, now);
            (void)settle(held, Clock::now()); // devices took their time; the event loop comes again for links by itself
            tell_secondaries(held);
            answer_secondaries(held);
            next = std::min(next_visit(held, now), check_fast_path(held, now));
        }
    }
    (void)close_leaving(wait, nullptr, nullptr); // what could not join, or joined a port that was closed meanwhile
    end_leases();
    vacate();
    host_.look(); // the event loop alone tells the application: two threads would be in its callbacks at once
    return next;
}

} // namespace holdfast
