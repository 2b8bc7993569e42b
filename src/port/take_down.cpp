// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"
#include "abi/leftover.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/state.h"
#include "port/queues.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_errno.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

// Sub-devices that leave: out of the traffic, stopped, closed, off their bus.

namespace holdfast {
namespace {

using namespace std::chrono_literals;

} // namespace

bool VirtualPort::silence(const Locked &held, SubDevice &sub, std::chrono::milliseconds limit) {
    sub.shut();
    return is_quiet(held, sub, limit);
}

bool VirtualPort::is_quiet(const Locked &, SubDevice &sub, std::chrono::milliseconds limit) const {
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
    if (sub.halting || !silence(held, sub, limit))
        return false;
    if (sub.state() == State::kStarted) {
        queues_->take_out(sub.index());
        if (touch) {
            sub.count(ethdev_); // some drivers clear their counters at stop
            say_stopped(sub, ethdev_.stop(sub.port()));
        }
        sub.move_to(State::kConfigured);
    }
    if (sub.state() == State::kConfigured)
        sub.move_to(State::kProbed);
    if (touch)
        abi::disarm_callbacks(sub.port());
    return true;
}

void VirtualPort::say_stopped(const SubDevice &sub, int rc) const {
    if (rc != 0 && !sub.lost())
        HOLDFAST_LOG(WARNING, "%s: cannot stop %s (port %u): %s; it is removed all the same", name(), sub.name(),
                     unsigned{sub.port().raw()}, rte_strerror(-rc));
}

bool VirtualPort::halt(SubDevice &sub) {
    PortId port;
    bool ones = false;
    {
        const Locked held(mutex_);
        if (sub.state() != State::kStarted || !sub.touchable())
            return true;
        if (!silence(held, sub, kPatience))
            return false;
        queues_->take_out(sub.index());
        sub.halting = true;
        port = sub.port();
        ones = sub.reads_as_ones();
    }
    abi::PortStats last{};
    const bool counted = !ones && ethdev_.stats(port, last) == 0 && !sub.reads_as_ones();
    say_stopped(sub, ethdev_.stop(port));
    const Locked held(mutex_);
    sub.halting = false;
    if (counted)
        sub.count_last(last);
    sub.move_to(State::kConfigured);
    return true;
}

bool VirtualPort::tear_down(const Locked &held, SubDevice &sub, std::chrono::milliseconds limit) {
    if (!bring_down(held, sub, limit, sub.touchable()))
        return false;
    sub.leave(ethdev_);
    if (by_hand_.sub == sub.index())
        by_hand_ = {};
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

void VirtualPort::take_down_lost(Clock::time_point now) {
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        {
            const Locked held(mutex_);
            if (closing_ || !has_to_leave(held, *sub) || (!sub->lost() && is_sending(held, *sub, Clock::now())))
                continue;
            sub->sent_off = {};
            if (sub->leaving_since == Clock::time_point{})
                sub->leaving_since = now;
        }
        // A driver may poll dead registers for seconds, so what it does is not for the application to wait for.
        const bool halted = !sub->lost() || halt(*sub);
        const Locked held(mutex_);
        if (!has_to_leave(held, *sub))
            continue; // the port was closed meanwhile, or it is ours again
        const PortId port = sub->port();
        const bool by_hand = wanted(*sub) == State::kAbsent;
        if (!halted || !tear_down(held, *sub, kPatience)) {
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

bool VirtualPort::has_to_leave(const Locked &, const SubDevice &sub) const {
    if (sub.state() == State::kAbsent || sub.leaving || (!sub.lost() && wanted(sub) != State::kAbsent))
        return false;
    return !sub.detaching() || sub.released(); // in somebody else's hands: it is released, or will be ours again
}

void VirtualPort::end_leases() {
    std::vector<std::shared_ptr<void>> ended; // which may wait for a driver: not with the mutex
    const Locked held(mutex_);
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->lease != nullptr && sub->state() == State::kAbsent && !sub->probing &&
            (closing_ || wanted(*sub) == State::kAbsent))
            ended.push_back(std::exchange(sub->lease, {}));
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
            orphans->push_back({port, owner_, std::exchange(sub->lease, {})});
        } else if (!s.ok()) {
            first = first.ok() ? s : first;
            HOLDFAST_LOG(WARNING, "%s: cannot %s (%s, port %u): %s", name(), s.what(), sub->name(),
                         unsigned{port.raw()}, rte_strerror(-s.code()));
        }
        sub->left();
    }
    return first;
}

} // namespace holdfast
