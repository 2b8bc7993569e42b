// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct rte_vdev_device;

namespace holdfast::mayfly {

/// The driver's two entry points, for the vdev bus.
int probe(rte_vdev_device *vdev) noexcept;
int remove(rte_vdev_device *vdev) noexcept;

/// Those of a secondary process, which owns nothing of a port: it may look at it, and its bursts move nothing.
int attach_secondary(rte_vdev_device &vdev) noexcept;
int detach_secondary(rte_vdev_device &vdev) noexcept;

/// Registers the telemetry commands; once, at load.
void register_telemetry() noexcept;

} // namespace holdfast::mayfly
