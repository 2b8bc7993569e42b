// SPDX-License-Identifier: BSD-3-Clause
#include "abi/bus.h"

#include "abi/events.h"
#include "abi/log.h"
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
#include <mutex>
#include <string>
#include <string_view>

#include <net/if.h>
#include <unistd.h>

namespace holdfast::abi {
namespace {

/// EAL sends a plug-in to secondary processes in a field of this size, and refuses what is longer, also without any.
constexpr std::size_t kSecondaryDevargs = 128;
constexpr std::chrono::milliseconds kBrief{100};

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
        const std::string path = "/sys/bus/pci/devices/" + std::string(name);
        return name.size() == sizeof("0000:00:00.0") - 1 && ::access(path.c_str(), F_OK) != 0;
    }
    if (args.on_bus("vdev") && (name.starts_with("net_af_packet") || name.starts_with("net_af_xdp"))) {
        const std::string iface = value_of(args.get(), "iface");
        return !iface.empty() && ::if_nametoindex(iface.c_str()) == 0;
    }
    return false;
}

rte_device *find_device(const rte_devargs &args) {
    const std::string filter = std::string("bus=") + rte_bus_name(args.bus);
    rte_dev_iterator it{};
    rte_device *dev = nullptr;
    RTE_DEV_FOREACH(dev, filter.c_str(), &it) {
        if (std::strcmp(rte_dev_name(dev), args.name) == 0)
            break;
    }
    return dev;
}

/// The first port of a device, whoever owns it.
PortId port_of(const rte_device *dev) noexcept {
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (rte_eth_dev_is_valid_port(p) != 0 && rte_eth_devices[p].device == dev)
            return PortId{p};
    return {};
}

bool has_other_port(const rte_device *dev, PortId port) noexcept {
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (p != port.raw() && rte_eth_dev_is_valid_port(p) != 0 && rte_eth_devices[p].device == dev)
            return true;
    return false;
}

Probed take_over(const rte_device *dev, PortId port, const rte_devargs &wanted, std::uint64_t owner_id,
                 const char *owner_name) {
    rte_eth_dev_owner owner{};
    if (rte_eth_dev_owner_get(port.raw(), &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER) {
        HOLDFAST_LOG(DEBUG, "%s: port %u (%s) is owned by %s", owner_name, unsigned{port.raw()}, rte_dev_name(dev),
                     owner.name);
        return {.status = {-EBUSY, "take a device that another port owns"}};
    }
    if (rte_eth_devices[port.raw()].data->dev_started != 0) // lcores of theirs may be inside
        return {.status = {-EBUSY, "take a device that somebody runs"}};
    owner.id = owner_id;
    std::snprintf(owner.name, sizeof(owner.name), "%s", owner_name);
    if (const int rc = rte_eth_dev_owner_set(port.raw(), &owner); rc != 0)
        return {.status = {rc, "own a port"}};
    const auto text = [](const rte_devargs *args) {
        return args != nullptr && args->args != nullptr ? args->args : "";
    };
    const char *had = text(rte_dev_devargs(dev));
    if (std::strcmp(had, text(&wanted)) != 0)
        HOLDFAST_LOG(WARNING, "%s: %s was probed before with other arguments (\"%s\"); \"%s\" is not used", owner_name,
                     rte_dev_name(dev), had, text(&wanted));
    return {.used = true, .port = port};
}

class RealBus final : public Bus {
  public:
    Probed probe(const std::string &devargs, std::uint64_t owner, const char *owner_name, Wait wait) override {
        const Devargs args(devargs);
        if (args.rc() != 0)
            return {.status = {args.rc(), "find a bus for a device"}};
        const Turn turn(*this, wait);
        if (!turn.ours())
            return {.status = {-EAGAIN, "wait for another hot-plug"}};

        rte_device *dev = find_device(args.get());
        if (dev != nullptr && rte_dev_is_probed(dev) != 0) {
            if (const PortId port = port_of(dev); port.valid())
                return take_over(dev, port, args.get(), owner, owner_name);
            // Its port was closed, but it stayed on the bus: no driver probes it again before it is removed.
            if (const int rc = detach(dev); rc != 0)
                return {.status = {rc, "remove a device that has no port left"}};
            dev = nullptr;
        }
        if (surely_absent(args))
            return {.status = {-ENODEV, "find a device"}, .absent = true};

        const Adoption adoption(owner, owner_name);
        const int rc = attach(devargs, args, dev != nullptr);
        if (rc != 0)
            return {.status = {rc, "probe a device"}};
        if (!adoption.port().valid())
            return {.status = {-ENODEV, "find a port on a probed device"}};
        return {.port = adoption.port()};
    }

    Status remove(PortId port, std::uint64_t owner_id, const rte_vdev_device *keep, Wait wait) override {
        const Turn turn(*this, wait);
        if (!turn.ours())
            return {-EAGAIN, "wait for another hot-plug"};
        rte_eth_dev_owner owner{};
        if (rte_eth_dev_owner_get(port.raw(), &owner) != 0 || owner.id != owner_id)
            return {}; // somebody else released it, and perhaps its id is already another device's
        rte_device *dev = rte_eth_devices[port.raw()].device;
        Status status = check(rte_eth_dev_close(port.raw()), "close a sub-device");
        // Also when it could not be closed (one that refuses to stop): its driver has to let go of it at its removal.
        if (dev == nullptr || has_other_port(dev, port) || (keep != nullptr && dev == &keep->device))
            return status;
        if (const int rc = detach(dev); rc != 0 && status.ok())
            status = {rc, "remove a device from its bus"};
        return status;
    }

  private:
    /// Our turn to hot-plug, for one scope.
    class Turn {
      public:
        Turn(RealBus &bus, Wait wait) : bus_(bus) {
            if (wait == Wait::kBriefly) {
                ours_ = bus_.turn_.try_lock_for(kBrief);
            } else {
                bus_.turn_.lock();
                ours_ = true;
            }
        }
        ~Turn() {
            if (ours_)
                bus_.turn_.unlock();
        }
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;
        [[nodiscard]] bool ours() const noexcept { return ours_; }

      private:
        RealBus &bus_;
        bool ours_ = false;
    };

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

    static int detach(rte_device *dev) {
        if (std::strcmp(rte_bus_name(rte_dev_bus(dev)), "vdev") != 0)
            return rte_dev_remove(dev);
        const std::string name = rte_dev_name(dev); // goes with the device
        return rte_vdev_uninit(name.c_str());
    }

    std::timed_mutex turn_;
};

} // namespace

Bus &real_bus() noexcept {
    static RealBus *const bus = new RealBus; // never destroyed: the host thread may use it while the process exits
    return *bus;
}

} // namespace holdfast::abi
