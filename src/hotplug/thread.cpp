// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/thread.h"

#include "abi/log.h"
#include "base/result.h"

#include <rte_thread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast {

Status Thread::run() {
    if (running_)
        return {};
    if (wake_fd_ < 0)
        wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0)
        return {errno, "make an event descriptor"};
    stopping_.store(false, std::memory_order_release); // pairs: thread-stop (Thread::stopping).
    // DPDK's way to a control thread keeps it off the CPUs of the lcores.
    rte_thread_t thread{};
    if (const int rc = rte_thread_create_control(&thread, name_, entry, this); rc != 0)
        return {rc, "start a control thread"};
    thread_ = static_cast<pthread_t>(thread.opaque_id);
    running_ = true;
    return {};
}

void Thread::stop() noexcept {
    if (!running_ || ::pthread_equal(thread_, ::pthread_self()) != 0)
        return;
    // pairs: thread-stop (Thread::stopping).
    stopping_.store(true, std::memory_order_release);
    wake();
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    if (::pthread_timedjoin_np(thread_, nullptr, &until) == 0)
        running_ = false; // else it is stuck in a driver: the process ends around it
}

void Thread::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(wake_fd_, &one, sizeof(one)); // full: it is awake anyway
}

void Thread::wait(Clock::time_point when, std::vector<pollfd> &fds) {
    fds.push_back({.fd = wake_fd_, .events = POLLIN, .revents = 0});
    int timeout = -1;
    if (when != Clock::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now());
        timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    (void)::poll(fds.data(), fds.size(), timeout); // poll() passes by a negative descriptor
    std::uint64_t count = 0;
    (void)!::read(wake_fd_, &count, sizeof(count));
    fds.pop_back();
}

bool Thread::stopping() const noexcept {
    // pairs: thread-stop (Thread::stop).
    return stopping_.load(std::memory_order_acquire);
}

unsigned Thread::entry(void *arg) noexcept {
    auto &self = *static_cast<Thread *>(arg);
    sigset_t all;
    sigfillset(&all); // the application's signals are the application's
    (void)::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    try {
        self.loop();
    } catch (...) { // the standard library ran out of memory
        HOLDFAST_LOG(ERR, "the thread %s ended: no plug-in or removal is handled any more", self.name_);
    }
    return 0;
}

} // namespace holdfast
