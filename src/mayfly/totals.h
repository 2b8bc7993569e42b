// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/device.h"
#include <rte_pmd_mayfly.h>

namespace holdfast::mayfly {

/// One counter of a device over all its lives; -EINVAL: there is no such counter.
[[nodiscard]] std::int64_t total(const Device &device, enum rte_pmd_mayfly_counter what) noexcept;
/// Its name, as telemetry shows it; nullptr past the last one.
[[nodiscard]] const char *total_name(unsigned what) noexcept;

} // namespace holdfast::mayfly
