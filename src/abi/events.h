// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "base/result.h"

#include <cstdint>

namespace holdfast::abi {

/// Who wants to know what happens to a port of ours. Called from whatever thread raises the event (EAL's interrupt
/// thread, an application thread inside a control call, the thread that releases the port), possibly with locks of DPDK
/// held: no lock, no ethdev call, no waiting.
class PortListener {
  public:
    /// The device has gone or is about to go (RTE_ETH_EVENT_INTR_RMV).
    virtual void on_removal() noexcept = 0;
    /// Somebody else releases the port (RTE_ETH_EVENT_DESTROY): its id may be another device's at once.
    virtual void on_destroy() noexcept = 0;
    /// Its link changed (RTE_ETH_EVENT_INTR_LSC).
    virtual void on_link_change() noexcept = 0;
    /// It has an error and recovers by itself (RTE_ETH_EVENT_ERR_RECOVERING); may come again before it is over.
    virtual void on_recovering() noexcept = 0;
    /// That ended well (RTE_ETH_EVENT_RECOVERY_SUCCESS), or the port is of no use any more (..._FAILED).
    virtual void on_recovered() noexcept = 0;
    virtual void on_recovery_failed() noexcept = 0;
    /// It works no more until it is reset (RTE_ETH_EVENT_INTR_RESET).
    virtual void on_reset_wanted() noexcept = 0;

  protected:
    ~PortListener() = default;
};

/// Registers our callbacks for all ports, present and future: once per process, and they stay. A table says whose port
/// an id is. Callbacks of others that were registered before ours see NEW of a sub-device before it is owned.
Status register_events() noexcept;

/// From now on `listener` hears of this port. It must live until unlisten() has returned.
void listen(PortId port, PortListener &listener) noexcept;

/// Forgets a port; waits (a few instructions) for a call that is under way in another thread.
void unlisten(PortId port) noexcept;

/// While it lives, ports that this thread creates become ours before anybody sees them.
class Adoption {
  public:
    Adoption(std::uint64_t owner, const char *owner_name) noexcept;
    ~Adoption();
    Adoption(const Adoption &) = delete;
    Adoption &operator=(const Adoption &) = delete;

    /// The first port that was created and could be owned, if any. Further ports of the device are not taken.
    [[nodiscard]] PortId port() const noexcept { return port_; }

    /// Called for each RTE_ETH_EVENT_NEW that this thread raises.
    void on_new(std::uint16_t port) noexcept;

  private:
    std::uint64_t owner_;
    const char *owner_name_;
    PortId port_;
    Adoption *outer_;
};

} // namespace holdfast::abi
