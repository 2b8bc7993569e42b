// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "base/ids.h"
#include "base/result.h"
#include "hotplug/carrier_watch.h"
#include "hotplug/event_loop.h"
#include "hotplug/registry.h"
#include "hotplug/thread.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/host.h"
#include "port/virtual_port.h"

#include <memory>
#include <mutex>
#include <vector>

namespace holdfast {

/// The one thread of a process that works on devices: it reconciles all Holdfast ports, brings absent sub-devices back
/// and takes lost ones down. It may have to wait for a device for seconds; what must not wait is the event loop's.
/// Nothing of them runs in a thread of DPDK's. All start with the first port and then stay, asleep when there is
/// nothing to do.
class HostThread final : public Host, private Thread {
  public:
    /// The process's. Never destroyed; stop() ends the threads.
    static HostThread &get() noexcept;

    HostThread() noexcept
        : Thread("holdfast-host"), registry_(*this), events_(registry_, *this), carriers_(registry_) {}
    ~HostThread() override = default;

    /// Starts the threads, if they do not run yet.
    Status run();
    /// Ends the threads: when the process exits.
    void stop() noexcept;

    void wake() noexcept override;
    /// Only the event loop comes round to all ports, soon: in no case behind a device that is slow.
    void look() noexcept override { events_.wake(); }

    /// Makes what names the sub-devices of a port, one for each: nullptr for one that is always the same.
    Status make_sources(const Config &config, std::vector<std::unique_ptr<DeviceSource>> &out);
    /// From now on the threads drive this port.
    void add(VirtualPort &port);
    /// The threads will not come to this port again. See Registry::remove().
    void remove(VirtualPort &port, abi::Wait wait) { registry_.remove(port, wait); }
    /// See Registry::hand_over().
    bool hand_over(VirtualPort &port) { return registry_.hand_over(port); }
    /// Closes ports and removes devices that a caller had no time for.
    void take(std::vector<Orphan> orphans);

    /// Calls f(VirtualPort &) for the port with that id, which cannot go meanwhile. False: not a Holdfast port.
    template <class F> bool with(PortId id, F f) {
        const Registry::Pin port = registry_.pin(id);
        if (port)
            f(*port);
        return static_cast<bool>(port);
    }
    template <class F> void each(F f) {
        for (const PortId id : registry_.ids())
            (void)with(id, f);
    }

  private:
    void loop() override;
    Clock::time_point visit_all();
    void delete_gone();
    void remove_orphans();

    Registry registry_;
    EventLoop events_;
    CarrierWatch carriers_;
    std::mutex mutex_;
    std::vector<Orphan> orphans_;
};

} // namespace holdfast
