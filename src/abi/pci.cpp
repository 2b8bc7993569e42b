// SPDX-License-Identifier: BSD-3-Clause
#include "abi/pci.h"

#include <rte_bus.h>
#include <rte_dev.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::abi {
namespace {

constexpr unsigned kDomainShift = 16;
constexpr std::uint64_t kIsOne = std::uint64_t{1} << 63U;
constexpr std::array<unsigned char, 2> kNoVendor{0xff, 0xff};
using Path = std::array<char, 512>;

const char *devices_folder() noexcept {
    const char *folder = std::getenv("SYSFS_PCI_DEVICES"); // as EAL does
    return folder != nullptr ? folder : "/sys/bus/pci/devices";
}

/// Reads `digits` hexadecimal digits and what ends them.
bool read(std::string_view &text, std::size_t digits, char end, std::uint64_t &out) noexcept {
    const char *stop = text.data() + digits;
    if (text.size() < digits + (end != '\0' ? 1 : 0) || (end == '\0' && text.size() != digits))
        return false;
    const auto [at, ec] = std::from_chars(text.data(), stop, out, 16);
    if (ec != std::errc{} || at != stop || (end != '\0' && *at != end))
        return false;
    text.remove_prefix(digits + (end != '\0' ? 1 : 0));
    return true;
}

/// A device's folder, or a file in it ("/config"). False: there cannot be one.
bool path_of(std::uint64_t number, const char *file, Path &out) noexcept {
    const std::uint64_t domain = (number & ~kIsOne) >> kDomainShift;
    const auto low = static_cast<unsigned>(number & 0xffffU);
    const int size = std::snprintf(out.data(), out.size(), "%s/%04llx:%02x:%02x.%x%s", devices_folder(),
                                   static_cast<unsigned long long>(domain), low >> 8U, low >> 3U & 31U, low & 7U, file);
    return number != 0 && size >= 0 && static_cast<std::size_t>(size) < out.size();
}

} // namespace

std::uint64_t pci_number(std::string_view address) noexcept {
    std::uint64_t domain = 0, bus = 0, device = 0, function = 0;
    const std::size_t colon = address.find(':');
    if (colon < 4 || colon > 8 || !read(address, colon, ':', domain) || !read(address, 2, ':', bus) ||
        !read(address, 2, '.', device) || !read(address, 1, '\0', function) || device > 31 || function > 7)
        return 0;
    return kIsOne | domain << kDomainShift | bus << 8U | device << 3U | function;
}

std::uint64_t pci_number(const rte_device *device) noexcept {
    if (device == nullptr || std::strcmp(rte_bus_name(rte_dev_bus(device)), "pci") != 0)
        return 0;
    return pci_number(rte_dev_name(device));
}

std::uint64_t pci_incarnation(std::uint64_t number) noexcept {
    Path path{};
    struct stat folder{};
    if (!path_of(number, "", path) || ::stat(path.data(), &folder) != 0)
        return 0;
    return folder.st_ino; // sysfs never uses the number of a folder again
}

PciHealth pci_health(std::uint64_t number) noexcept {
    Path path{};
    if (!path_of(number, "/config", path))
        return PciHealth::kUnknown;
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return PciHealth::kUnknown;
    std::array<unsigned char, 2> vendor{};
    const ssize_t got = ::pread(fd, vendor.data(), vendor.size(), 0);
    ::close(fd);
    if (got != static_cast<ssize_t>(vendor.size()))
        return PciHealth::kUnknown;
    return vendor == kNoVendor ? PciHealth::kSilent : PciHealth::kAnswers;
}

} // namespace holdfast::abi
