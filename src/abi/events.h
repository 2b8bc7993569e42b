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
    /// Its driver says that its link changed (RTE_ETH_EVENT_INTR_LSC), and this is what it is now.
    virtual void on_link_change(bool up) noexcept = 0;
    /// It has an error and recovers by itself (RTE_ETH_EVENT_ERR_RECOVERING); may come again before it is over.
    virtual void on_recovering() noexcept = 0;
    /// That ended well (RTE_ETH_EVENT_RECOVERY_SUCCESS), or the port is of no use any more (..._FAILED).
    virtual void on_recovered() noexcept = 0;
    virtual void on_recovery_failed() noexcept = 0;
    /// It works no more until it is reset (RTE_ETH_EVENT_INTR_RESET).
    virtual void on_reset_wanted() noexcept = 0;
    /// Somebody else takes its device off the bus. Asked again and again, on his thread and with the bus's lock held,
    /// until the answer is true: nobody of ours is inside, and no call is made on the port any more. From the first
    /// time on it gets no traffic.
    virtual bool on_detach() noexcept = 0;
    /// That did not happen: he gave up, or the device's driver refused. The port is ours as before.
    virtual void on_detach_failed() noexcept = 0;

  protected:
    ~PortListener() = default;
};

/// Registers our callbacks for all ports, present and future: once per process, and they stay. A table says whose port
/// an id is. Callbacks of others that were registered before ours see NEW of a sub-device before it is owned.
Status register_events() noexcept;

/// From now on `listener` hears of this port, and others may take its device off the bus. It must live until unlisten()
/// has returned.
void listen(PortId port, PortListener &listener) noexcept;

/// The listener hears no more; waits (one short call) for one that is under way in another thread. If the port's id is
/// somebody else's meanwhile, he keeps it.
void unlisten(PortId port, PortListener &listener) noexcept;

/// The right to take a port apart: one thread at a time. It ends with the port, and says nothing about the next port
/// with the same id.
class Grip {
  public:
    Grip() = default;
    ~Grip() { let_go(); }
    Grip(const Grip &) = delete;
    Grip &operator=(const Grip &) = delete;

    /// One attempt. False: another thread has it, or the one that probed the port has not called listen() yet.
    bool take(PortId port) noexcept;
    /// For the thread that probed the port, until its listen(). False: another thread takes it apart.
    static bool take_for_adoption(PortId port) noexcept;
    void let_go() noexcept;
    [[nodiscard]] bool taken() const noexcept { return port_.valid(); }

    /// Asks the port's listener; true also if there is none. See PortListener::on_detach().
    bool ask_to_detach() noexcept;
    /// Tells it how that ended. A port that was not released though its device went counts as released.
    void tell_detached() noexcept;
    void tell_detach_failed() noexcept;

  private:
    template <class F> void with_listener(F f) noexcept;

    PortId port_{};
};

/// Has it a listener, or is it in anybody's grip?
[[nodiscard]] bool concerns_us(PortId port) noexcept;

/// While it lives, ports that this thread creates become ours before anybody sees them.
class Adoption {
  public:
    Adoption(std::uint64_t owner, const char *owner_name) noexcept;
    ~Adoption();
    Adoption(const Adoption &) = delete;
    Adoption &operator=(const Adoption &) = delete;

    /// The first port that was created and could be owned, if any. Further ports of the device are not taken.
    [[nodiscard]] PortId port() const noexcept { return port_; }

    /// The probe failed after all: nothing was adopted.
    void give_up() noexcept;

    /// Called for each RTE_ETH_EVENT_NEW that this thread raises.
    void on_new(std::uint16_t port) noexcept;

  private:
    std::uint64_t owner_;
    const char *owner_name_;
    PortId port_;
    Adoption *outer_;
};

} // namespace holdfast::abi
