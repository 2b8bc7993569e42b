// SPDX-License-Identifier: BSD-3-Clause
// What this header declares is what the module exports; everything else of it is hidden.
#pragma GCC visibility push(default)
#include <rte_pmd_holdfast.h>
#pragma GCC visibility pop

#include "base/ids.h"
#include "base/result.h"
#include "base/selection.h"
#include "driver/control.h"
#include "hotplug/host_thread.h"
#include "port/switch_listeners.h"
#include "port/virtual_port.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

namespace holdfast {
namespace {

static_assert(RTE_PMD_HOLDFAST_MAX_SUBS == kMaxSubDevices);
static_assert(RTE_PMD_HOLDFAST_STARTED == static_cast<int>(State::kStarted) + 1);
static_assert(RTE_PMD_HOLDFAST_REMOVAL == static_cast<int>(SwitchWhy::kRemoval));
static_assert(RTE_PMD_HOLDFAST_LINK == static_cast<int>(SwitchWhy::kLink));
static_assert(RTE_PMD_HOLDFAST_BETTER == static_cast<int>(SwitchWhy::kBetter));
static_assert(RTE_PMD_HOLDFAST_BY_HAND == static_cast<int>(SwitchWhy::kByHand));
static_assert(RTE_PMD_HOLDFAST_FIRST == static_cast<int>(SwitchWhy::kFirst));

/// Runs a C function's body. Nothing gets out of it but a number.
template <class F> int guarded(F body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (...) {
        return -EFAULT;
    }
}

/// The same for a body that wants the port.
template <class F> int on_port(std::uint16_t port_id, F body) noexcept {
    return guarded([&] {
        int answer = -ENODEV;
        HostThread::get().with(PortId{port_id}, [&](VirtualPort &port) { answer = body(port); });
        return answer;
    });
}

template <std::size_t N> void copy_text(char (&to)[N], const std::string &from) {
    std::snprintf(to, N, "%s", from.c_str());
}

int state_of(const VirtualPort::SubInfo &sub) {
    if (sub.vacant)
        return RTE_PMD_HOLDFAST_VACANT;
    for (const State state : {State::kProbed, State::kConfigured, State::kStarted})
        if (sub.state == to_string(state))
            return static_cast<int>(state) + 1;
    return RTE_PMD_HOLDFAST_ABSENT;
}

int link_of(const VirtualPort::SubInfo &sub) {
    return sub.link == "up"      ? RTE_PMD_HOLDFAST_LINK_UP
           : sub.link == "shaky" ? RTE_PMD_HOLDFAST_LINK_SHAKY
           : sub.link == "down"  ? RTE_PMD_HOLDFAST_LINK_DOWN
                                 : RTE_PMD_HOLDFAST_LINK_UNKNOWN;
}

void fill(rte_pmd_holdfast_sub &out, const VirtualPort::SubInfo &sub) {
    out.state = state_of(sub);
    if (sub.vacant)
        return;
    copy_text(out.devargs, sub.devargs);
    copy_text(out.source, sub.source);
    copy_text(out.reason, sub.reason);
    out.plugins = sub.plugins;
    out.removals = sub.removals;
    out.link_failures = sub.link_failures;
    out.link = link_of(sub);
    out.port_id = sub.port.valid() ? sub.port.raw() : -1;
    out.active = sub.active ? 1 : 0;
    out.wanted = sub.wanted ? 1 : 0;
}

} // namespace
} // namespace holdfast

using namespace holdfast;

int rte_pmd_holdfast_is_port(std::uint16_t port_id) {
    return on_port(port_id, [](VirtualPort &) { return 1; }) == 1 ? 1 : 0;
}

int rte_pmd_holdfast_places(std::uint16_t port_id) {
    return on_port(port_id, [](VirtualPort &port) { return static_cast<int>(port.describe().subs.size()); });
}

int rte_pmd_holdfast_active(std::uint16_t port_id) {
    return on_port(port_id, [](VirtualPort &port) {
        const SubIndex active = port.active();
        return active.valid() ? int{active.raw()} : -ENOLINK;
    });
}

int rte_pmd_holdfast_get(std::uint16_t port_id, std::uint8_t place, rte_pmd_holdfast_sub *sub) {
    return on_port(port_id, [&](VirtualPort &port) {
        if (sub == nullptr || place >= kMaxSubDevices)
            return -EINVAL;
        *sub = {};
        sub->port_id = -1;
        if (const VirtualPort::Info info = port.describe(); place < info.subs.size())
            fill(*sub, info.subs[place]);
        return 0;
    });
}

int rte_pmd_holdfast_switch(std::uint16_t port_id, std::uint8_t place) {
    return guarded([&] { return switch_to(PortId{port_id}, SubIndex{place}, Hold::kHeld).code(); });
}

int rte_pmd_holdfast_pin(std::uint16_t port_id, std::uint8_t place) {
    return guarded([&] { return switch_to(PortId{port_id}, SubIndex{place}, Hold::kPinned).code(); });
}

int rte_pmd_holdfast_unpin(std::uint16_t port_id) {
    return guarded([&] { return unpin(PortId{port_id}).code(); });
}

int rte_pmd_holdfast_remove(std::uint16_t port_id, std::uint8_t place) {
    return guarded([&] { return remove_sub(PortId{port_id}, SubIndex{place}).code(); });
}

int rte_pmd_holdfast_plug(std::uint16_t port_id, std::uint8_t place) {
    return guarded([&] { return plug_sub(PortId{port_id}, SubIndex{place}).code(); });
}

int rte_pmd_holdfast_add(std::uint16_t port_id, const char *devargs, char *fault, std::uint32_t room) {
    return guarded([&] {
        if (fault != nullptr && room > 0)
            fault[0] = '\0';
        if (devargs == nullptr)
            return -EINVAL;
        std::string why;
        SubIndex place;
        const Status s = add_sub(PortId{port_id}, devargs, place, why);
        if (fault != nullptr && room > 0)
            std::snprintf(fault, room, "%s", why.c_str());
        return s.ok() ? int{place.raw()} : s.code();
    });
}

int rte_pmd_holdfast_drop(std::uint16_t port_id, std::uint8_t place) {
    return guarded([&] { return drop_sub(PortId{port_id}, SubIndex{place}).code(); });
}

int rte_pmd_holdfast_callback_register(std::uint16_t port_id, rte_pmd_holdfast_switch_fn function, void *arg) {
    return on_port(port_id, [&](VirtualPort &port) {
        return function == nullptr ? -EINVAL : port.listeners().add(function, arg) ? 0 : -EEXIST;
    });
}

int rte_pmd_holdfast_callback_unregister(std::uint16_t port_id, rte_pmd_holdfast_switch_fn function, void *arg) {
    return on_port(port_id, [&](VirtualPort &port) {
        return function == nullptr ? -EINVAL : port.listeners().remove(function, arg) ? 0 : -ENOENT;
    });
}
