// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "base/policy.h"

#include <ethdev_vdev.h>

namespace holdfast {

/// Fills a port's slots for this process: its operations and its fast path, which is the policy's. Once, before the
/// port can be seen; never swapped.
void install(rte_eth_dev &dev, const Policy &policy) noexcept;

/// Takes a port's object apart: the host thread lets go of it, its sub-devices are closed. The ethdev itself stays.
/// @param keep  see abi::Bus::remove()
int dismantle(rte_eth_dev &dev, abi::Wait wait, const rte_vdev_device *keep) noexcept;

} // namespace holdfast
