// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

struct rte_device;

namespace holdfast::abi {

/// A PCI address ("0000:01:00.0") as a number that is not 0; 0: it is none.
[[nodiscard]] std::uint64_t pci_number(std::string_view address) noexcept;

/// The same for a device of EAL's; 0 also for null.
[[nodiscard]] std::uint64_t pci_number(const rte_device *device) noexcept;

/// What tells the present device at that address from those before and after it. 0: there is none.
[[nodiscard]] std::uint64_t pci_incarnation(std::uint64_t number) noexcept;

enum class PciHealth : std::uint8_t {
    kAnswers,
    kSilent,  ///< pulled out: all that is read of it is ones. It may stay in sysfs as long as its driver is held
    kUnknown, ///< its configuration space cannot be read here
};
[[nodiscard]] PciHealth pci_health(std::uint64_t number) noexcept;

} // namespace holdfast::abi
