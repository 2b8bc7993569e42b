// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "driver/devargs.h"
#include "hotplug/match.h"
#include "port/config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// What must hold for the parser of devargs, whatever the text. Used by the fuzz target and by a unit test.
namespace holdfast::test {

/// What stands between the parentheses of udev(...).
inline std::string to_text(const UdevSource &source) {
    std::string out = holdfast::to_text(source.matches);
    if (!source.driver.empty())
        out += ";bind=" + source.driver + (source.force_bind ? ",force" : "");
    return source.devargs.empty() ? out : out + ";devargs=" + source.devargs;
}

/// How a port chooses and uses its sub-devices, as devargs.
inline std::string to_text(const Policy &policy) {
    const auto word = [](auto value, auto... words) {
        return std::array{words...}.at(static_cast<std::size_t>(value));
    };
    return std::string("switch_on=") + word(policy.switch_on, "link", "removal") +
           ",reselect=" + word(policy.reselect, "always", "better", "failure") +
           ",lsc_poll=" + std::to_string(policy.lsc_poll.count()) +
           ",down_delay=" + std::to_string(policy.down_delay.count()) +
           ",up_delay=" + std::to_string(policy.up_delay.count()) + ",announce=" + std::to_string(policy.announce) +
           ",announce_vlans=" + word(policy.announce_vlans, "no", "yes") + ",rx=" + word(policy.rx, "all", "active") +
           ",tx=" + word(policy.tx, "active", "balance", "round-robin", "broadcast") +
           ",xmit_policy=" + word(policy.xmit, "l2", "l23", "l34") +
           ",no_active=" + word(policy.no_active, "hold", "drop");
}

/// Writes a configuration as devargs that mean the same.
inline std::string to_devargs(const Config &config) {
    std::string out = "hotplug_poll=" + std::to_string(config.hotplug_poll.count()) +
                      ",exec_timeout=" + std::to_string(config.exec_timeout.count()) + "," + to_text(config.policy);
    if (config.mac) {
        out += ",mac=";
        for (std::size_t i = 0; i < config.mac->size(); i++) {
            std::array<char, 4> digits{};
            std::snprintf(digits.data(), digits.size(), "%s%02x", i == 0 ? "" : ":", unsigned{(*config.mac)[i]});
            out += digits.data();
        }
    }
    for (const Source &source : config.devices) {
        if (const auto *fixed = std::get_if<FixedDevice>(&source)) {
            out += ",dev(" + fixed->devargs + ")";
        } else if (const auto *descriptor = std::get_if<DescriptorSource>(&source)) {
            out += ",fd(" + std::to_string(descriptor->fd) + (descriptor->forced ? ",force)" : ")");
        } else if (const auto *udev = std::get_if<UdevSource>(&source)) {
            out += ",udev(" + to_text(*udev) + ")";
        } else {
            out += ",exec(";
            const std::string &command = std::get<CommandSource>(source).command;
            for (std::size_t i = 0; i < command.size(); i++) {
                if (command[i] == ',') {
                    out += "\\,";
                } else if (command[i] == '\\' && i + 1 < command.size()) {
                    out.append(command, i, 2); // it quotes what follows, here as there
                    i++;
                } else {
                    out += command[i];
                }
            }
            out += ")";
        }
    }
    return out;
}

/// What is wrong with what the parser made of `text`; empty if nothing is.
inline std::string fault_in_parse(std::string_view text) {
    Config config;
    const std::optional<std::string> error = parse_devargs(text, config);
    if (!error) {
        if (config.devices.empty() || config.devices.size() > 16)
            return "accepted with " + std::to_string(config.devices.size()) + " sub-devices";
        const std::string again = to_devargs(config);
        Config second;
        if (const auto refused = parse_devargs(again, second))
            return "accepted, but not as \"" + again + "\": " + *refused;
        return second == config ? "" : "means something else as \"" + again + "\"";
    }
    if (config != Config{})
        return "refused, but something was read";
    if (std::any_of(error->begin(), error->end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        return "a control character in a log line";
    constexpr std::string_view kPlace = "\" at character ";
    const std::size_t end = error->rfind(kPlace);
    if (end == std::string::npos || error->front() != '"')
        return "no place in: " + *error;
    const std::size_t at = std::stoul(error->substr(end + kPlace.size()));
    if (at < 1 || at > text.size() + 1)
        return "a place outside of the text in: " + *error;
    std::string part = error->substr(1, end - 1);
    std::string shown(text.substr(at - 1));
    std::replace_if(shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    if (part.size() == 83 && part.ends_with("...")) // shortened
        part.resize(80);
    return shown.starts_with(part) ? "" : "quotes what does not stand there: " + *error;
}

} // namespace holdfast::test
