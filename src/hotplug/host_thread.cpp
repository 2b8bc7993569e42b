// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/host_thread.h"

#include "abi/bus.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/result.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/virtual_port.h"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <poll.h>

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds kOrphanRetry{10};

} // namespace

HostThread &HostThread::get() noexcept {
    static HostThread *const host = new HostThread;
    return *host;
}

Status HostThread::run() {
    const std::lock_guard held(mutex_);
    events_.listen();
    if (const Status s = events_.run(); !s.ok())
        return s;
    if (const Status s = carriers_.run(); !s.ok())
        return s;
    return Thread::run();
}

void HostThread::stop() noexcept {
    Thread::stop();
    events_.stop();
    carriers_.stop();
}

void HostThread::wake() noexcept {
    Thread::wake();
    events_.wake(); // what makes a port take steps may also change its link
}

Status HostThread::make_sources(const Config &config, std::vector<std::unique_ptr<DeviceSource>> &out) {
    for (const Source &source : config.devices) {
        std::unique_ptr<DeviceSource> made;
        if (Status s = events_.sources().make(source, config.exec_timeout, made); !s.ok())
            return s;
        out.push_back(std::move(made));
    }
    return {};
}

void HostThread::add(VirtualPort &port) {
    registry_.add(port);
    wake();
}

void HostThread::take(std::vector<Orphan> orphans) {
    if (orphans.empty())
        return;
    {
        const std::lock_guard held(mutex_);
        orphans_.insert(orphans_.end(), orphans.begin(), orphans.end());
    }
    Thread::wake();
}

void HostThread::loop() {
    auto next = Clock::time_point{};
    std::vector<pollfd> none;
    for (;;) {
        wait(next, none);
        if (stopping())
            return;
        next = visit_all();
        carriers_.wake(); // there may be others now
        delete_gone();
        remove_orphans();
        const std::lock_guard held(mutex_);
        if (!orphans_.empty())
            next = std::min(next, Clock::now() + kOrphanRetry);
    }
}

Clock::time_point HostThread::visit_all() {
    auto next = Clock::time_point::max();
    each([&](VirtualPort &port) { next = std::min(next, port.reconcile(Clock::now(), abi::Wait::kForever)); });
    return next;
}

void HostThread::delete_gone() {
    for (VirtualPort *port : registry_.take_gone()) {
        std::vector<Orphan> none;
        (void)port->close(abi::Wait::kForever, nullptr, none); // also what was probed while it went
        if (!port->stuck())
            delete port;
    }
}

void HostThread::remove_orphans() {
    std::vector<Orphan> todo;
    {
        const std::lock_guard held(mutex_);
        todo.swap(orphans_);
    }
    for (const Orphan &orphan : todo) {
        if (const Status s = abi::real_bus().remove(orphan.port, orphan.owner->id(), nullptr, abi::Wait::kForever);
            !s.ok())
            HOLDFAST_LOG(WARNING, "cannot %s (port %u): %s", s.what(), unsigned{orphan.port.raw()},
                         rte_strerror(-s.code()));
    }
}

} // namespace holdfast
