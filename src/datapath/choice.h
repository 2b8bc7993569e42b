// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/policy.h"

#include <rte_ethdev.h>

namespace holdfast::datapath {

/// The burst functions of a policy. Applications call them through rte_eth_fp_ops, which ethdev fills when the port
/// starts: so they are chosen once, before that.
struct Choice {
    eth_rx_burst_t rx_burst;
    eth_tx_burst_t tx_burst;
    eth_tx_prep_t tx_prepare;
};

[[nodiscard]] Choice choose(const Policy &policy) noexcept;

} // namespace holdfast::datapath
