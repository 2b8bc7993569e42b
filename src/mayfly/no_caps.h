// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/config.h"

#include <string_view>

namespace holdfast::mayfly {

/// Takes one ability away from a device, by name: neither is it advertised nor do its operations exist. An offload is
/// "rx_" or "tx_" and DPDK's name of it in small letters ("rx_vlan_strip"); the others are named in no_caps.cpp. False:
/// no such name.
[[nodiscard]] bool remove_capability(std::string_view name, Config &config);

} // namespace holdfast::mayfly
