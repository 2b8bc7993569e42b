// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <ethdev_vdev.h>

namespace holdfast {

/// In the primary: lets secondary processes ask for fresh numbers. Once per process.
void serve_secondaries() noexcept;

/// In a secondary: its view of a port of the primary. It may look; it carries no traffic and changes nothing.
Status attach_secondary(rte_vdev_device &vdev);
/// Lets go of what is this process's own, and of nothing else.
int detach_secondary(rte_vdev_device &vdev) noexcept;

} // namespace holdfast
