// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"

#include "abi/events.h"
#include "abi/log.h"
#include "abi/pci.h"
#include "abi/shadow.h"
#include "abi/vdev_bus.h"
#include "base/ids.h"
#include "base/result.h"

#include <ethdev_vdev.h>
#include <rte_bus.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <net/if.h>

namespace holdfast::abi {
namespace {

/// EAL sends a plug-in to secondary processes in a field of this size, and refuses what is longer, also without any.
constexpr std::size_t kSecondaryDevargs = 128;
constexpr std::chrono::milliseconds kBrief{100};
constexpr std::chrono::microseconds kLook{100};

/// rte_devargs with its memory.
class Devargs {
  public:
    explicit Devargs(const std::string &text) : rc_(rte_devargs_parse(&args_, text.c_str())) {}
    ~Devargs() {
        if (rc_ == 0)
            rte_devargs_reset(&args_);
    }
    Devargs(const Devargs &) = delete;
    Devargs &operator=(const Devargs &) = delete;
    [[nodiscard]] int rc() const noexcept { return rc_; }
    [[nodiscard]] const rte_devargs &get() const noexcept { return args_; }
    [[nodiscard]] bool on_bus(std::string_view bus) const noexcept {
        return rc_ == 0 && args_.bus != nullptr && bus == rte_bus_name(args_.bus);
    }

