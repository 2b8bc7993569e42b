// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "hotplug/thread.h"
#include "port/bell.h"
#include "port/shared.h"

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace holdfast {

/// In a secondary process that lives longer than a moment: keeps its list of ports what the primary's is, while
/// sub-devices come and go. The primary plugs and unplugs them for itself alone, because EAL's way to do it in all
/// processes at once fails, or stands for 5 s, when one of them is killed. It rings the bell before it closes a
/// sub-device, and this thread then detaches it here (the application hears RTE_ETH_EVENT_DESTROY), or attaches one
/// that came (RTE_ETH_EVENT_NEW).
class Watcher final : public Thread {
  public:
    static Watcher &get() noexcept;

    Watcher() noexcept : Thread("holdfast-watch") {}
    ~Watcher() override = default;

    /// A port was attached. It begins a second after the last one: EAL may still be walking over the list of devices.
    void begin();
    /// A port is about to be detached. Waits briefly, for the caller may hold the bus's lock, until no change is under
    /// way; with the last port the thread ends, since what it reads may go next.
    void end() noexcept;

  private:
    /// A sub-device that this process has attached.
    struct Known {
        Snapshot::Sub sub{};
        std::string ethdev; ///< its port's name
    };

    void loop() override;
    void settle();
    void settle(Snapshot::Sub now, Known &known);
    static void attach(const Snapshot::Sub &sub, Known &known);
    static void detach(Known &known);

    std::timed_mutex changing_;
    std::atomic<std::chrono::steady_clock::time_point> from_{};
    std::array<std::array<Known, kMaxSubDevices>, RTE_MAX_ETHPORTS> known_;
};

} // namespace holdfast
