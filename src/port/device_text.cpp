// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {
namespace {

constexpr std::size_t kLongestName = 63; // EAL cuts or refuses longer ones, after we began to probe

/// A name without what EAL lets one leave out or add: the bus in front, the PCI domain 0000, capitals in a PCI address.
std::string canonical(std::string_view name) {
    for (const std::string_view bus : {"vdev:", "pci:"})
        if (name.starts_with(bus)) {
            name.remove_prefix(bus.size());
            break;
        }
    std::string out(name);
    if (out.empty() || out.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos)
        return out;
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
    return std::count(out.begin(), out.end(), ':') == 1 ? "0000:" + out : out;
}

} // namespace

std::string_view device_name(std::string_view devargs) {
    return devargs.substr(0, devargs.find(','));
}

const char *fault_in_device(std::string_view devargs) {
    const std::string_view name = device_name(devargs);
    if (name.empty())
        return "names no device";
    if (std::any_of(devargs.begin(), devargs.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
        return "a device's arguments have no blanks";
    // Anywhere in it: EAL takes a bus name in front, with any character after it.
    if (name.find("net_holdfast") != std::string_view::npos)
        return "a Holdfast port cannot be a sub-device";
    // "bus=vdev,name=..." would be a second way to write every name, one that hides doubles and loops.
    // So would "vdev,..." be: EAL takes any character between a bus and a name.
    if (name.find('=') != std::string_view::npos || name == "vdev")
        return "begins with no device name";
    if (name.size() > kLongestName)
        return "a device name has at most 63 characters";
    return nullptr;
}

bool same_device(std::string_view a, std::string_view b) {
    return canonical(device_name(a)) == canonical(device_name(b));
}

bool is_about(std::string_view devargs, std::string_view subsystem, std::string_view kernel_name) {
    if (subsystem == "pci")
        return same_device(devargs, kernel_name);
    for (std::string_view rest = devargs; !rest.empty();) {
        const std::string_view argument = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), argument.size() + 1));
        if (argument.starts_with("iface=") && argument.substr(argument.find('=') + 1) == kernel_name)
            return true;
    }
    return false;
}

} // namespace holdfast
