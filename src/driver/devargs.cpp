// SPDX-License-Identifier: BSD-3-Clause
#include "driver/devargs.h"

#include "base/ids.h"
#include "port/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast {
namespace {

constexpr std::uint64_t kLongestPoll = 24ULL * 60 * 60 * 1000; // a day, in ms
constexpr std::size_t kLongestName = 63; // EAL cuts or refuses longer ones, after we began to probe

using Error = std::optional<std::string>;

/// One item of the list and where it stands.
struct Item {
    std::string_view text;
    std::size_t at = 0; ///< from 0
};

std::string complain(const Item &part, std::string_view why) {
    std::string out = "\"";
    for (const char c : part.text.substr(0, 80))
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c; // it goes into one line of a log
    out.append(part.text.size() > 80 ? "...\"" : "\"");
    out.append(" at character ").append(std::to_string(part.at + 1)).append(": ").append(why);
    return out;
}

/// Length of the item that begins `rest`: up to a comma outside of all parentheses. npos: a parenthesis is not closed;
/// `stray` tells of one that was never opened.
std::size_t item_length(std::string_view rest, bool &stray) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest.size(); i++) {
        if (rest[i] == '(')
            depth++;
        else if (rest[i] == ')' && depth-- == 0) {
            stray = true;
            return i + 1;
        } else if (rest[i] == ',' && depth == 0)
            return i;
    }
    return depth == 0 ? rest.size() : std::string_view::npos;
}

std::string_view device_name(std::string_view devargs) {
    return devargs.substr(0, devargs.find(','));
}

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

Error read_dev(const Item &item, std::string_view inner, Config &config) {
    const Item part{inner, item.at + 4};
    const std::string_view name = device_name(inner);
    if (name.empty())
        return complain(item, "names no device");
    if (std::any_of(inner.begin(), inner.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; }))
        return complain(part, "a device's arguments have no blanks");
    // Anywhere in it: EAL takes a bus name in front, with any character after it.
    if (name.find("net_holdfast") != std::string_view::npos)
        return complain(part, "a Holdfast port cannot be a sub-device");
    // "bus=vdev,name=..." would be a second way to write every name, one that hides doubles and loops.
    // So would "vdev,..." be: EAL takes any character between a bus and a name.
    if (name.find('=') != std::string_view::npos || name == "vdev")
        return complain(part, "begins with no device name");
    if (name.size() > kLongestName)
        return complain(part, "a device name has at most " + std::to_string(kLongestName) + " characters");
    if (std::any_of(config.devices.begin(), config.devices.end(),
                    [&](const std::string &d) { return canonical(device_name(d)) == canonical(name); }))
        return complain(part, "this device is named twice");
    if (config.devices.size() == kMaxSubDevices)
        return complain(item,
                        "one sub-device more than " + std::to_string(kMaxSubDevices) + ", the most a port can have");
    config.devices.emplace_back(inner);
    return {};
}

Error read_mac(const Item &item, std::string_view text, Config &config) {
    const Item part{text, item.at + (item.text.size() - text.size())};
    if (config.mac)
        return complain(item, "mac= is given twice");
    std::array<std::uint8_t, 6> mac{};
    bool good = text.size() == 3 * mac.size() - 1;
    for (std::size_t i = 0; good && i < mac.size(); i++) {
        const char *digits = text.data() + 3 * i;
        const auto [end, ec] = std::from_chars(digits, digits + 2, mac[i], 16);
        good = ec == std::errc{} && end == digits + 2 && (i + 1 == mac.size() || digits[2] == ':');
    }
    if (!good)
        return complain(part, "is no MAC address (XX:XX:XX:XX:XX:XX)");
    if ((mac[0] & 1U) != 0)
        return complain(part, "a port's own MAC address cannot be a multicast one");
    if (std::all_of(mac.begin(), mac.end(), [](std::uint8_t b) { return b == 0; }))
        return complain(part, "a port's own MAC address cannot be all zero");
    config.mac = mac;
    return {};
}

Error read_poll(const Item &item, std::string_view text, bool &given, Config &config) {
    const Item part{text, item.at + (item.text.size() - text.size())};
    if (std::exchange(given, true))
        return complain(item, "hotplug_poll= is given twice");
    std::uint64_t ms = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (ec != std::errc{} || end != text.data() + text.size() || ms == 0 || ms > kLongestPoll)
        return complain(part, "hotplug_poll= takes milliseconds, from 1 to " + std::to_string(kLongestPoll));
    config.hotplug_poll = std::chrono::milliseconds(ms);
    return {};
}

/// The inside of `name(...)`, if the item is that and nothing more: "dev(a)dev(b)" lacks a comma. The item's
/// parentheses are balanced.
std::optional<std::string_view> call(std::string_view item, std::string_view name) {
    if (!item.starts_with(name) || !item.substr(name.size()).starts_with('('))
        return {};
    const std::string_view rest = item.substr(name.size());
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest.size(); i++) {
        if (rest[i] == '(')
            depth++;
        else if (rest[i] == ')' && --depth == 0)
            return i + 1 == rest.size() ? std::optional(rest.substr(1, i - 1)) : std::nullopt;
    }
    return {};
}

Error read_item(const Item &item, bool &poll_given, Config &config) {
    if (item.text.empty())
        return complain(item, "an item is empty");
    if (const auto inner = call(item.text, "dev"))
        return read_dev(item, *inner, config);
    if (call(item.text, "exec") || call(item.text, "fd"))
        return complain(item, "exec(...) and fd(...) are not supported by this version");
    constexpr std::string_view kMac = "mac=";
    constexpr std::string_view kPoll = "hotplug_poll=";
    if (item.text.starts_with(kMac))
        return read_mac(item, item.text.substr(kMac.size()), config);
    if (item.text.starts_with(kPoll))
        return read_poll(item, item.text.substr(kPoll.size()), poll_given, config);
    return complain(item, "is none of dev(...), mac=..., hotplug_poll=...");
}

} // namespace

std::optional<std::string> parse_devargs(std::string_view text, Config &out) {
    Config config;
    bool poll_given = false;
    for (std::size_t at = 0; !text.empty();) {
        const std::string_view rest = text.substr(at);
        bool stray = false;
        const std::size_t length = item_length(rest, stray);
        if (length == std::string_view::npos)
            return complain({rest, at}, "a parenthesis is not closed");
        if (stray)
            return complain({rest.substr(0, length), at}, "closes a parenthesis that was not opened");
        if (Error e = read_item({rest.substr(0, length), at}, poll_given, config))
            return e;
        at += length;
        if (at == text.size())
            break;
        at++; // the comma; what follows it, if only an empty item, is read as an item
    }
    if (config.devices.empty())
        return "no sub-device: at least one dev(...) is needed";
    out = std::move(config);
    return {};
}

} // namespace holdfast
