// SPDX-License-Identifier: BSD-3-Clause
// What can be done to a device from outside: the part of Device that scripts, telemetry and the C API end in.
#include "abi/log.h"
#include "mayfly/device.h"
#include "mayfly/link.h"
#include "mayfly/wait.h"

#include <ethdev_driver.h>

#include <cerrno>

namespace holdfast::mayfly {

Status Device::raise(int event) noexcept {
    const bool raised = with_port([event](rte_eth_dev &port) {
        rte_eth_dev_callback_process(&port, static_cast<rte_eth_event_type>(event), nullptr);
    });
    return raised ? Status() : Status(-ENODEV, "raise an event: the device has no port");
}

bool Device::take_rmv() noexcept {
    const Locked held(mutex_);
    if (port_ == nullptr || !rmv_ || rmv_raised_ || !settings_.intr_rmv)
        return false;
    rmv_raised_ = true;
    return true;
}

void Device::raise_rmv() noexcept {
    if (!take_rmv())
        return;
    count(Count::kRmvEvents);
    (void)raise(RTE_ETH_EVENT_INTR_RMV);
}

bool Device::become_unplugged() noexcept {
    const Locked held(mutex_);
    if (presence_ == Presence::kUnplugged)
        return false;
    presence_ = Presence::kUnplugged;
    live_.store(0, std::memory_order_release); // pairs: live (Device::alive)
    for (Inbox &inbox : inboxes)
        inbox.gate.close();
    count(Count::kUnplugs);
    return true;
}

bool Device::become_leaving() noexcept {
    const Locked held(mutex_);
    if (presence_ != Presence::kPlugged)
        return false;
    presence_ = port_ == nullptr ? Presence::kUnplugged : Presence::kLeaving;
    count(Count::kUnplugs);
    return true;
}

bool Device::become_plugged() noexcept {
    const Locked held(mutex_);
    if (presence_ == Presence::kPlugged)
        return false;
    presence_ = Presence::kPlugged;
    return true;
}

// The ports of one device share their hardware: all of them go before the first of them says so.

Status Device::unplug() noexcept {
    const Ports gone = each_port(&Device::become_unplugged);
    if (gone[0] == nullptr)
        return {-EALREADY, "unplug: the device is unplugged"};
    HOLDFAST_LOG(INFO, "%s: unplugged", name.c_str());
    for (Device *port : gone)
        if (port != nullptr)
            port->raise_rmv();
    return {};
}

Status Device::plan_unplug() noexcept {
    const Ports going = each_port(&Device::become_leaving);
    if (going[0] == nullptr)
        return {-EALREADY, "ask for the device: it is leaving or unplugged"};
    HOLDFAST_LOG(INFO, "%s: asked to leave", name.c_str());
    for (Device *port : going)
        if (port != nullptr)
            port->raise_rmv();
    return {};
}

Status Device::plug() noexcept {
    const Ports back = each_port(&Device::become_plugged);
    if (back[0] == nullptr)
        return {-EALREADY, "plug: the device is plugged"};
    HOLDFAST_LOG(INFO, "%s: plugged", name.c_str());
    return {};
}

Status Device::set_health(Health from, Health to, const char *what) noexcept {
    const Locked held(mutex_);
    if (port_ == nullptr || presence_ == Presence::kUnplugged)
        return {-ENODEV, what};
    const Health now = health();
    if (now != from && now != to) // an error may be reported again, because a larger one came upon it
        return {-EALREADY, what};
    if (now == to && to != Health::kRecovering)
        return {-EALREADY, what};
    health_.store(to, std::memory_order_release); // pairs: health (Device::health)
    return {};
}

Status Device::begin_recovery() noexcept {
    if (Status s = set_health(Health::kGood, Health::kRecovering, "begin to recover"); !s.ok())
        return s;
    HOLDFAST_LOG(INFO, "%s: recovering", name.c_str());
    return raise(RTE_ETH_EVENT_ERR_RECOVERING);
}

Status Device::end_recovery(bool well) noexcept {
    if (Status s = set_health(Health::kRecovering, well ? Health::kGood : Health::kFailed, "end a recovery"); !s.ok())
        return s;
    HOLDFAST_LOG(INFO, "%s: %s", name.c_str(), well ? "recovered" : "could not recover");
    if (well)
        ring_all();
    return raise(well ? RTE_ETH_EVENT_RECOVERY_SUCCESS : RTE_ETH_EVENT_RECOVERY_FAILED);
}

Status Device::ask_for_reset() noexcept {
    if (Status s = set_health(Health::kGood, Health::kHung, "ask for a reset"); !s.ok())
        return s;
    HOLDFAST_LOG(INFO, "%s: hangs and wants a reset", name.c_str());
    return raise(RTE_ETH_EVENT_INTR_RESET);
}

void Device::reset_done() noexcept {
    const Locked held(mutex_);
    if (health() == Health::kHung)
        health_.store(Health::kGood, std::memory_order_release); // pairs: health (Device::health)
}

Status Device::set_carrier(bool up) noexcept {
    // pairs: carrier (Device::carrier).
    if (carrier_.exchange(up ? 1 : 0, std::memory_order_acq_rel) == (up ? 1u : 0u))
        return {};
    if (up)
        ring_all();
    bool tell = false;
    {
        const Locked held(mutex_);
        tell = lsc_ && port_ != nullptr && settings_.configured && settings_.intr_lsc;
    }
    if (!tell)
        return {}; // a port without this interrupt asks by itself
    const bool had_port = with_port([this](rte_eth_dev &port) {
        publish_link(port, *this);
        rte_eth_dev_callback_process(&port, RTE_ETH_EVENT_INTR_LSC, nullptr);
    });
    if (had_port)
        count(Count::kLscEvents);
    return {};
}

void Device::arm(const Command &command) noexcept {
    if (command.kind == Command::Kind::kFail)
        faults.fail(command.op, command.calls, command.error);
    else if (command.kind == Command::Kind::kDelay)
        faults.delay(command.op, command.delay_us);
}

Status Device::execute(const Command &command) noexcept {
    switch (command.kind) {
    case Command::Kind::kUnplug:
        return unplug();
    case Command::Kind::kPlanned:
        return plan_unplug();
    case Command::Kind::kPlug:
        return plug();
    case Command::Kind::kLinkDown:
        return set_carrier(false);
    case Command::Kind::kLinkUp:
        return set_carrier(true);
    case Command::Kind::kFail:
    case Command::Kind::kDelay:
        arm(command);
        return {};
    case Command::Kind::kEvent:
        return raise(command.event);
    case Command::Kind::kRecovering:
        return begin_recovery();
    case Command::Kind::kRecovered:
        return end_recovery(true);
    case Command::Kind::kRecoveryFailed:
        return end_recovery(false);
    case Command::Kind::kRecover: {
        if (Status s = begin_recovery(); !s.ok())
            return s;
        nap(kRecoveryUs);
        return end_recovery(true);
    }
    case Command::Kind::kReset:
        return ask_for_reset();
    }
    return {-EINVAL, "execute a command: it is unknown"};
}

} // namespace holdfast::mayfly
