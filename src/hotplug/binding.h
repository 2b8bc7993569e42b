// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "hotplug/netdev_use.h"
#include "hotplug/sys_files.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// A PCI device's address as sysfs writes it: "0000:01:00.0", four hexadecimal digits (small ones) of a domain and so
/// on.
[[nodiscard]] bool is_pci_address(std::string_view text) noexcept;

/// One PCI device that was taken from its kernel driver and given to one for user space, until restore() or the end.
/// No other device is touched: the driver is chosen by this device's own driver_override, never by a new_id.
///
/// One thread, and one that may wait: a driver's probe and removal run inside these calls. While somebody has the
/// device open through vfio, unbinding waits for him; so the port over it has to be closed before restore(). Nothing
/// restores the driver when the process is killed.
class Binding {
  public:
    explicit Binding(std::string sys_root = "/sys");
    Binding(std::unique_ptr<SysFiles> files, std::unique_ptr<NetdevUse> netdevs);
    /// Restores.
    ~Binding();
    Binding(const Binding &) = delete;
    Binding &operator=(const Binding &) = delete;

    /// Binds a device to "vfio-pci" or "uio_pci_generic". A device that has that driver already stays as it is, also
    /// afterwards. Another device that this binding still has is restored first.
    ///
    /// Before anything is changed it is refused (-EBUSY), unless by `force`, if it is not a network device or is in
    /// use: one of its interfaces, or one above it such as a VLAN, carries an IP address (fe80::/10 does not count) or
    /// a default route, or belongs to a bridge or bond; or that cannot be told, for the interface is in another network
    /// namespace; or it has virtual functions. If a step fails, those before are undone.
    ///
    /// -EINVAL: no such address or driver; -ENODEV: the device is not there, or vanished meanwhile; -ENOENT: the driver
    /// is not loaded; -EAGAIN: the device got another driver meanwhile; others are the kernel's. `reason` is then a
    /// sentence that names the part: "eth3 carries the default route".
    Status bind(std::string_view pci_address, std::string_view driver, bool force, std::string &reason);

    /// Puts the device's driver_override back to what it was (nothing, as a rule) and the device back to the driver
    /// that it had, or to none. What somebody else has changed since stays: an override that is not ours any more, as
    /// on a device that has come anew at that address, and a driver that we did not give. A vanished device needs
    /// nothing. After an error the next call goes on where this one stopped; without, it does nothing.
    Status restore();
    Status restore(std::string &reason);

    /// Is there something to restore?
    [[nodiscard]] bool holds() const noexcept { return held_.has_value(); }

  private:
    struct Held {
        std::string address, driver;
        std::string old_driver;   ///< "": it had none
        std::string old_override; ///< "": there was none
        bool overridden = true;   ///< is the override still to be put back?
    };
    struct Netdev {
        std::string name, folder;
        std::string below; ///< the device's interface that it is stacked on; "": it is one itself
    };
    [[nodiscard]] std::string objection(const std::string &address);
    [[nodiscard]] std::string find_netdevs(const std::string &address, std::vector<Netdev> &out);
    [[nodiscard]] std::string objection_to(const Netdev &netdev, const NetdevUses &uses);
    [[nodiscard]] bool still_bound(const std::string &address, const std::string &driver);
    Status take(std::string &reason);
    Status give_back(std::string &reason);

    [[nodiscard]] bool there(const std::string &address);
    [[nodiscard]] int driver_of(const std::string &address, std::string &out);
    [[nodiscard]] int override_of(const std::string &address, std::string &out);
    [[nodiscard]] int unbind_from(const std::string &driver, const std::string &address);
    [[nodiscard]] int bind_to(const std::string &driver, const std::string &address);
    [[nodiscard]] std::string why_not_taken(const std::string &driver, const std::string &address, int rc);

    const std::unique_ptr<SysFiles> files_;
    const std::unique_ptr<NetdevUse> netdevs_;
    std::optional<Held> held_;
};

} // namespace holdfast
