// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/event_loop.h"

#include "abi/log.h"
#include "base/ids.h"
#include "port/virtual_port.h"

#include <algorithm>
#include <chrono>
#include <vector>

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

void EventLoop::listen() {
    if (netdevs_.fd() < 0 && !netdevs_.open())
        HOLDFAST_LOG(INFO, "no netlink socket here: vanished network interfaces are polled for");
}

void EventLoop::loop() {
    auto next = Clock::time_point::max();
    std::vector<pollfd> fds;
    for (;;) {
        fds.assign(1, {.fd = netdevs_.fd(), .events = POLLIN, .revents = 0});
        sources_.add_to(fds);
        wait(next, fds);
        if (stopping())
            break;
        const bool heard = fds.front().revents != 0;
        bool look = netdevs_.fd() < 0;
        if (heard)
            look = netdevs_.read([this](unsigned index) {
                each(registry_, [index](VirtualPort &port) { port.netdev_gone(index); });
            }) == NetdevWatch::Heard::kMissed;
        if (look)
            each(registry_, [](VirtualPort &port) { port.check_netdevs(); });
        next = std::min(refresh_links(), sources_.step());
        if (netdevs_.fd() < 0)
            next = std::min(next, Clock::now() + kNetdevPoll);
    }
    sources_.stop();
}

Clock::time_point EventLoop::refresh_links() {
    auto next = Clock::time_point::max();
    each(registry_, [&](VirtualPort &port) { next = std::min(next, port.refresh_link(Clock::now())); });
    return next;
}

} // namespace holdfast
