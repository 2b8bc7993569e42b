// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/match.h"

#include "port/answer.h"
#include "port/config.h"
#include "port/device_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fnmatch.h>

namespace holdfast {
namespace {

/// Drivers of the kernel that leave the device to DPDK while they keep its netdev.
constexpr std::array<std::string_view, 3> kBifurcated{"mlx4_core", "mlx5_core", "mana"};
/// Drivers of the kernel that exist to hand a device to a program.
constexpr std::array<std::string_view, 4> kForPrograms{"vfio-pci", "uio_pci_generic", "igb_uio", "uio_hv_generic"};

template <std::size_t N> bool is_one_of(const std::array<std::string_view, N> &list, std::string_view what) {
    return std::find(list.begin(), list.end(), what) != list.end();
}

bool is_like(const std::string &value, const std::string &pattern, int flags = 0) {
    return ::fnmatch(pattern.c_str(), value.c_str(), flags) == 0;
}

std::string text_of(const MacAddress &mac) {
    std::array<char, 18> out{};
    std::snprintf(out.data(), out.size(), "%02x:%02x:%02x:%02x:%02x:%02x", unsigned{mac[0]}, unsigned{mac[1]},
                  unsigned{mac[2]}, unsigned{mac[3]}, unsigned{mac[4]}, unsigned{mac[5]});
    return out.data();
}

bool matches(const Device &device, const Match &match, const std::optional<MacAddress> &port_mac) {
    switch (match.what) {
    case Match::What::kKernel:
        return is_like(device.kernel_name(), match.pattern);
    case Match::What::kSubsystem:
        return is_like(device.subsystem(), match.pattern);
    case Match::What::kProperty: {
        const std::optional<std::string> value = device.property(match.key);
        return value && is_like(*value, match.pattern);
    }
    case Match::What::kAttribute: {
        const std::optional<std::string> value = device.attribute(match.key);
        // The kernel writes hexadecimal digits small, people do not always.
        return value && is_like(*value, match.pattern, match.key == "address" ? FNM_CASEFOLD : 0);
    }
    case Match::What::kPortMac: {
        if (!port_mac || device.subsystem() != "net")
            return false;
        const std::optional<std::string> value = device.attribute("address");
        return value && *value == text_of(*port_mac);
    }
    }
    return false;
}

/// What a template makes of a device, or why it makes nothing.
class Template {
  public:
    explicit Template(const Device &device) : device_(device) {}

    bool fill(std::string_view text) {
        for (std::size_t i = 0; i < text.size(); i++) {
            if (text[i] != '%' || i + 1 == text.size()) {
                out_ += text[i];
                continue;
            }
            const char what = text[++i];
            std::string key;
            if (what == '{') {
                const std::size_t end = std::min(text.find('}', i), text.size());
                key = text.substr(i + 1, end - i - 1);
                i = end;
            }
            if (!add(what, key))
                return false;
        }
        return true;
    }
    [[nodiscard]] std::string take() { return std::move(out_); }
    [[nodiscard]] const std::string &fault() const noexcept { return fault_; }

  private:
    bool add(char what, const std::string &key) {
        if (what == '%') {
            out_ += '%';
            return true;
        }
        std::optional<std::string> value;
        if (what == 'k')
            value = device_.kernel_name();
        else if (what == 'p')
            value = device_.pci_address();
        else if (what == 'n')
            value = number();
        else if (!key.empty() && key.front() >= 'A' && key.front() <= 'Z')
            value = device_.property(key);
        else
            value = device_.attribute(key);
        const std::string name = what == '{' ? "%{" + key + "}" : std::string("%") + what;
        if (!value || value->empty()) {
            fault_ = device_.kernel_name() + " has nothing for " + name;
            return false;
        }
        // What a device says of itself must not become another argument.
        if (!std::all_of(value->begin(), value->end(), [](char c) {
                return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_-.:/+@").find(c) != std::string_view::npos;
            })) {
            fault_ = "what " + device_.kernel_name() + " has for " + name + " cannot stand in devargs";
            return false;
        }
        out_ += *value;
        return true;
    }
    /// The digits at the end of the kernel name.
    [[nodiscard]] std::string number() const {
        const std::string name = device_.kernel_name();
        const std::size_t last = name.find_last_not_of("0123456789");
        return name.substr(last == std::string::npos ? 0 : last + 1);
    }

