// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/eal_events.h"
#include "hotplug/match.h"
#include "hotplug/netdev_watch.h"
#include "hotplug/registry.h"
#include "hotplug/sources.h"
#include "hotplug/thread.h"
#include "hotplug/udev.h"
#include "port/host.h"

namespace holdfast {

/// Hears what happens to devices and tells the ports at once: devices that vanish, come or change, links that change.
/// It finds out what sub-devices are to be: runs commands, reads descriptors, looks at devices. It makes no call that
/// waits for a hot-plug or for a port that is busy, so a slow device of one port does not keep the events of another
/// one. (The host thread's work does.)
class EventLoop final : public Thread {
  public:
    EventLoop(Registry &registry, Host &host) noexcept
        : Thread("holdfast-event"), registry_(registry),
          sources_(host, *this, udev_, [this](const Device &device) { return in_use(device); }) {}
    ~EventLoop() override;
    /// Starts to hear of devices, in the network namespace of the calling thread, the first time. Before run().
    void listen();
    [[nodiscard]] Sources &sources() noexcept { return sources_; }

  private:
    void loop() override;
    Clock::time_point refresh_links();
    void hear_of_netdevs();
    void hear_of_devices();
    void look_at_all();
    void changed(const Device &device);
    bool in_use(const Device &device);

    Registry &registry_;
    bool listens_ = false;
    NetdevWatch netdevs_;
    Udev udev_;
    EalEvents eal_;
    Sources sources_;
};

} // namespace holdfast
