// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/binding.h"

#include "base/result.h"
#include "hotplug/netdev_use.h"
#include "hotplug/sys_files.h"

#include <rte_errno.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr std::string_view kVfio = "vfio-pci";
constexpr std::string_view kUio = "uio_pci_generic";
constexpr std::string_view kNetworkClass = "0x02"; // and four digits of the kind
constexpr std::size_t kLongestQuote = 40;

std::string device_folder(const std::string &address) {
    return "bus/pci/devices/" + address;
}

std::string device_file(const std::string &address, std::string_view name) {
    return device_folder(address) + "/" + std::string(name);
}

std::string driver_folder(const std::string &driver) {
    return "bus/pci/drivers/" + driver;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text.substr(0, kLongestQuote))
        out += c < ' ' || c > '~' ? '?' : c;
    return out + (text.size() > kLongestQuote ? "...\"" : "\"");
}

std::string with_cause(std::string what, int rc) {
    return std::move(what) + ": " + rte_strerror(-rc);
}

Status vanished(const std::string &address, std::string &reason) {
    reason = address + " has vanished";
    return {-ENODEV, "find a PCI device"};
}

} // namespace

bool is_pci_address(std::string_view text) noexcept {
    constexpr std::string_view kPattern = "xxxx:xx:dx.f"; // x: hexadecimal; 32 devices of 8 functions
    if (text.size() != kPattern.size())
        return false;
    const auto fits = [](char pattern, char c) {
        switch (pattern) {
        case 'x':
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        case 'd':
            return c == '0' || c == '1';
        case 'f':
            return c >= '0' && c <= '7';
        default:
            return c == pattern;
        }
    };
    return std::equal(kPattern.begin(), kPattern.end(), text.begin(), fits);
}

Binding::Binding(std::string sys_root)
    : Binding(std::make_unique<SysFolder>(std::move(sys_root)), std::make_unique<KernelNetdevUse>()) {}

Binding::Binding(std::unique_ptr<SysFiles> files, std::unique_ptr<NetdevUse> netdevs)
    : files_(std::move(files)), netdevs_(std::move(netdevs)) {}

Binding::~Binding() {
    (void)restore();
}

Status Binding::bind(std::string_view pci_address, std::string_view driver, bool force, std::string &reason) {
    reason.clear();
    if (!is_pci_address(pci_address)) {
        reason = quoted(pci_address) + " is not a PCI address such as 0000:01:00.0";
        return {-EINVAL, "read a PCI address"};
    }
    if (driver != kVfio && driver != kUio) {
        reason = quoted(driver) + " is neither " + std::string(kVfio) + " nor " + std::string(kUio);
        return {-EINVAL, "bind a device to a driver that is not for user space"};
    }
    const std::string address(pci_address);
    Held wanted{.address = address, .driver = std::string(driver)};
    if (held_ && held_->address == address && held_->driver == driver && still_bound(address, wanted.driver))
        return {};
    if (const Status s = restore(reason); !s.ok())
        return s;

    if (const int rc = driver_of(address, wanted.old_driver); rc != 0) {
        if (rc == -ENODEV)
            reason = "there is no PCI device " + address;
        else
            reason = with_cause("which driver " + address + " has cannot be read", rc);
        return {rc, "find a device's driver"};
    }
    if (wanted.old_driver == driver)
        return {};
    if (!files_->exists(driver_folder(wanted.driver))) {
        reason = "the driver " + wanted.driver + " is not loaded";
        return {-ENOENT, "find a driver in the kernel"};
    }
    if (!force)
        if (reason = objection(address); !reason.empty())
            return there(address) ? Status(-EBUSY, "take a device that the system uses") : vanished(address, reason);
    if (const int rc = override_of(address, wanted.old_override); rc != 0) {
        if (!there(address))
            return vanished(address, reason);
        reason = with_cause("the driver_override of " + address + " cannot be read", rc);
        return {rc, "read a device's driver_override"};
    }

    held_ = std::move(wanted);
    const Status taken = take(reason);
    if (taken.ok())
        return taken;
    std::string more;
    if (!give_back(more).ok())
        reason += "; and " + more;
    return taken;
}

/// The steps that change something. They leave it to the caller to undo them.
Status Binding::take(std::string &reason) {
    const std::string &address = held_->address, &driver = held_->driver, &old = held_->old_driver;
    const auto failed = [&](int rc, const char *what, std::string text) -> Status {
        if (!there(address))
            return vanished(address, reason);
        reason = std::move(text);
        return {rc, what};
    };
    if (const int rc = files_->write(device_file(address, "driver_override"), driver); rc != 0)
        return failed(rc, "set a device's driver_override",
                      with_cause("the driver_override of " + address + " cannot be set", rc));
    // The kernel's own probing may have been under way when the driver was looked up and the device was found to be
    // unused. It has the device's lock, as has the change of the override; so it is over now.
    std::string now;
    if (const int rc = driver_of(address, now); rc != 0)
        return failed(rc, "find a device's driver", with_cause("which driver " + address + " has cannot be read", rc));
    if (now != old) {
        std::string text = now.empty() ? address + " lost its driver " + old + " meanwhile"
                                       : address + " was given to " + now + " meanwhile";
        held_->old_driver = now; // this is then what undoing leads to
        return failed(-EAGAIN, "bind a device while its driver changes", std::move(text));
    }
    if (!now.empty())
        if (const int rc = unbind_from(now, address); rc != 0)
            return failed(rc, "unbind a device from its driver",
                          with_cause(address + " cannot be unbound from " + now, rc));
    if (const int rc = bind_to(driver, address); rc != 0)
        return failed(rc, "bind a device to its new driver", why_not_taken(driver, address, rc));
    return {};
}

