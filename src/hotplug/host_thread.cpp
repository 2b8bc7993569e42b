// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/host_thread.h"

#include "abi/bus.h"
#include "abi/log.h"
#include "base/result.h"
#include "port/virtual_port.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_thread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kBrief = 500ms;
/// Without the kernel's events vanished netdevs are looked for this often.
constexpr std::chrono::milliseconds kNetdevPoll = 50ms;
constexpr std::chrono::milliseconds kOrphanRetry = 10ms;

} // namespace

HostThread &HostThread::get() noexcept {
    static HostThread *const host = new HostThread;
    return *host;
}

Status HostThread::run() {
    const std::lock_guard held(mutex_);
    if (running_)
        return {};
    if (wake_fd_ < 0)
        wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0)
        return {errno, "make an event descriptor"};
    if (netdevs_.fd() < 0 && !netdevs_.open())
        HOLDFAST_LOG(INFO, "no netlink socket here: vanished network interfaces are polled for");
    // DPDK's way to a control thread keeps it off the CPUs of the lcores.
    rte_thread_t thread{};
    if (const int rc = rte_thread_create_control(&thread, "holdfast-host", entry, this); rc != 0)
        return {rc, "start the host thread"};
    thread_ = static_cast<pthread_t>(thread.opaque_id);
    running_ = true;
    return {};
}

void HostThread::stop() noexcept {
    {
        const std::lock_guard held(mutex_);
        if (!running_ || ::pthread_equal(thread_, ::pthread_self()) != 0)
            return;
        stopping_ = true;
    }
    wake();
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (::pthread_timedjoin_np(thread_, nullptr, &until) != 0)
        return; // stuck in a driver: the process ends around it
    const std::lock_guard held(mutex_);
    running_ = false;
}

void HostThread::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(wake_fd_, &one, sizeof(one)); // full: it is awake anyway
}

void HostThread::add(VirtualPort &port) {
    {
        const std::lock_guard held(mutex_);
        ports_.push_back(&port);
    }
    wake();
}

void HostThread::remove(VirtualPort &port, abi::Wait wait) {
    std::unique_lock held(mutex_);
    std::erase(ports_, &port);
    if (running_ && ::pthread_equal(thread_, ::pthread_self()) != 0)
        return; // the application closes the port in a callback that we called: waiting for ourselves would take for
                // ever
    const auto done = [&] { return busy_ != &port; };
    if (wait == abi::Wait::kForever)
        idle_.wait(held, done);
    else
        idle_.wait_for(held, kBrief, done);
}

bool HostThread::hand_over(VirtualPort &port) {
    const std::lock_guard held(mutex_);
    handed_over_ = busy_ == &port;
    return handed_over_;
}

void HostThread::take(std::vector<Orphan> orphans) {
    if (orphans.empty())
        return;
    {
        const std::lock_guard held(mutex_);
        orphans_.insert(orphans_.end(), orphans.begin(), orphans.end());
    }
    wake();
}

unsigned HostThread::entry(void *self) noexcept {
    // The application's signals are the application's.
    sigset_t all;
    sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    try {
        static_cast<HostThread *>(self)->loop();
    } catch (...) { // the standard library ran out of memory
        HOLDFAST_LOG(ERR, "the host thread ended: no plug-in or removal is handled any more");
    }
    return 0;
}

void HostThread::loop() {
    auto next = Clock::time_point{};
    for (;;) {
        wait_until(next);
        {
            const std::lock_guard held(mutex_);
            if (stopping_)
                return;
        }
        next = visit_all();
        remove_orphans();
        const std::lock_guard held(mutex_);
        if (!orphans_.empty())
            next = std::min(next, Clock::now() + kOrphanRetry);
        if (netdevs_.fd() < 0 && !ports_.empty())
            next = std::min(next, Clock::now() + kNetdevPoll);
    }
}

void HostThread::wait_until(Clock::time_point when) {
    std::array<pollfd, 2> fds{
        {{.fd = wake_fd_, .events = POLLIN, .revents = 0}, {.fd = netdevs_.fd(), .events = POLLIN, .revents = 0}}};
    int timeout = -1;
    if (when != Clock::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now());
        timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    (void)::poll(fds.data(), fds.size(), timeout); // poll() passes by a negative descriptor
    std::uint64_t count = 0;
    (void)!::read(wake_fd_, &count, sizeof(count));
    bool look = netdevs_.fd() < 0;
    if (fds[1].revents != 0)
        look = netdevs_.read([this](unsigned index) {
            each([index](VirtualPort &port) { port.netdev_gone(index); });
        }) == NetdevWatch::Heard::kMissed;
    if (look)
        each([](VirtualPort &port) { port.check_netdevs(); });
}

Clock::time_point HostThread::visit_all() {
    auto next = Clock::time_point::max();
    std::vector<VirtualPort *> todo;
    {
        const std::lock_guard held(mutex_);
        todo = ports_;
    }
    for (VirtualPort *port : todo) {
        {
            const std::lock_guard held(mutex_);
            if (std::find(ports_.begin(), ports_.end(), port) == ports_.end())
                continue; // closed meanwhile
            busy_ = port;
        }
        next = std::min(next, port->reconcile(Clock::now(), abi::Wait::kForever));
        std::unique_lock held(mutex_);
        busy_ = nullptr;
        if (std::exchange(handed_over_, false)) {
            held.unlock();
            std::vector<Orphan> none;
            (void)port->close(abi::Wait::kForever, nullptr, none); // also what we probed while it went
            if (!port->stuck())
                delete port;
            held.lock();
        }
        held.unlock();
        idle_.notify_all();
    }
    return next;
}

void HostThread::remove_orphans() {
    std::vector<Orphan> todo;
    {
        const std::lock_guard held(mutex_);
        todo.swap(orphans_);
    }
    for (const Orphan &orphan : todo) {
        if (const Status s = abi::real_bus().remove(orphan.port, orphan.owner, nullptr, abi::Wait::kForever); !s.ok())
            HOLDFAST_LOG(WARNING, "cannot %s (port %u): %s", s.what(), unsigned{orphan.port.raw()},
                         rte_strerror(-s.code()));
    }
    for (const Orphan &orphan : todo) // when all are gone: several may have one owner
        (void)rte_eth_dev_owner_delete(orphan.owner);
}

} // namespace holdfast
