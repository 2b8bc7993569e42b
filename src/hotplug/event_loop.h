// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/netdev_watch.h"
#include "hotplug/registry.h"
#include "hotplug/sources.h"
#include "hotplug/thread.h"
#include "port/host.h"

namespace holdfast {

/// Hears what happens to devices and tells the ports at once: interfaces that vanish, links that change. It runs the
/// commands that name sub-devices and reads such descriptors. It makes no
/// call that waits for a hot-plug or for a port that is busy, so a slow device of one port does not keep the events of
/// another one. (The host thread's work does.)
class EventLoop final : public Thread {
  public:
    EventLoop(Registry &registry, Host &host) noexcept
        : Thread("holdfast-event"), registry_(registry), sources_(host, *this) {}
    /// Starts to hear of interfaces, in the network namespace of the calling thread. Before run().
    void listen();
    [[nodiscard]] Sources &sources() noexcept { return sources_; }

  private:
    void loop() override;
    Clock::time_point refresh_links();

    Registry &registry_;
    NetdevWatch netdevs_;
    Sources sources_;
};

} // namespace holdfast
