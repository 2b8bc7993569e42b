// SPDX-License-Identifier: BSD-3-Clause
#include "abi/shadow.h"

#include "abi/events.h"
#include "abi/log.h"
#include "base/ids.h"

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <mutex>
#include <thread>

#include <bus_pci_driver.h>

namespace holdfast::abi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// How long somebody else's removal waits for lcores and for control calls that are under way. He may hold the bus's
/// spinlock meanwhile, and a secondary process gives up after 5 s.
constexpr auto kShadowPatience = 2s;
constexpr auto kLong = 500ms;
constexpr auto kShadowLook = 100us;

thread_local const rte_device *t_own = nullptr;

/// Removals by others that this thread is in, innermost first.
struct Detaching {
    const rte_device *dev;
    Detaching *outer;
};
thread_local Detaching *t_detaching = nullptr;

/// Waits until the port is out of our hands.
bool wait_for(Grip &grip, PortId port, const rte_device &dev) noexcept {
    const auto begin = Clock::now();
    for (bool said = false;;) {
        if ((grip.taken() || grip.take(port)) && grip.ask_to_detach())
            return true;
        if (rte_eth_devices[port.raw()].device != &dev) {
            grip.let_go(); // we have closed it meanwhile
            return true;
        }
        const auto waited = Clock::now() - begin;
        if (waited > kShadowPatience) {
            HOLDFAST_LOG(ERR, "%s (port %u) is not detached: an lcore or a control call does not leave it",
                         rte_dev_name(&dev), unsigned{port.raw()});
            return false;
        }
        if (!said && waited > kLong) {
            said = true;
            HOLDFAST_LOG(WARNING, "%s (port %u) is to be detached, but an lcore or a control call is inside; waiting",
                         rte_dev_name(&dev), unsigned{port.raw()});
        }
        std::this_thread::sleep_for(kShadowLook);
    }
}

/// A removal: our ports first, then what the driver does.
template <class Remove> int take_off(rte_device &dev, Remove remove) noexcept {
    if (t_own == &dev)
        return remove();
    std::array<Grip, RTE_MAX_ETHPORTS> grips;
    int rc = 0;
    for (std::uint16_t p = 0; p < grips.size() && rc == 0; p++)
        if (rte_eth_devices[p].device == &dev && concerns_us(PortId{p}) && !wait_for(grips.at(p), PortId{p}, dev))
            rc = -EBUSY;
    if (rc == 0) {
        Detaching here{&dev, t_detaching};
        t_detaching = &here;
        rc = remove();
        t_detaching = here.outer;
    }
    for (Grip &grip : grips)
        if (grip.taken()) {
            if (rc == 0)
                grip.tell_detached();
            else
                grip.tell_detach_failed();
        }
    return rc;
}

template <class Driver> struct Shadow {
    Driver driver;
    Driver *original;
};

/// Does it still say what that driver says? (A driver's memory may have become another driver's.)
template <class Driver> bool same(const Driver &a, const Driver &b) noexcept {
    bool equal = a.driver.name == b.driver.name && a.driver.alias == b.driver.alias && a.probe == b.probe &&
                 a.dma_map == b.dma_map && a.dma_unmap == b.dma_unmap && a.drv_flags == b.drv_flags;
    if constexpr (requires { a.id_table; })
        equal = equal && a.id_table == b.id_table;
    return equal;
}

/// All shadows on one bus: one for each driver, not for each device. Whoever reads a device's driver may hold on to
/// what he read for a moment, so a shadow lives for ever.
template <class Driver> class Shadows {
  public:
    explicit Shadows(decltype(Driver::remove) remove) noexcept : remove_(remove) {}

    Shadow<Driver> &of(Driver &original) {
        const std::lock_guard held(mutex_);
        for (Shadow<Driver> &s : all_)
            if (s.original == &original && same(s.driver, original))
                return s;
        Shadow<Driver> &made = all_.emplace_front(Shadow<Driver>{original, &original});
        made.driver.remove = remove_;
        made.driver.next = {}; // it is in no list
        return made;
    }
    /// Null: that is no shadow. `driver` is only compared.
    Shadow<Driver> *find(const Driver *driver) noexcept {
        const std::lock_guard held(mutex_);
        for (Shadow<Driver> &s : all_)
            if (&s.driver == driver)
                return &s;
        return nullptr;
    }

  private:
    const decltype(Driver::remove) remove_;
    std::mutex mutex_;
    std::forward_list<Shadow<Driver>> all_;
};

// ---- the virtual bus