    const Device &device_;
    std::string out_;
    std::string fault_;
};

/// The template of those who gave none, or why the device cannot be a sub-device as it is.
std::string usual_template(const Device &device, const UdevSource &source, std::string &fault) {
    const std::string driver = device.pci_driver();
    const bool net = device.subsystem() == "net";
    if (driver == "mana" && net) // one PCI device with several ports, which its driver tells apart by this
        return "%p,mac=%{address}";
    if (is_one_of(kBifurcated, driver) || !source.driver.empty())
        return "%p";
    if (net && !is_one_of(kForPrograms, driver))
        return "net_af_packet_%k,iface=%k";
    if (is_one_of(kForPrograms, driver))
        return "%p";
    fault = driver.empty() ? device.kernel_name() + " has no driver yet"
                           : device.kernel_name() + " is bound to " + driver + ", which does not leave it to DPDK";
    return {};
}

bool is_network_device(const Device &device) {
    if (device.subsystem() != "pci")
        return true;
    const std::optional<std::string> kind = device.attribute("class");
    return !kind || kind->starts_with("0x02");
}

} // namespace

std::string to_text(const std::vector<Match> &wanted) {
    std::string out;
    for (const Match &match : wanted) {
        out += out.empty() ? "" : ";";
        switch (match.what) {
        case Match::What::kKernel:
            out += "kernel=";
            break;
        case Match::What::kSubsystem:
            out += "subsystem=";
            break;
        case Match::What::kProperty:
        case Match::What::kAttribute:
            out += match.key + "=";
            break;
        case Match::What::kPortMac:
            out += "mac=port";
            break;
        }
        out += match.pattern;
    }
    return out;
}

bool matches(const Device &device, const std::vector<Match> &wanted, const std::optional<MacAddress> &port_mac) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const Match &m) { return matches(device, m, port_mac); });
}

Choice choose(const std::vector<std::unique_ptr<Device>> &devices, const UdevSource &source,
              const std::optional<MacAddress> &port_mac, const std::function<bool(const Device &)> &in_use) {
    std::vector<std::pair<std::string, const Device *>> found;
    for (const std::unique_ptr<Device> &device : devices)
        if (matches(*device, source.matches, port_mac) && is_network_device(*device))
            found.emplace_back(device->path(), device.get());
    std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    Choice out;
    out.answer.reason = "no device matches";
    std::string first_fault;
    for (const auto &[path, device] : found) {
        std::string fault;
        if (in_use(*device))
            fault = device->kernel_name() + " is a sub-device already";
        else if (!source.driver.empty() && device->pci_address().empty())
            fault = device->kernel_name() + " is no PCI device, so it cannot be bound to " + source.driver;
        const std::string text =
            fault.empty() && source.devargs.empty() ? usual_template(*device, source, fault) : source.devargs;
        Template filled(*device);
        if (fault.empty() && !filled.fill(text))
            fault = filled.fault();
        std::string devargs = filled.take();
        if (const char *wrong = fault.empty() ? fault_in_device(devargs) : nullptr; wrong != nullptr)
            fault = "\"" + devargs + "\" is of no use: " + wrong;
        if (!fault.empty()) {
            if (first_fault.empty())
                first_fault = fault;
            continue;
        }
        if (!out.answer.devargs.empty()) {
            if (out.pci.empty() || device->pci_address() != out.pci) // else it is the netdev of the chosen one
                out.others++;
            continue;
        }
        out.answer = {.devargs = std::move(devargs), .reason = {}, .kind = Answer::Kind::kSaid};
        out.path = path;
        out.pci = device->pci_address();
    }
    if (out.answer.devargs.empty() && !first_fault.empty())
        out.answer.reason = first_fault;
    return out;
}

} // namespace holdfast
