// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

namespace holdfast {

/// The flags (IFF_UP ...) of a network interface of this network namespace, by its index; nothing if there is no such
/// interface. One or two system calls.
[[nodiscard]] std::optional<unsigned> netdev_flags(unsigned index) noexcept;

} // namespace holdfast
