// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct rte_vdev_device;

namespace holdfast::mayfly {

/// What a port tells other processes beside what ethdev does; in shared memory.
struct SharedPart {
    std::uint32_t ports = 1; ///< of the device
};

/// The ethdev name of a device's port: the device's own, then with "_1", "_2" ...
[[nodiscard]] std::string port_name(std::string_view device, unsigned number);

/// The driver's two entry points, for the vdev bus.
int probe(rte_vdev_device *vdev) noexcept;
int remove(rte_vdev_device *vdev) noexcept;

/// Those of a secondary process, which owns nothing of a port: it may look at it, and its bursts move nothing.
int attach_secondary(rte_vdev_device &vdev) noexcept;
int detach_secondary(rte_vdev_device &vdev) noexcept;

/// Registers the telemetry commands; once, at load.
void register_telemetry() noexcept;

} // namespace holdfast::mayfly
