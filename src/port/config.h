// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// Where a sub-device's devargs come from.
using Source = std::variant<FixedDevice, CommandSource, DescriptorSource>;

/// What the devargs of one virtual port ask for. Belongs to that port alone; nothing of it is process-wide.
struct Config {
    std::vector<Source> devices;                    ///< one for each sub-device, the preferred one first
    std::optional<std::array<std::uint8_t, 6>> mac; ///< the port's MAC; else that of its first sub-device
    std::chrono::milliseconds hotplug_poll{2000};   ///< how often absent sub-devices are looked for
    std::chrono::milliseconds exec_timeout{10000};  ///< how long a command may run
    bool operator==(const Config &) const = default;
};

} // namespace holdfast
