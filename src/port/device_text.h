// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace holdfast {

/// The name in a sub-device's devargs: what stands before the first comma.
[[nodiscard]] std::string_view device_name(std::string_view devargs);

/// Why these devargs cannot be those of a sub-device, wherever they come from; nullptr if they can.
[[nodiscard]] const char *fault_in_device(std::string_view devargs);

/// Do both devargs name one device? EAL lets one leave out the bus, the PCI domain 0000, and write capitals.
[[nodiscard]] bool same_device(std::string_view a, std::string_view b);

/// Would a probe of these devargs use that device of the kernel's: the PCI device of that name, or the network
/// interface?
[[nodiscard]] bool is_about(std::string_view devargs, std::string_view subsystem, std::string_view kernel_name);

} // namespace holdfast
