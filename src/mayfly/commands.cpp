// SPDX-License-Identifier: BSD-3-Clause
// What can be done to a device from outside: the part of Device that scripts, telemetry and the C API end in.
#include "abi/log.h"
#include "mayfly/device.h"
#include "mayfly/link.h"

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

Status Device::unplug() noexcept {
    {
        const Locked held(mutex_);
        if (presence_ == Presence::kUnplugged)
            return {-EALREADY, "unplug: the device is unplugged"};
        presence_ = Presence::kUnplugged;
        live_.store(0, std::memory_order_release); // pairs: live (Device::alive)
        for (Inbox &inbox : inboxes)
            inbox.gate.close();
        count(Count::kUnplugs);
    }
    HOLDFAST_LOG(INFO, "%s: unplugged", name.c_str());
    raise_rmv();
    return {};
}

Status Device::plan_unplug() noexcept {
    {
        const Locked held(mutex_);
        if (presence_ != Presence::kPlugged)
            return {-EALREADY, "ask for the device: it is leaving or unplugged"};
        presence_ = port_ == nullptr ? Presence::kUnplugged : Presence::kLeaving;
        count(Count::kUnplugs);
    }
    HOLDFAST_LOG(INFO, "%s: asked to leave", name.c_str());
    raise_rmv();
    return {};
}

Status Device::plug() noexcept {
    {
        const Locked held(mutex_);
        if (presence_ == Presence::kPlugged)
            return {-EALREADY, "plug: the device is plugged"};
        presence_ = Presence::kPlugged;
    }
    HOLDFAST_LOG(INFO, "%s: plugged", name.c_str());
    return {};
}

Status Device::set_carrier(bool up) noexcept {
    // pairs: carrier (Device::carrier).
    if (carrier_.exchange(up ? 1 : 0, std::memory_order_acq_rel) == (up ? 1u : 0u))
        return {};
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
    }
    return {-EINVAL, "execute a command: it is unknown"};
}

} // namespace holdfast::mayfly
