// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_log.h>

namespace holdfast::abi {

/// Registers this module's log type ("pmd.net.holdfast"); called once, when the module is loaded.
void register_log(const char *name) noexcept;

/// The log type that register_log() got, or the one of user code before that. Any thread.
[[nodiscard]] int log_type() noexcept;

} // namespace holdfast::abi

/// One log line of this module. By rule it begins with the virtual port, then the sub-device where there is one. Never
/// on the fast path.
#define HOLDFAST_LOG(level, format, ...)                                                                               \
    rte_log(RTE_LOG_##level, static_cast<unsigned>(::holdfast::abi::log_type()), format "\n" __VA_OPT__(, ) __VA_ARGS__)
