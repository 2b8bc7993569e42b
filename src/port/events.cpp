// SPDX-License-Identifier: BSD-3-Clause
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <algorithm>
#include <memory>
#include <string_view>

// What the event loop and the carrier watch hear of devices. No lock of the port's: its list of places is fixed, and
// what is read of a sub-device is atomic, or changes only when it comes for the first time or goes for good.

namespace holdfast {

void VirtualPort::netdev_gone(unsigned index) noexcept {
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (index != 0 && sub->netdev() == index)
            sub->lose(SubDevice::kGone);
}

void VirtualPort::carrier(unsigned index, bool up) noexcept {
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (index != 0 && sub->netdev() == index)
            sub->on_carrier(up);
}

Clock::time_point VirtualPort::watch_carriers() noexcept {
    bool any = false;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        any = sub->watch_carrier() || any;
    return any ? Clock::now() + config_.policy.lsc_poll : Clock::time_point::max();
}

void VirtualPort::pci_gone(std::string_view address) noexcept {
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->is_pci(address))
            sub->lose(SubDevice::kGone);
}

bool VirtualPort::uses(unsigned netdev, std::string_view pci) const noexcept {
    return std::any_of(subs_.begin(), subs_.end(), [&](const std::unique_ptr<SubDevice> &sub) {
        return (netdev != 0 && sub->netdev() == netdev) || sub->is_pci(pci);
    });
}

void VirtualPort::check_devices() noexcept {
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (!sub->lost() && sub->has_vanished())
            sub->lose(SubDevice::kGone);
}

void VirtualPort::device_came(std::string_view subsystem, std::string_view kernel_name) {
    bool any = false;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->is_always(subsystem, kernel_name)) {
            sub->give_news();
            any = true;
        }
    if (any)
        host_.wake();
}

} // namespace holdfast
