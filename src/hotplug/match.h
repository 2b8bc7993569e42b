// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/answer.h"
#include "port/config.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

using MacAddress = std::array<std::uint8_t, 6>;

/// What sysfs and udev know of one device. A view may go out of date at any time: what it does not find is empty.
class Device {
  public:
    Device() = default;
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    virtual ~Device() = default;

    /// The device's folder, without what may change about it: "/devices/pci0000:00/0000:00:05.0/net/eth0".
    [[nodiscard]] virtual std::string path() const = 0;
    [[nodiscard]] virtual std::string kernel_name() const = 0;
    [[nodiscard]] virtual std::string subsystem() const = 0;
    [[nodiscard]] virtual std::optional<std::string> property(const std::string &key) const = 0;
    [[nodiscard]] virtual std::optional<std::string> attribute(const std::string &key) const = 0;
    /// Its address, or that of the PCI device that it belongs to; empty: it belongs to none.
    [[nodiscard]] virtual std::string pci_address() const = 0;
    /// The kernel driver that this PCI device is bound to; empty: to none.
    [[nodiscard]] virtual std::string pci_driver() const = 0;
};

/// As in devargs: "subsystem=net;mac=port".
[[nodiscard]] std::string to_text(const std::vector<Match> &wanted);

/// Is the device all that is wanted?
[[nodiscard]] bool matches(const Device &device, const std::vector<Match> &wanted,
                           const std::optional<MacAddress> &port_mac);

/// What became of a look at all devices.
struct Choice {
    Answer answer;
    std::string path;    ///< of the device that was chosen
    std::string pci;     ///< its PCI address, or empty
    unsigned others = 0; ///< that would have done as well
};

/// The first of the devices, by path, that matches and can be a sub-device; else the reason why there is none.
/// `in_use`: is it a sub-device already?
[[nodiscard]] Choice choose(const std::vector<std::unique_ptr<Device>> &devices, const UdevSource &source,
                            const std::optional<MacAddress> &port_mac,
                            const std::function<bool(const Device &)> &in_use);

} // namespace holdfast
