// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "hotplug/match.h"
#include "hotplug/thread.h"
#include "hotplug/udev.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/host.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <poll.h>

namespace holdfast {

/// What names sub-devices, of all ports: commands, descriptors, and what is known of devices. The event loop does their
/// work, none of which waits. The mutex is held for that and for questions; it comes after a port's.
class Sources {
  public:
    /// `host` is woken when there is an answer, `loop` when there is a question.
    /// `in_use` says whether a device is a sub-device of any port.
    Sources(Host &host, Thread &loop, Catalog &catalog, std::function<bool(const Device &)> in_use)
        : host_(host), loop_(loop), catalog_(catalog), in_use_(std::move(in_use)) {}
    Sources(const Sources &) = delete;
    Sources &operator=(const Sources &) = delete;

    /// Gives nullptr for a fixed device, which needs none. Must not outlive this object.
    Status make(const Source &source, std::chrono::milliseconds limit, std::unique_ptr<DeviceSource> &out);

    // ---- the loop's
    /// What to wait for.
    void add_to(std::vector<pollfd> &fds);
    /// Goes on with all of them; says when to come again at the latest.
    Clock::time_point step();
    /// A device came, or is not what it was.
    void changed(const Device &device);
    /// Anything may have happened to any device.
    void changed_all();
    /// Kills all commands: nothing will watch over them any more.
    void stop();

  private:
    class Entry;
    class CommandEntry;
    class DescriptorEntry;
    class UdevEntry;

    Host &host_;
    Thread &loop_;
    Catalog &catalog_;
    const std::function<bool(const Device &)> in_use_;
    std::mutex mutex_;
    std::condition_variable answered_;
    std::vector<Entry *> entries_;
};

} // namespace holdfast