  private:
    rte_devargs args_{};
    int rc_;
};

/// The value of a key in the driver's arguments, or nothing.
std::string value_of(const rte_devargs &args, std::string_view key) {
    std::string_view rest = args.args != nullptr ? args.args : "";
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=')
            return std::string(pair.substr(key.size() + 1));
    }
    return {};
}

/// A device of which we can tell cheaply that it is not there: asking its driver would only make it log an error, each
/// time.
bool surely_absent(const Devargs &args) {
    const std::string_view name = args.get().name;
    if (args.on_bus("pci")) {
        const std::uint64_t pci = pci_number(name);
        return pci != 0 && pci_incarnation(pci) == 0;
    }
    if (args.on_bus("vdev") && (name.starts_with("net_af_packet") || name.starts_with("net_af_xdp"))) {
        const std::string iface = value_of(args.get(), "iface");
        return !iface.empty() && ::if_nametoindex(iface.c_str()) == 0;
    }
    return false;
}

rte_device *find_device(const rte_bus *bus, const char *name) {
    const std::string filter = std::string("bus=") + rte_bus_name(bus);
    rte_dev_iterator it{};
    rte_device *dev = nullptr;
    RTE_DEV_FOREACH(dev, filter.c_str(), &it) {
        if (std::strcmp(rte_dev_name(dev), name) == 0)
            break;
    }
    return dev;
}

/// The first port of a device, or its port of that name, whoever owns it.
PortId port_of(const rte_device *dev, const char *name = nullptr) noexcept {
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (rte_eth_dev_is_valid_port(p) != 0 && rte_eth_devices[p].device == dev &&
            (name == nullptr || std::strcmp(rte_eth_devices[p].data->name, name) == 0))
            return PortId{p};
    return {};
}

bool has_other_port(const rte_device *dev, PortId port) noexcept {
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (p != port.raw() && rte_eth_dev_is_valid_port(p) != 0 && rte_eth_devices[p].device == dev)
            return true;
    return false;
}

bool is_owned_by(PortId port, std::uint64_t id) noexcept {
    rte_eth_dev_owner owner{};
    return rte_eth_dev_owner_get(port.raw(), &owner) == 0 && owner.id == id;
}

bool on_vdev_bus(const rte_device &dev) noexcept {
    return std::strcmp(rte_bus_name(rte_dev_bus(&dev)), "vdev") == 0;
}

/// Runs f() while no device of that bus can go away. The PCI bus has no such lock.
template <class F> Status while_still(bool vdev, F f) {
    if (vdev)
        return under_vdev_lock(f);
    f();
    return {};
}

void protect(rte_device &dev, const char *owner_name) {
    if (!cast_shadow(dev))
        HOLDFAST_LOG(INFO,
                     "%s: %s must not be detached by others under traffic: its driver or its bus does not allow "
                     "for that",
                     owner_name, rte_dev_name(&dev));
}

/// Removes a device of ours from its bus.
int detach(rte_device *dev) {
    const OwnRemoval own(*dev);
    if (!on_vdev_bus(*dev))
        return rte_dev_remove(dev);
    const std::string name = rte_dev_name(dev); // goes with the device
    return rte_vdev_uninit(name.c_str());
}

/// What the first port of a device is called, while the device is on the bus: where that port was closed, the first one
/// that is left is somebody else's. By the device's name.
using FirstPorts = std::map<std::string, std::string>;

Probed take_over(rte_device *dev, PortId port, const rte_devargs &wanted, std::uint64_t owner_id,
                 const char *owner_name) {
    rte_eth_dev_owner owner{};
    if (rte_eth_dev_owner_get(port.raw(), &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER) {
        HOLDFAST_LOG(DEBUG, "%s: port %u (%s) is owned by %s", owner_name, unsigned{port.raw()}, rte_dev_name(dev),
                     owner.name);
        return {.status = {-EBUSY, "take a device that another port owns"}};
    }
    if (rte_eth_devices[port.raw()].data->dev_started != 0) // lcores of theirs may be inside
        return {.status = {-EBUSY, "take a device that somebody runs"}};
    if (!Grip::take_for_adoption(port))
        return {.status = {-EAGAIN, "take a device that somebody else removes now"}};
    owner.id = owner_id;
    std::snprintf(owner.name, sizeof(owner.name), "%s", owner_name);
    if (const int rc = rte_eth_dev_owner_set(port.raw(), &owner); rc != 0) {
        Grip().take(port); // and lets go
        return {.status = {rc, "own a port"}};
    }
    const auto text = [](const rte_devargs *args) {
        return args != nullptr && args->args != nullptr ? args->args : "";
    };
    const char *had = text(rte_dev_devargs(dev));
    if (std::strcmp(had, text(&wanted)) != 0)
        HOLDFAST_LOG(WARNING, "%s: %s was probed before with other arguments (\"%s\"); \"%s\" is not used", owner_name,
                     rte_dev_name(dev), had, text(&wanted));
    protect(*dev, owner_name);
    return {.used = true, .port = port};
}

/// What is on the bus under that name: taken over, or cleared away. Nothing: it is to be probed, with
/// `unprobed` if the bus knows it without a driver.
std::optional<Probed> use_present(const rte_devargs &args, std::uint64_t owner, const char *owner_name,
                                  FirstPorts &first_ports, bool &unprobed) {
    rte_device *dev = find_device(args.bus, args.name);
    unprobed = dev != nullptr && rte_dev_is_probed(dev) == 0;
    if (const PortId any = dev != nullptr && !unprobed ? port_of(dev) : PortId{}; any.valid()) {
        const auto first = first_ports.try_emplace(args.name, rte_eth_devices[any.raw()].data->name).first;
        const PortId wanted = port_of(dev, first->second.c_str());
        if (!wanted.valid())
            return Probed{.status = {-EBUSY, "use a device whose first port is gone while another one of it lives"}};
        if (!is_owned_by(wanted, owner) || concerns_us(wanted))
            return take_over(dev, wanted, args, owner, owner_name);
        if (has_other_port(dev, wanted)) // we had it, and could not close it
            return Probed{.status = {-EBUSY, "remove a device that did not close while another port of it lives"}};
    }
    first_ports.erase(args.name); // what comes is another device
    if (dev == nullptr || unprobed)
        return {};
    // Its last port is gone, or of no use, but it stayed on the bus: no driver probes it again before it is removed.
    if (const int rc = detach(dev); rc != 0)
        return Probed{.status = {rc, "remove a device that has no port left"}};
    return {};
}

/// The port of a device that was probed without our hearing of a complete one, or that somebody else owned faster.
Probed of_an_unannounced_port(rte_device *dev, const rte_devargs &args, std::uint64_t owner, const char *owner_name) {
    if (dev != nullptr) {
        if (const PortId port = port_of(dev); port.valid())
            return take_over(dev, port, args, owner, owner_name);
        (void)detach(dev);
    }
    return {.status = {-ENODEV, "find a port on a probed device"}};
}

/// An application that heard of a port before it was ours takes it for its own (testpmd counts it, sets it up, forwards
/// on it and closes it). For the application it is gone again. Nobody listens for us yet.
void hide(PortId port) {
    (void)rte_eth_dev_callback_process(&rte_eth_devices[port.raw()], RTE_ETH_EVENT_DESTROY, nullptr);
}

class RealBus final : public Bus {
  public:
    Probed probe(const std::string &devargs, std::uint64_t owner, const char *owner_name, Wait wait) override {
        const Devargs args(devargs);
        if (args.rc() != 0)
            return {.status = {args.rc(), "find a bus for a device"}};
        const bool vdev = args.on_bus("vdev");
        Attempt attempt;
        Status s = at_our_turn(vdev, wait, [&] { attempt = probe_now(devargs, args, owner, owner_name, vdev); });
        if (s.ok() && attempt.locked_out)
            s = at_our_turn(false, wait, [&] { attempt = probe_now(devargs, args, owner, owner_name, false); });
        if (!s.ok())
            return {.status = s};
        if (attempt.fresh)
            hide(attempt.made.port);
        return attempt.made;
    }

    Status remove(PortId port, std::uint64_t owner, const rte_vdev_device *keep, Wait wait) override {
        if (detaching_here(rte_eth_devices[port.raw()].device))
            return {}; // in a callback of the removal itself
        // A driver may take seconds to close a device that is gone. Who can wait leaves the turn to others meanwhile;
        // who cannot has it first, for it is all or nothing.
        std::unique_lock turn(turn_, std::defer_lock);
        Grip grip;
        if ((wait == Wait::kBriefly && !turn.try_lock_for(kBrief)) || !take(grip, port, wait))
            return {-EAGAIN, "wait for another hot-plug"};
        if (!is_owned_by(port, owner))
            return {}; // somebody else released it, and perhaps its id is already another device's
        rte_device *dev = rte_eth_devices[port.raw()].device;
        if (dev == nullptr)
            return check(rte_eth_dev_close(port.raw()), "close a sub-device");
        const bool vdev = on_vdev_bus(*dev);
        const rte_bus *bus = rte_dev_bus(dev);
        const rte_driver *driver = dev->driver;
        const std::string name = rte_dev_name(dev);
        const Status closed = check(rte_eth_dev_close(port.raw()), "close a sub-device");
        grip.let_go();
        // From here on others may remove the device too. Also when it could not be closed (one that refuses to stop) it
        // has to go: its driver has to let go of it at its removal.
        int rc = 0;
        const auto take_off = [&] {
            if (find_device(bus, name.c_str()) != dev || dev->driver != driver)
                return; // they did, and may have made another one of that name
            const bool used = closed.ok() ? port_of(dev).valid() : has_other_port(dev, port);
            if (used || (keep != nullptr && dev == &keep->device))
                lift_shadow(*dev);
            else
                rc = detach(dev);
        };
        const Status s = turn.owns_lock() ? while_still(vdev, take_off) : at_our_turn(vdev, wait, take_off);
        if (!closed.ok())
            return closed;
        return !s.ok() ? s : check(rc, "remove a device from its bus");
    }

  private:
    /// Runs f() when no other hot-plug of ours is under way, and with the bus standing still. The order of the two: who
    /// has time takes the bus's lock first, for a caller of our own probe or remove may have it while it wants the
    /// turn. Who has no time, because it may be such a caller, takes the turn first, and gets it.
    template <class F> Status at_our_turn(bool vdev, Wait wait, F f) {
        if (wait == Wait::kBriefly) {
            const std::unique_lock turn(turn_, kBrief);
            return turn.owns_lock() ? while_still(vdev, f) : Status{-EAGAIN, "wait for another hot-plug"};
        }
        if (!vdev) {
            const std::lock_guard turn(turn_);
            f();
            return {};
        }
        for (bool ran = false;;) {
            const Status s = under_vdev_lock([&] {
                const std::unique_lock turn(turn_, std::try_to_lock); // it may want the bus's lock, who has the turn
                ran = turn.owns_lock();
                if (ran)
                    f();
            });
            if (ran || !s.ok())
                return s;
            const std::lock_guard until_it_is_free(turn_);
        }
    }

    struct Attempt {
        Probed made{};
        bool fresh = false;      ///< it was probed now
        bool locked_out = false; ///< again, without the bus's lock
    };

    Attempt probe_now(const std::string &devargs, const Devargs &args, std::uint64_t owner, const char *owner_name,
                      bool bus_locked) {
        const auto failed = [](Status s) { return Attempt{.made = {.status = s}}; };
        const bool vdev = args.on_bus("vdev");
        std::optional<Probed> present;
        bool unprobed = false;
        const auto look = [&] { present = use_present(args.get(), owner, owner_name, first_ports_, unprobed); };
        if (Status s = while_still(vdev, look); !s.ok())
            return failed(s);
        if (present)
            return {.made = *present};
        if (surely_absent(args))
            return {.made = {.status = {-ENODEV, "find a device"}, .absent = true}};
        if (unprobed && bus_locked) // EAL's general way asks secondary processes, which ask for the bus's devices
            return {.locked_out = true};

        Adoption adoption(owner, owner_name);
        if (const int rc = attach(devargs, args, unprobed); rc != 0) {
            adoption.give_up();
            return failed({rc, "probe a device"});
        }
        const PortId port = adoption.port();
        Probed made{.port = port};
        const Status s = while_still(vdev, [&] { // where the bus was not locked others may have removed it already
            rte_device *dev = find_device(args.get().bus, args.get().name);
            if (!port.valid()) {
                made = of_an_unannounced_port(dev, args.get(), owner, owner_name);
            } else if (dev != nullptr && rte_eth_devices[port.raw()].device == dev && is_owned_by(port, owner)) {
                protect(*dev, owner_name);
                first_ports_.insert_or_assign(args.get().name, rte_eth_devices[port.raw()].data->name);
            } else {
                adoption.give_up();
                made = {.status = {-ENODEV, "keep a device that somebody else has removed"}};
            }
        });
        if (!s.ok() && !port.valid())
            return failed(s);
        if (!s.ok())
            HOLDFAST_LOG(WARNING, "%s: cannot %s, so %s is not protected from others", owner_name, s.what(),
                         args.get().name);
        return {.made = made, .fresh = made.status.ok()};
    }

    /// For a vdev the bus's own functions are used where they can be: unlike EAL's general ones they leave no device
    /// behind on the bus when a probe fails, and have no limit of length. What they do not do is to tell secondary
    /// processes.
    static int attach(const std::string &devargs, const Devargs &args, bool on_the_bus) {
        if (!on_the_bus && args.on_bus("vdev")) {
            const int rc = rte_vdev_init(args.get().name, args.get().args);
            return rc > 0 ? -ENODEV : rc;
        }
        return devargs.size() < kSecondaryDevargs ? rte_dev_probe(devargs.c_str()) : -E2BIG;
    }

    /// Waits until nobody else takes that port apart. He does not wait for us.
    static bool take(Grip &grip, PortId port, Wait wait) {
        const auto until = std::chrono::steady_clock::now() + kBrief;
        while (!grip.take(port)) {
            if (wait == Wait::kBriefly && std::chrono::steady_clock::now() >= until)
                return false;
            std::this_thread::sleep_for(kLook);
        }
        return true;
    }

    std::timed_mutex turn_;
    FirstPorts first_ports_; ///< with the turn
};

} // namespace

Bus &real_bus() noexcept {
    static RealBus *const bus = new RealBus; // never destroyed: the host thread may use it while the process exits
    return *bus;
}

} // namespace holdfast::abi
