// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/event_loop.h"

#include "abi/log.h"
#include "base/ids.h"
#include "hotplug/match.h"
#include "hotplug/netdev_watch.h"
#include "hotplug/udev.h"
#include "port/virtual_port.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <net/if.h>
#include <poll.h>

namespace holdfast {
namespace {

/// Without the kernel's events vanished netdevs are looked for this often.
constexpr std::chrono::milliseconds kNetdevPoll{50};

template <class F> void each(Registry &registry, F f) {
    for (const PortId id : registry.ids())
        if (const Registry::Pin port = registry.pin(id))
            f(*port);
}

} // namespace

EventLoop::~EventLoop() = default;

void EventLoop::listen() {
    if (std::exchange(listens_, true))
        return; // what could not be opened stays so: the loop uses it
    if (!netdevs_.open())
        HOLDFAST_LOG(INFO, "no netlink socket here: vanished network interfaces are polled for");
    if (!udev_.open())
        HOLDFAST_LOG(INFO, "no device events here: absent devices are polled for");
    if (!eal_.open())
        HOLDFAST_LOG(INFO, "EAL's device events are not heard");
}

void EventLoop::loop() {
    auto next = Clock::time_point::max();
    std::vector<pollfd> fds;
    for (;;) {
        fds.assign(1, {.fd = netdevs_.fd(), .events = POLLIN, .revents = 0});
        fds.push_back({.fd = eal_.fd(), .events = POLLIN, .revents = 0});
        udev_.add_to(fds);
        sources_.add_to(fds);
        wait(next, fds);
        if (stopping())
            break;
        hear_of_netdevs();
        hear_of_devices();
        next = std::min(refresh_links(), sources_.step());
        if (netdevs_.fd() < 0)
            next = std::min(next, Clock::now() + kNetdevPoll);
    }
    sources_.stop();
}

void EventLoop::hear_of_netdevs() {
    if (netdevs_.fd() < 0) {
        each(registry_, [](VirtualPort &port) { port.check_devices(); });
        return;
    }
    const auto gone = [this](unsigned index) {
        each(registry_, [index](VirtualPort &port) { port.netdev_gone(index); });
    };
    const auto renumbered = [this](unsigned index) {
        std::array<char, IF_NAMESIZE> name{};
        if (::if_indextoname(index, name.data()) != nullptr)
            if (const std::unique_ptr<Device> device = udev_.interface(name.data()))
                changed(*device);
    };
    const auto carrier = [this](unsigned index, bool up) {
        each(registry_, [index, up](VirtualPort &port) { port.carrier(index, up); });
    };
    if (netdevs_.read(gone, renumbered, carrier) == NetdevWatch::Heard::kMissed)
        look_at_all();
}

void EventLoop::hear_of_devices() {
    const auto hear = [this](const DeviceEvent &event) {
        if (event.what == DeviceEvent::What::kChanged)
            changed(event.device);
        else if (event.device.subsystem() == "pci") // netdevs are heard of by their index
            each(registry_, [&](VirtualPort &port) { port.pci_gone(event.device.kernel_name()); });
    };
    if (udev_.read(hear) == Udev::Heard::kMissed)
        look_at_all();
    eal_.read([this](const EalEvents::Event &event) {
        each(registry_, [&](VirtualPort &port) {
            if (event.removed)
                port.pci_gone(event.device);
            else
                port.device_came("pci", event.device);
        });
        if (!event.removed)
            sources_.changed_all();
    });
}

void EventLoop::changed(const Device &device) {
    sources_.changed(device);
    each(registry_, [&](VirtualPort &port) { port.device_came(device.subsystem(), device.kernel_name()); });
}

bool EventLoop::in_use(const Device &device) {
    unsigned netdev = 0;
    const std::string index = device.attribute("ifindex").value_or("");
    (void)std::from_chars(index.data(), index.data() + index.size(), netdev);
    const std::string pci = device.subsystem() == "pci" ? device.kernel_name() : std::string();
    bool used = false;
    each(registry_, [&](const VirtualPort &port) { used = used || port.uses(netdev, pci); });
    return used;
}

void EventLoop::look_at_all() {
    each(registry_, [](VirtualPort &port) { port.check_devices(); });
    sources_.changed_all();
    each(registry_, [](VirtualPort &port) { port.device_came({}, {}); });
}

Clock::time_point EventLoop::refresh_links() {
    auto next = Clock::time_point::max();
    each(registry_, [&](VirtualPort &port) { next = std::min(next, port.refresh_link(Clock::now())); });
    return next;
}

} // namespace holdfast
