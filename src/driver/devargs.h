// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/config.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// Reads the devargs of a virtual port, with the meaning that they have for net_failsafe:
///
///     item[,item...]   item: dev(DEVARGS) | exec(COMMAND) | fd(NUMBER[,force]) | mac=XX:XX:XX:XX:XX:XX |
///                            hotplug_poll=MILLISECONDS | exec_timeout=MILLISECONDS | a key of base/policy.h
///
/// in any order. The first three make one sub-device each: at least one and at most kMaxSubDevices; no device and no
/// descriptor twice; never a Holdfast port.
///
/// DEVARGS may hold commas and balanced parentheses.
///
/// COMMAND is for /bin/sh. It ends at the parenthesis that closes the first one; those inside quotes (as the shell
/// sees them) or behind a backslash do not count. A comma in it is a blank to the shell, wherever it stands; "\," is a
/// comma. Everything else reaches the shell as it is.
///
/// NUMBER is decimal. 0 to 2 are the process's standard streams and are refused without ",force".
///
/// A pure function: nothing is probed, nothing is kept.
///
/// @param text  what follows the name of the port in its devargs
/// @param out   filled only on success
/// @return nothing, or a sentence that quotes the part that cannot be read and its position in `text`, from 1
[[nodiscard]] std::optional<std::string> parse_devargs(std::string_view text, Config &out);

/// Reads one item of those that make a sub-device, and nothing else.
[[nodiscard]] std::optional<std::string> parse_sub_device(std::string_view text, Source &out);

/// A sentence of that kind: `part` stands at `at` (from 1) and is wrong because `why`.
[[nodiscard]] std::string complain(std::string_view part, std::size_t at, std::string_view why);

} // namespace holdfast
