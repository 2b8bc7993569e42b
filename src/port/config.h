// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// What the devargs of one virtual port ask for. Belongs to that port alone; nothing of it is process-wide.
struct Config {
    std::vector<std::string> devices;               ///< devargs of each sub-device, the preferred one first
    std::optional<std::array<std::uint8_t, 6>> mac; ///< the port's MAC; else that of its first sub-device
    std::chrono::milliseconds hotplug_poll{2000};   ///< how often absent sub-devices are looked for
};

} // namespace holdfast
