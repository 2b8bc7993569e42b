// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/doorbell.h"

#include <cerrno>
#include <ctime>

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace holdfast::mayfly {
namespace {
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
}

int Doorbell::open(Kind kind) noexcept {
    close();
    kind_ = kind;
    const int fd = kind == Kind::kTimer ? timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)
                                        : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    fd_.store(fd, std::memory_order_release); // pairs: bell-fd (Doorbell::is_open)
    return 0;
}

void Doorbell::close() noexcept {
    armed_.exchange(0, std::memory_order_acq_rel);              // pairs: bell (Doorbell::ring)
    const int fd = fd_.exchange(-1, std::memory_order_acq_rel); // pairs: bell-fd (Doorbell::is_open)
    if (fd >= 0)
        (void)::close(fd);
}

void Doorbell::set_timer(std::uint64_t nanoseconds) noexcept {
    itimerspec when = {};
    when.it_value.tv_sec = static_cast<time_t>(nanoseconds / kNanosecondsPerSecond);
    when.it_value.tv_nsec = static_cast<long>(nanoseconds % kNanosecondsPerSecond);
    (void)timerfd_settime(descriptor(), 0, &when, nullptr);
}

void Doorbell::wake() noexcept {
    rung_.fetch_add(1, std::memory_order_relaxed); // pairs: counter (Doorbell::rung)
    if (kind_ == Kind::kTimer) {
        set_timer(1); // zero would stop it
    } else {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(descriptor(), &one, sizeof(one)); // full means readable
    }
}

void Doorbell::ring_after(std::uint64_t nanoseconds) noexcept {
    rung_.fetch_add(1, std::memory_order_relaxed); // pairs: counter (Doorbell::rung)
    set_timer(nanoseconds == 0 ? 1 : nanoseconds);
}

void Doorbell::disarm() noexcept {
    armed_.exchange(0, std::memory_order_acq_rel); // pairs: bell (Doorbell::ring)
    if (kind_ == Kind::kTimer && is_open())
        set_timer(0);
}

} // namespace holdfast::mayfly