rte_vdev_device &vdev_of(rte_device &dev) noexcept {
    return *reinterpret_cast<rte_vdev_device *>(reinterpret_cast<std::byte *>(&dev) -
                                                offsetof(rte_vdev_device, device));
}

rte_vdev_driver *driver_of(const rte_vdev_device &vdev) noexcept {
    if (vdev.device.driver == nullptr)
        return nullptr;
    const auto *at = reinterpret_cast<const std::byte *>(vdev.device.driver) - offsetof(rte_vdev_driver, driver);
    return const_cast<rte_vdev_driver *>(reinterpret_cast<const rte_vdev_driver *>(at)); // as the bus found it
}

int remove_vdev(rte_vdev_device *vdev) noexcept;

Shadows<rte_vdev_driver> &vdev_shadows() noexcept {
    static auto *const shadows = new Shadows<rte_vdev_driver>(&remove_vdev);
    return *shadows;
}

int remove_vdev(rte_vdev_device *vdev) noexcept {
    const Shadow<rte_vdev_driver> &shadow = *vdev_shadows().find(driver_of(*vdev)); // else who has called us?
    return take_off(vdev->device, [&] {
        vdev->device.driver = &shadow.original->driver; // it may look for itself there
        const int rc = shadow.original->remove(vdev);
        if (rc != 0) // the device stays on the bus
            vdev->device.driver = &shadow.driver.driver;
        return rc;
    });
}

// ---- the PCI bus

static_assert(sizeof(rte_pci_driver) == 96 && offsetof(rte_pci_driver, drv_flags) == 88);
static_assert(offsetof(rte_pci_device, driver) == 16 + sizeof(rte_device) + 8 + 12 + 4 + 6 * 24 + 8);

rte_pci_device &pci_of(rte_device &dev) noexcept {
    return *reinterpret_cast<rte_pci_device *>(reinterpret_cast<std::byte *>(&dev) - offsetof(rte_pci_device, device));
}

int remove_pci(rte_pci_device *pci) noexcept;

Shadows<rte_pci_driver> &pci_shadows() noexcept {
    static auto *const shadows = new Shadows<rte_pci_driver>(&remove_pci);
    return *shadows;
}

int remove_pci(rte_pci_device *pci) noexcept {
    Shadow<rte_pci_driver> &shadow = *pci_shadows().find(pci->driver);
    return take_off(pci->device, [&] {
        pci->driver = shadow.original;
        const int rc = shadow.original->remove(pci);
        if (rc >= 0) // the bus takes that as done
            return 0;
        pci->driver = &shadow.driver;
        return rc;
    });
}

bool on_bus(const rte_device &dev, const char *name) noexcept {
    return dev.bus != nullptr && std::strcmp(rte_bus_name(dev.bus), name) == 0;
}

} // namespace

bool cast_shadow(rte_device &dev) noexcept {
    try {
        if (on_bus(dev, "vdev")) {
            rte_vdev_driver *driver = driver_of(vdev_of(dev));
            if (driver == nullptr || driver->remove == nullptr)
                return false;
            if (vdev_shadows().find(driver) == nullptr)
                dev.driver = &vdev_shadows().of(*driver).driver.driver;
            return true;
        }
        if (on_bus(dev, "pci")) {
            rte_pci_driver *&driver = pci_of(dev).driver;
            if (pci_shadows().find(driver) != nullptr)
                return true;
            // The bus writes this field and the one in `dev`, so this finds out whether ours is where it has its own.
            if (driver == nullptr || &driver->driver != dev.driver || driver->remove == nullptr)
                return false;
            driver = &pci_shadows().of(*driver).driver;
            return true;
        }
    } catch (...) { // out of memory
    }
    return false;
}

void lift_shadow(rte_device &dev) noexcept {
    if (on_bus(dev, "vdev")) {
        if (const auto *shadow = vdev_shadows().find(driver_of(vdev_of(dev))); shadow != nullptr)
            dev.driver = &shadow->original->driver;
    } else if (on_bus(dev, "pci")) {
        if (const auto *shadow = pci_shadows().find(pci_of(dev).driver); shadow != nullptr)
            pci_of(dev).driver = shadow->original;
    }
}

OwnRemoval::OwnRemoval(const rte_device &dev) noexcept : outer_(t_own) {
    t_own = &dev;
}

OwnRemoval::~OwnRemoval() {
    t_own = outer_;
}

bool detaching_here(const rte_device *dev) noexcept {
    for (const Detaching *d = t_detaching; d != nullptr; d = d->outer)
        if (d->dev == dev)
            return true;
    return false;
}

} // namespace holdfast::abi
