// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/policy.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast {

/// dev(DEVARGS): always this device.
struct FixedDevice {
    std::string devargs;
    bool operator==(const FixedDevice &) const = default;
};

/// exec(COMMAND): the device that this shell command prints.
struct CommandSource {
    std::string command;
    bool operator==(const CommandSource &) const = default;
};

/// fd(NUMBER): the device that the last line from this descriptor names.
struct DescriptorSource {
    int fd = -1;
    bool forced = false; ///< one of the process's standard streams, and meant so
    std::size_t at = 0;  ///< where the number stands in the devargs, from 1: whether it is open shows only at the probe
    bool operator==(const DescriptorSource &other) const { return fd == other.fd && forced == other.forced; }
};

/// One thing that a device has to be. `pattern` is a glob as of the shell, with a backslash before what is meant as it
/// is.
struct Match {
    enum class What : std::uint8_t {
        kKernel,    ///< its kernel name: "eth0", "0000:01:00.0"
        kSubsystem, ///< "net", "pci"
        kProperty,  ///< the udev property `key`
        kAttribute, ///< the sysfs attribute `key`, with the path from the device's folder on
        kPortMac,   ///< it has the MAC address of the virtual port; no pattern
    };
    What what = What::kKernel;
    std::string key;
    std::string pattern;
    bool operator==(const Match &) const = default;
};

/// udev(MATCH;...): the first device that has all of this.
struct UdevSource {
    std::vector<Match> matches;
    std::string devargs;     ///< with %k, %p, %n, %{attribute}, %{PROPERTY}, %%; empty: by the kind of device
    std::string driver;      ///< bind=: the kernel driver to bind it to first; empty: it is left alone
    bool force_bind = false; ///< also if the host uses the device
    bool operator==(const UdevSource &) const = default;
};

/// Where a sub-device's devargs come from.
using Source = std::variant<FixedDevice, CommandSource, DescriptorSource, UdevSource>;

/// What the devargs of one virtual port ask for. Belongs to that port alone; nothing of it is process-wide.
struct Config {
    std::vector<Source> devices;                    ///< one for each sub-device, the preferred one first
    std::optional<std::array<std::uint8_t, 6>> mac; ///< the port's MAC; else that of its first sub-device
    std::chrono::milliseconds hotplug_poll{2000};   ///< how often absent sub-devices are looked for
    std::chrono::milliseconds exec_timeout{10000};  ///< how long a command may run
    Policy policy;                                  ///< how sub-devices are chosen and used
    bool operator==(const Config &) const = default;
};

} // namespace holdfast
