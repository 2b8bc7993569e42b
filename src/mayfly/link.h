// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct rte_eth_dev;

namespace holdfast::mayfly {

class Device;

/// Writes the link as it is now into the port's shared data, for those who ask without waiting. Gives 0 when it is a
/// change, -1 when it is not, as link_update wants it.
int publish_link(rte_eth_dev &port, Device &device) noexcept;

} // namespace holdfast::mayfly