bool Binding::still_bound(const std::string &address, const std::string &driver) {
    std::string by, now;
    return override_of(address, by) == 0 && by == driver && driver_of(address, now) == 0 && now == driver;
}

Status Binding::restore() {
    std::string reason;
    return restore(reason);
}

Status Binding::restore(std::string &reason) {
    reason.clear();
    return held_ ? give_back(reason) : Status();
}

Status Binding::give_back(std::string &reason) {
    const std::string &address = held_->address, &driver = held_->driver, &old = held_->old_driver;
    const auto done = [&]() -> Status {
        held_.reset();
        return {};
    };
    const auto failed = [&](int rc, const char *what, std::string text) -> Status {
        if (!there(address))
            return done();
        reason = std::move(text);
        return {rc, what};
    };
    if (held_->overridden) {
        std::string by;
        if (const int rc = override_of(address, by); rc != 0)
            return failed(rc, "read a device's driver_override",
                          with_cause("the driver_override of " + address + " cannot be read", rc));
        if (by != driver)
            return done(); // somebody else's, or another device
        if (by != held_->old_override) {
            const std::string &text = held_->old_override.empty() ? "\n" : held_->old_override;
            if (const int rc = files_->write(device_file(address, "driver_override"), text); rc != 0)
                return failed(rc, "clear a device's driver_override",
                              with_cause("the driver_override of " + address + " cannot be cleared", rc));
        }
        held_->overridden = false;
    }
    std::string now;
    if (const int rc = driver_of(address, now); rc != 0)
        return failed(rc, "find a device's driver", with_cause("which driver " + address + " has cannot be read", rc));
    if (now == driver && old != driver) {
        if (const int rc = unbind_from(driver, address); rc != 0)
            return failed(rc, "unbind a device from its driver",
                          with_cause(address + " cannot be unbound from " + driver, rc));
        now.clear();
    }
    if (now.empty() && !old.empty())
        if (const int rc = bind_to(old, address); rc != 0) {
            const bool loaded = files_->exists(driver_folder(old));
            std::string text = address + " cannot be given back to " + old;
            return failed(rc, "bind a device to its old driver",
                          loaded ? with_cause(std::move(text), rc)
                                 : std::move(text) + ", which is not loaded any more");
        }
    return done();
}

// ---- the parts

bool Binding::there(const std::string &address) {
    return files_->exists(device_folder(address));
}

/// "": it has none. -ENODEV: there is no such device.
int Binding::driver_of(const std::string &address, std::string &out) {
    std::string target;
    const int rc = files_->read_link(device_file(address, "driver"), target);
    if (rc == -ENOENT) {
        out.clear();
        return there(address) ? 0 : -ENODEV;
    }
    if (rc != 0)
        return rc;
    out = target.substr(target.rfind('/') + 1); // from its begin if there is none: npos + 1 is 0
    return out.empty() || out == "." || out == ".." ? -EBADMSG : 0;
}

int Binding::override_of(const std::string &address, std::string &out) {
    const int rc = files_->read(device_file(address, "driver_override"), out);
    if (rc == 0 && out == "(null)") // how the kernel prints that there is none
        out.clear();
    return rc;
}

/// What it looks like afterwards decides, not the answer: others may do the same at the same time.
int Binding::unbind_from(const std::string &driver, const std::string &address) {
    // This driver's own file: it refuses a device that has another driver by now, whereas the device's `driver/unbind`
    // would be whichever it has.
    const int rc = files_->write(driver_folder(driver) + "/unbind", address);
    std::string now;
    if (const int seen = driver_of(address, now); seen != 0)
        return seen;
    if (now != driver)
        return now.empty() ? 0 : -EAGAIN;
    return rc != 0 ? rc : -EIO;
}

/// The same. A driver's own file tells the error of its probe, drivers_probe does not.
int Binding::bind_to(const std::string &driver, const std::string &address) {
    const int rc = files_->write(driver_folder(driver) + "/bind", address);
    std::string now;
    if (const int seen = driver_of(address, now); seen != 0)
        return seen;
    if (now == driver)
        return 0;
    return rc != 0 ? rc : -EIO;
}

