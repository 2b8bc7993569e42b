// SPDX-License-Identifier: BSD-3-Clause
#include "abi/events.h"

#include "abi/link.h"
#include "base/ids.h"
#include "base/result.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

namespace holdfast::abi {
namespace {

struct Entry {
    std::atomic<PortListener *> listener{nullptr};
    std::atomic<std::uint32_t> inside{0}; ///< callbacks under way
    /// Who may take the port apart: a Grip, or the thread that makes it ours (its t_adopter), or nobody.
    std::atomic<const void *> grip{nullptr};
};

std::array<Entry, RTE_MAX_ETHPORTS> g_ports;

/// Set while this thread probes a sub-device: NEW is raised by the probing thread itself.
thread_local Adoption *t_adoption = nullptr;
/// Its address stands for this thread.
thread_local const char t_adopter = 0;

int on_event(std::uint16_t port, rte_eth_event_type event, void *, void *) noexcept {
    if (port >= g_ports.size())
        return 0;
    Entry &entry = g_ports[port];
    if (event == RTE_ETH_EVENT_NEW) {
        // Whoever still has the port that had this id before. pairs: grip (Grip::take).
        entry.grip.store(nullptr, std::memory_order_seq_cst);
        if (t_adoption != nullptr)
            t_adoption->on_new(port);
        return 0;
    }
    // pairs: listener-dekker (unlisten). Either we see the listener gone, or unlisten() sees us inside.
    entry.inside.fetch_add(1, std::memory_order_seq_cst);
    if (PortListener *listener = entry.listener.load(std::memory_order_seq_cst); listener != nullptr) {
        switch (event) {
        case RTE_ETH_EVENT_INTR_RMV:
            listener->on_removal();
            break;
        case RTE_ETH_EVENT_DESTROY:
            listener->on_destroy();
            // The id may be another device's at once, so what comes next under it is not for this listener. Unless
            // somebody has registered another one meanwhile. pairs: listener-dekker (unlisten).
            entry.listener.compare_exchange_strong(listener, nullptr, std::memory_order_seq_cst);
            break;
        case RTE_ETH_EVENT_INTR_LSC:
            listener->on_link_change(load_link(rte_eth_devices[port]).link_status == RTE_ETH_LINK_UP);
            break;
        case RTE_ETH_EVENT_ERR_RECOVERING:
            listener->on_recovering();
            break;
        case RTE_ETH_EVENT_RECOVERY_SUCCESS:
            listener->on_recovered();
            break;
        case RTE_ETH_EVENT_RECOVERY_FAILED:
            listener->on_recovery_failed();
            break;
        case RTE_ETH_EVENT_INTR_RESET:
            listener->on_reset_wanted();
            break;
        default:
            break;
        }
    }
    // pairs: listener-leave (unlisten).
    entry.inside.fetch_sub(1, std::memory_order_release);
    return 0;
}

} // namespace

Status register_events() noexcept {
    static std::mutex mutex;
    static bool done = false;
    const std::lock_guard held(mutex);
    if (done)
        return {};
    for (const rte_eth_event_type event :
         {RTE_ETH_EVENT_NEW, RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_DESTROY, RTE_ETH_EVENT_INTR_LSC,
          RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS, RTE_ETH_EVENT_RECOVERY_FAILED,
          RTE_ETH_EVENT_INTR_RESET})
        if (const int rc = rte_eth_dev_callback_register(RTE_ETH_ALL, event, on_event, nullptr); rc != 0)
            return {rc, "register for the events of ports"};
    done = true;
    return {};
}

void listen(PortId port, PortListener &listener) noexcept {
    Entry &entry = g_ports.at(port.raw());
    // pairs: listener-dekker (on_event).
    entry.listener.store(&listener, std::memory_order_seq_cst);
    const void *mine = &t_adopter;
    // pairs: grip (Grip::take).
    entry.grip.compare_exchange_strong(mine, nullptr, std::memory_order_seq_cst);
}

void unlisten(PortId port, PortListener &listener) noexcept {
    Entry &entry = g_ports.at(port.raw());
    PortListener *mine = &listener;
    // pairs: listener-dekker (on_event). pairs: listener-leave (on_event).
    entry.listener.compare_exchange_strong(mine, nullptr, std::memory_order_seq_cst);
    while (entry.inside.load(std::memory_order_seq_cst) != 0)
        std::this_thread::yield();
}

bool concerns_us(PortId port) noexcept {
    const Entry &entry = g_ports.at(port.raw());
    // pairs: listener-dekker (listen). pairs: grip (Grip::take).
    return entry.listener.load(std::memory_order_seq_cst) != nullptr ||
           entry.grip.load(std::memory_order_seq_cst) != nullptr;
}

bool Grip::take(PortId port) noexcept {
    std::atomic<const void *> &grip = g_ports.at(port.raw()).grip;
    for (const void *from : {static_cast<const void *>(nullptr), static_cast<const void *>(&t_adopter)})
        // pairs: grip (Grip::let_go): what the one before did with the port is done.
        if (grip.compare_exchange_strong(from, this, std::memory_order_seq_cst)) {
            port_ = port;
            return true;
        }
    return false;
}

bool Grip::take_for_adoption(PortId port) noexcept {
    const void *nobody = nullptr;
    // pairs: grip (Grip::let_go).
    return g_ports.at(port.raw()).grip.compare_exchange_strong(nobody, &t_adopter, std::memory_order_seq_cst);
}

void Grip::let_go() noexcept {
    if (!port_.valid())
        return;
    const void *mine = this;
    // Not if the id is another port's by now. pairs: grip (Grip::take).
    g_ports.at(port_.raw()).grip.compare_exchange_strong(mine, nullptr, std::memory_order_seq_cst);
    port_ = {};
}

template <class F> void Grip::with_listener(F f) noexcept {
    Entry &entry = g_ports.at(port_.raw());
    // pairs: listener-dekker (unlisten).
    entry.inside.fetch_add(1, std::memory_order_seq_cst);
    PortListener *listener = entry.listener.load(std::memory_order_seq_cst);
    // In this order: the next port with this id takes the grip away (on_event) before it has a listener (listen).
    // pairs: grip (on_event).
    if (listener != nullptr && entry.grip.load(std::memory_order_seq_cst) == this)
        f(*listener, entry);
    // pairs: listener-leave (unlisten).
    entry.inside.fetch_sub(1, std::memory_order_release);
}

bool Grip::ask_to_detach() noexcept {
    bool may = true;
    with_listener([&](PortListener &listener, Entry &) { may = listener.on_detach(); });
    return may;
}

void Grip::tell_detached() noexcept {
    with_listener([](PortListener &listener, Entry &entry) {
        listener.on_destroy();
        PortListener *told = &listener;
        // pairs: listener-dekker (unlisten).
        entry.listener.compare_exchange_strong(told, nullptr, std::memory_order_seq_cst);
    });
}

void Grip::tell_detach_failed() noexcept {
    with_listener([](PortListener &listener, Entry &) { listener.on_detach_failed(); });
}

Adoption::Adoption(std::uint64_t owner, const char *owner_name) noexcept
    : owner_(owner), owner_name_(owner_name), outer_(t_adoption) {
    t_adoption = this;
}

Adoption::~Adoption() {
    t_adoption = outer_;
}

void Adoption::give_up() noexcept {
    if (!port_.valid())
        return;
    const void *mine = &t_adopter;
    // pairs: grip (Grip::take).
    g_ports.at(port_.raw()).grip.compare_exchange_strong(mine, nullptr, std::memory_order_seq_cst);
    port_ = {};
}

void Adoption::on_new(std::uint16_t port) noexcept {
    if (port_.valid() || port >= RTE_MAX_ETHPORTS || rte_eth_devices[port].device == nullptr)
        return; // a driver that announces a port before it is complete, or a further port of the device
    rte_eth_dev_owner owner{};
    owner.id = owner_;
    std::snprintf(owner.name, sizeof(owner.name), "%s", owner_name_);
    if (rte_eth_dev_owner_set(port, &owner) == 0 && Grip::take_for_adoption(PortId{port}))
        port_ = PortId{port};
}

} // namespace holdfast::abi
