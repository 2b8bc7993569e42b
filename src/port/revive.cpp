// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/state.h"
#include "base/trouble.h"
#include "port/queues.h"
#include "port/settings.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <memory>
#include <vector>

// Sub-devices that are out of the traffic because they have an error in themselves, or because somebody else tried to
// detach them, but are still there.

namespace holdfast {

Status VirtualPort::reset_sub(const Locked &, SubDevice &sub) {
    queues_->take_out(sub.index());
    (void)sub.read_stats(ethdev_); // a reset clears them with most drivers
    if (const int rc = ethdev_.reset(sub.port()); rc != 0)
        return {rc, "reset a sub-device that asks for it"};
    if (sub.state() == State::kStarted)
        sub.move_to(State::kConfigured);
    if (sub.state() == State::kConfigured)
        sub.move_to(State::kProbed);
    sub.forget(ethdev_);
    (void)sub.read_stats(ethdev_);
    return {};
}

Status VirtualPort::lower_sub(const Locked &, SubDevice &sub) {
    if (sub.state() == State::kStarted) {
        queues_->take_out(sub.index());
        (void)sub.read_stats(ethdev_);
        if (const int rc = ethdev_.stop(sub.port()); rc != 0)
            return {rc, "stop a sub-device that recovered"};
        sub.move_to(State::kConfigured);
    }
    if (sub.state() == State::kConfigured)
        sub.move_to(State::kProbed);
    return {};
}

bool VirtualPort::fits_no_more(const Locked &, const SubDevice &sub) const {
    if (sub.stale || sub.state() > wanted(sub))
        return true;
    const std::vector<Change> missing = settings_.missing_from(sub.has());
    return sub.state() == State::kStarted && std::any_of(missing.begin(), missing.end(), belongs_before_start);
}

void VirtualPort::revive(const Locked &held, Clock::time_point now) {
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        const Trouble::Seen seen = sub->trouble().look();
        if (!sub->present() || seen == 0)
            continue;
        if (!sub->said_trouble && Trouble::is_error(seen)) {
            sub->said_trouble = true;
            HOLDFAST_LOG(NOTICE, "%s: %s (port %u) %s; it is out of the traffic", name(), sub->name(),
                         unsigned{sub->port().raw()},
                         Trouble::wants_reset(seen) ? "asks for a reset" : "recovers from an error");
        }
        if (!Trouble::wants_us(seen) || !silence(held, *sub, kPatience))
            continue;
        Status s;
        if (Trouble::wants_reset(seen))
            s = reset_sub(held, *sub);
        else if (fits_no_more(held, *sub))
            s = lower_sub(held, *sub);
        if (sub->lost())
            continue;  // it went meanwhile: the next visit takes it down
        if (!s.ok()) { // then it is taken off and looked for anew, which is more than a reset
            refuse(held, *sub, s, now);
            (void)tear_down(held, *sub, kPatience);
            continue;
        }
        sub->stale = false;
        if (!sub->trouble().settle(seen)) { // there is more: not yet
            host_.wake();
            continue;
        }
        sub->said_trouble = false;
        HOLDFAST_LOG(NOTICE, "%s: %s (port %u) %s", name(), sub->name(), unsigned{sub->port().raw()},
                     Trouble::wants_reset(seen) ? "was reset"
                     : Trouble::is_error(seen)  ? "recovered"
                                                : "was not detached");
    }
}

} // namespace holdfast