std::string Binding::why_not_taken(const std::string &driver, const std::string &address, int rc) {
    std::string text = driver + " did not take " + address;
    if (driver == kVfio && !files_->exists(device_file(address, "iommu_group"))) {
        std::string mode; // vfio is not even built with it, if it cannot be read
        (void)files_->read("module/vfio/parameters/enable_unsafe_noiommu_mode", mode);
        if (mode != "Y" && mode != "1")
            text +=
                ", for it is in no IOMMU group (is there an IOMMU, and is it on?) and vfio's mode without IOMMU is off";
    }
    return with_cause(std::move(text), rc);
}

/// What the system uses a device for; "" if for nothing.
std::string Binding::objection(const std::string &address) {
    // A match may say less than was meant: it must not take the disk away.
    std::string kind;
    if (const int rc = files_->read(device_file(address, "class"), kind); rc != 0)
        return with_cause("the class of " + address + " cannot be read", rc);
    if (!kind.starts_with(kNetworkClass))
        return address + " is not a network device (class " + kind + ")";

    std::string functions;
    const int counted = files_->read(device_file(address, "sriov_numvfs"), functions);
    if (counted != 0 && counted != -ENOENT)
        return with_cause("whether " + address + " has virtual functions cannot be found out", counted);
    if (counted == 0 && functions != "0")
        return address + " has virtual functions (" + functions + "), which would go with its driver";

    // Each interface, and what is stacked on it: the address may be that of a VLAN.
    std::vector<Netdev> netdevs;
    if (std::string text = find_netdevs(address, netdevs); !text.empty() || netdevs.empty())
        return text;
    NetdevUses uses;
    if (const int rc = netdevs_->look(uses); rc != 0)
        return with_cause("what " + netdevs.front().name + " carries cannot be found out", rc);
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < netdevs.size(); i++) {
        const Netdev step = netdevs[i];
        if (std::find(seen.begin(), seen.end(), step.name) != seen.end())
            continue;
        seen.push_back(step.name);
        if (const std::string text = objection_to(step, uses); !text.empty())
            return step.below.empty() ? text : step.below + " is below " + step.name + ": " + text;
        std::vector<std::string> entries;
        if (const int rc = files_->list(step.folder, entries); rc != 0)
            return with_cause("what is stacked on " + step.name + " cannot be found out", rc);
        constexpr std::string_view kUpper = "upper_";
        for (const std::string &entry : entries)
            if (entry.starts_with(kUpper)) {
                const std::string upper = entry.substr(kUpper.size());
                netdevs.push_back({.name = upper,
                                   .folder = "class/net/" + upper,
                                   .below = step.below.empty() ? step.name : step.below});
            }
    }
    return "";
}

/// The interfaces of a device. What it returns is why that is not known.
std::string Binding::find_netdevs(const std::string &address, std::vector<Netdev> &out) {
    const auto fault = [&](int rc) { return with_cause("the interfaces of " + address + " cannot be listed", rc); };
    std::vector<std::string> entries, names;
    if (const int rc = files_->list(device_folder(address), entries); rc != 0)
        return fault(rc);
    for (const std::string &entry : entries) {
        std::string target;
        const int link = files_->read_link(device_file(address, entry), target);
        if (link == 0 || link == -ENOENT)
            continue; // a link leads to another device
        if (link != -EINVAL)
            return fault(link);
        // A device in between has them with virtio and with subfunctions: virtio0/net/eth0.
        const std::string folder = device_file(address, entry == "net" ? entry : entry + "/net");
        const int rc = files_->list(folder, names);
        if (rc == -ENOENT || rc == -ENOTDIR)
            continue;
        if (rc != 0)
            return fault(rc);
        // The kernel removes this folder with the last interface in it, and shows only those of one namespace.
        if (names.empty())
            return "the interface of " + address +
                   " is in another network namespace, so what it carries cannot be seen";
        for (const std::string &name : names)
            out.push_back({.name = name, .folder = folder + "/" + name, .below = ""});
    }
    return "";
}

std::string Binding::objection_to(const Netdev &netdev, const NetdevUses &uses) {
    const std::string &name = netdev.name, &folder = netdev.folder;
    std::string text;
    if (const int rc = files_->read(folder + "/ifindex", text); rc != 0)
        return with_cause("what " + name + " carries cannot be found out", rc);
    unsigned index = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), index);
    // In a container, sysfs may well be the host's while the network is not.
    const auto known = uses.names.find(index);
    if (known == uses.names.end() || known->second != name)
        return name + " is not in this network namespace, so what it carries cannot be seen";
    if (uses.with_default_route.contains(index))
        return name + " carries the default route";
    if (uses.with_address.contains(index))
        return name + " carries an IP address";
    const int rc = files_->read_link(folder + "/master", text);
    if (rc == 0)
        return name + " belongs to " + text.substr(text.rfind('/') + 1);
    return rc == -ENOENT ? "" : with_cause("whether " + name + " belongs to another interface cannot be found out", rc);
}

} // namespace holdfast
