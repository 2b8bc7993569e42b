// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "base/ids.h"
#include "base/result.h"
#include "hotplug/netdev_watch.h"
#include "port/host.h"
#include "port/virtual_port.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace holdfast {

/// The one control thread of a process: it reconciles all Holdfast ports, brings absent sub-devices back and takes lost
/// ones down. Nothing of it runs in a thread of DPDK's. It starts with the first port and then stays, asleep when there
/// is nothing to do.
///
/// Lock order: the registry's mutex is held for look-ups and while a telemetry call works on a port, so it comes before
/// a port's mutex; it is not held while the thread reconciles.
class HostThread final : public Host {
  public:
    /// The process's. Never destroyed; stop() ends the thread.
    static HostThread &get() noexcept;

    HostThread() = default;
    virtual ~HostThread() = default;
    HostThread(const HostThread &) = delete;
    HostThread &operator=(const HostThread &) = delete;

    /// Starts the thread, if it does not run yet.
    Status run();
    /// Ends the thread: when the process exits. Bounded: a thread that is stuck in a driver is left behind.
    void stop() noexcept;

    void wake() noexcept override;

    /// From now on the thread drives this port.
    void add(VirtualPort &port);
    /// The thread will not come to this port again. Waits until it does not work on it either; with kBriefly only for a
    /// moment, for the caller may hold the bus's lock that the thread is waiting for.
    void remove(VirtualPort &port, abi::Wait wait);
    /// After remove(), when the caller needs the port no more. True: the thread still works on it, and deletes it when
    /// it is done. False: the caller deletes it.
    bool hand_over(VirtualPort &port);
    /// Closes ports and removes devices that a caller had no time for.
    void take(std::vector<Orphan> orphans);

    /// Calls f(VirtualPort &) for the port with that id, which cannot go meanwhile. False: not a Holdfast port.
    template <class F> bool with(PortId id, F f) {
        const std::lock_guard held(mutex_);
        for (VirtualPort *port : ports_)
            if (port->id() == id) {
                f(*port);
                return true;
            }
        return false;
    }
    template <class F> void each(F f) {
        const std::lock_guard held(mutex_);
        for (VirtualPort *port : ports_)
            f(*port);
    }

  private:
    static unsigned entry(void *self) noexcept;
    void loop();
    Clock::time_point visit_all();
    void remove_orphans();
    void wait_until(Clock::time_point when);

    std::mutex mutex_;
    std::condition_variable idle_; ///< `busy_` changed
    std::vector<VirtualPort *> ports_;
    std::vector<Orphan> orphans_;
    VirtualPort *busy_ = nullptr; ///< the one that the thread works on, without the mutex
    bool handed_over_ = false;    ///< its owner left: delete it when done
    bool running_ = false;
    bool stopping_ = false;
    pthread_t thread_{};
    int wake_fd_ = -1;
    NetdevWatch netdevs_;
};

} // namespace holdfast
