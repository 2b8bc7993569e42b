// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

/// A network interface of this network namespace, by its index, as the kernel sees it. Nothing, or false: there is no
/// such interface, or the kernel refuses. A few system calls each.
namespace holdfast {

/// IFF_UP ...
[[nodiscard]] std::optional<unsigned> netdev_flags(unsigned index) noexcept;
/// Sets those flags that are in `mask` to what they are in `flags`.
bool set_netdev_flags(unsigned index, unsigned mask, unsigned flags) noexcept;

/// Is there a carrier? The kernel may put off for a second what it tells of that by events and in IFF_RUNNING; it does
/// not here, and brings both up to date. Waits for those who change interfaces at the moment.
[[nodiscard]] std::optional<bool> netdev_carrier(unsigned index) noexcept;

[[nodiscard]] std::optional<int> netdev_mtu(unsigned index) noexcept;
bool set_netdev_mtu(unsigned index, int mtu) noexcept;

} // namespace holdfast
