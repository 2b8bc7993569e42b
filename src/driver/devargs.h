// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/config.h"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// Reads the devargs of a virtual port, with the meaning that they have for net_failsafe:
///
///     item[,item...]   item: dev(DEVARGS) | mac=XX:XX:XX:XX:XX:XX | hotplug_poll=MILLISECONDS
///
/// in any order. DEVARGS may hold commas and balanced parentheses. At least one sub-device and at most kMaxSubDevices;
/// each device once; never a Holdfast port. A pure function: nothing is probed, nothing is kept.
///
/// @param text  what follows the name of the port in its devargs
/// @param out   filled only on success
/// @return nothing, or a sentence that quotes the part that cannot be read and its position in `text`, from 1
[[nodiscard]] std::optional<std::string> parse_devargs(std::string_view text, Config &out);

} // namespace holdfast
