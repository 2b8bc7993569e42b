// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/eal_events.h"

#include <rte_dev.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast {
namespace {

/// What goes through the pipe, in one piece: its size is below PIPE_BUF.
struct Record {
    bool removed;
    std::array<char, 63> device; ///< ends with a NUL
};

/// EAL's thread. The application's own callbacks are called beside this one.
void on_event(const char *device, rte_dev_event_type event, void *arg) {
    if (device == nullptr || event >= RTE_DEV_EVENT_MAX)
        return;
    Record record{.removed = event == RTE_DEV_EVENT_REMOVE, .device = {}};
    const std::size_t size = ::strnlen(device, record.device.size());
    if (size == record.device.size())
        return; // no name of a device that EAL can probe
    std::copy_n(device, size, record.device.begin());
    (void)!::write(*static_cast<const int *>(arg), &record, sizeof(record)); // full: there is plenty to do anyway
}

} // namespace

EalEvents::~EalEvents() {
    if (ends_[0] < 0)
        return;
    (void)rte_dev_event_callback_unregister(nullptr, on_event, &ends_[1]);
    ::close(ends_[0]);
    ::close(ends_[1]);
}

bool EalEvents::open() noexcept {
    if (ends_[0] >= 0)
        return true;
    int ends[2]{-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    ends_[1] = ends[1];
    if (rte_dev_event_callback_register(nullptr, on_event, &ends_[1]) != 0) { // for all devices
        ::close(ends[0]);
        ::close(ends[1]);
        ends_[1] = -1;
        return false;
    }
    ends_[0] = ends[0];
    return true;
}

void EalEvents::read(const std::function<void(const Event &)> &hear) {
    Record record{};
    while (ends_[0] >= 0 && ::read(ends_[0], &record, sizeof(record)) == sizeof(record))
        hear({.removed = record.removed, .device = record.device.data()});
}

} // namespace holdfast
