// SPDX-License-Identifier: BSD-3-Clause
// The clocks of a device: the free-running one, which Rx timestamps show, and the one that IEEE 1588 sets and steers.
#include "mayfly/clock.h"
#include "mayfly/port.h"

#include <ctime>

namespace holdfast::mayfly {
namespace {

constexpr auto kSecond = static_cast<std::int64_t>(kNanoseconds);

timespec to_timespec(std::int64_t time) noexcept {
    timespec out = {};
    out.tv_sec = time / kSecond;
    out.tv_nsec = time % kSecond;
    if (out.tv_nsec < 0) {
        out.tv_sec--;
        out.tv_nsec += kSecond;
    }
    return out;
}

constexpr Status kOff{-EINVAL, "use IEEE 1588: it is not enabled"};

} // namespace

Status Port::timesync_enable() {
    timespec now = {};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    device_.settings([&](Settings &s) {
        if (!s.timesync) // a second enabling does not set the clock back
            s.ptp.set(device_clock(), now.tv_sec * kSecond + now.tv_nsec);
        s.timesync = true;
    });
    device_.timesync.store(1, std::memory_order_relaxed); // pairs: ptp (timesync in burst.cpp)
    return {};
}

Status Port::timesync_disable() {
    device_.timesync.store(0, std::memory_order_relaxed);     // pairs: ptp (timesync in burst.cpp)
    device_.ptp_received.store(0, std::memory_order_relaxed); // pairs: ptp (note_ptp_received)
    device_.ptp_sent.store(0, std::memory_order_relaxed);     // pairs: ptp (note_ptp_sent)
    device_.settings([](Settings &s) { s.timesync = false; });
    return {};
}

/// A timestamp is there once: who reads it makes room for the next.
Status Port::latched(std::atomic<std::uint64_t> &when, timespec *time) {
    return device_.settings([&](const Settings &s) -> Status {
        if (!s.timesync)
            return kOff;
        const std::uint64_t raw = when.exchange(0, std::memory_order_relaxed); // pairs: ptp (note_ptp_received, _sent)
        if (raw == 0)
            return {-EINVAL, "read a timestamp: no packet has left one"};
        *time = to_timespec(s.ptp.at(raw));
        return {};
    });
}

Status Port::timesync_read_rx(timespec *time, std::uint32_t /*flags*/) {
    return latched(device_.ptp_received, time);
}

Status Port::timesync_read_tx(timespec *time) {
    return latched(device_.ptp_sent, time);
}

Status Port::timesync_adjust_time(std::int64_t nanoseconds) {
    return device_.settings([nanoseconds](Settings &s) -> Status {
        if (!s.timesync)
            return kOff;
        s.ptp.move(nanoseconds);
        return {};
    });
}

Status Port::timesync_adjust_freq(std::int64_t ppm) {
    return device_.settings([ppm](Settings &s) -> Status {
        if (!s.timesync)
            return kOff;
        s.ptp.stretch(device_clock(), ppm);
        return {};
    });
}

Status Port::timesync_read_time(timespec *time) {
    return device_.settings([time](const Settings &s) -> Status {
        if (!s.timesync)
            return kOff;
        *time = to_timespec(s.ptp.at(device_clock()));
        return {};
    });
}

Status Port::timesync_write_time(const timespec *time) {
    return device_.settings([time](Settings &s) -> Status {
        if (!s.timesync)
            return kOff;
        s.ptp.set(device_clock(), time->tv_sec * kSecond + time->tv_nsec);
        return {};
    });
}

Status Port::read_clock(std::uint64_t *clock) {
    *clock = device_clock();
    return {};
}

} // namespace holdfast::mayfly
