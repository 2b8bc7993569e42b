// SPDX-License-Identifier: BSD-3-Clause
#include "driver/devargs.h"

#include "base/ids.h"
#include "driver/devargs_keys.h"
#include "driver/devargs_part.h"
#include "port/config.h"
#include "port/device_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace holdfast {

std::string complain(std::string_view part, std::size_t at, std::string_view why) {
    std::string out = "\"";
    for (const char c : part.substr(0, 80))
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c; // it goes into one line of a log
    out.append(part.size() > 80 ? "...\"" : "\"");
    out.append(" at character ").append(std::to_string(at)).append(": ").append(why);
    return out;
}

namespace {

constexpr int kLastStream = 2; // descriptors 0 to 2 are the process's standard streams

/// How far the item that begins a text reaches, and where its first parenthesis is closed.
struct Extent {
    std::size_t length = 0;
    std::size_t close = kNone;
    const char *fault = nullptr; ///< then [fault_at, length) is the faulty part
    std::size_t fault_at = 0;
};

/// Steps over what the shell quotes, so that a parenthesis in it does not count.
class ShellQuotes {
  public:
    /// Is the character at `i` quoted, or does it quote? May move `i` on to the last character that it quotes.
    bool covers(std::string_view text, std::size_t &i) {
        const char c = text[i];
        if (c == '\\' && quote_ != '\'') {
            i += i + 1 < text.size() ? 1 : 0;
            return true;
        }
        if (quote_ == '\0' && (c == '\'' || c == '"')) {
            quote_ = c;
            opened_ = i;
            return true;
        }
        const bool inside = quote_ != '\0';
        if (c == quote_)
            quote_ = '\0';
        return inside;
    }
    [[nodiscard]] bool open() const noexcept { return quote_ != '\0'; }
    [[nodiscard]] std::size_t opened() const noexcept { return opened_; }

  private:
    char quote_ = '\0';
    std::size_t opened_ = 0;
};

constexpr std::string_view kExec = "exec";

Extent measure(std::string_view rest) {
    Extent out;
    ShellQuotes quotes;
    const bool command = rest.starts_with("exec(");
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest.size(); i++) {
        if (command && i >= kExec.size() && out.close == kNone && quotes.covers(rest, i))
            continue;
        if (rest[i] == '(') {
            depth++;
        } else if (rest[i] == ')' && depth == 0) {
            return {.length = i + 1, .fault = "closes a parenthesis that was not opened"};
        } else if (rest[i] == ')') {
            if (--depth == 0 && out.close == kNone)
                out.close = i;
        } else if (rest[i] == ',' && depth == 0) {
            out.length = i;
            return out;
        }
    }
    out.length = rest.size();
    if (quotes.open()) {
        out.fault = "a quote is not closed";
        out.fault_at = quotes.opened();
    } else if (depth != 0) {
        out.fault = "a parenthesis is not closed";
    }
    return out;
}

Error add_source(const Part &item, Source source, Config &config) {
    if (config.devices.size() == kMaxSubDevices)
        return complain(item,
                        "one sub-device more than " + std::to_string(kMaxSubDevices) + ", the most a port can have");
    config.devices.push_back(std::move(source));
    return {};
}

Error read_dev(const Part &item, const Part &inner, Config &config) {
    if (device_name(inner.text).empty())
        return complain(item, "names no device");
    if (const char *fault = fault_in_device(inner.text); fault != nullptr)
        return complain(inner, fault);
    for (const Source &other : config.devices)
        if (const auto *fixed = std::get_if<FixedDevice>(&other);
            fixed != nullptr && same_device(fixed->devargs, inner.text))
            return complain(inner, "this device is named twice");
    return add_source(item, FixedDevice{std::string(inner.text)}, config);
}

/// What the shell gets: commas are blanks, as net_failsafe has it, and "\," is how to write a comma.
std::string shell_command(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            i++;
            out.append(text[i] == ',' ? "" : "\\").push_back(text[i]);
        } else {
            out.push_back(text[i] == ',' ? ' ' : text[i]);
        }
    }
    return out;
}

Error read_exec(const Part &item, const Part &inner, Config &config) {
    if (const std::size_t nul = inner.text.find('\0'); nul != kNone)
        return complain(inner.from(nul, 1), "a command has no NUL character");
    std::string command = shell_command(inner.text);
    if (command.find_first_not_of(" \t\n") == kNone)
        return complain(item, "names no command");
    return add_source(item, CommandSource{std::move(command)}, config);
}

Error read_fd(const Part &item, const Part &inner, Config &config) {
    const Part number = inner.from(0, inner.text.find(','));
    const bool forced = number.text.size() < inner.text.size();
    if (const Part rest = inner.from(number.text.size()); forced && rest.text != ",force")
        return complain(rest.from(1), "what may follow the number is \"force\"");
    int fd = -1;
    const char *end = number.text.data() + number.text.size();
    const auto [stop, ec] = std::from_chars(number.text.data(), end, fd);
    // A leading 0 would mean an octal number to net_failsafe.
    if (ec != std::errc{} || stop != end || fd < 0 || (number.text.size() > 1 && number.text.front() == '0'))
        return complain(number, "is no descriptor: fd() takes a decimal number");
    if (fd <= kLastStream && !forced)
        return complain(number, "descriptors 0 to 2 are the process's standard streams; fd(N,force) takes one for all "
                                "that");
    for (const Source &other : config.devices)
        if (const auto *descriptor = std::get_if<DescriptorSource>(&other);
            descriptor != nullptr && descriptor->fd == fd)
            return complain(number, "this descriptor is given twice");
    return add_source(item, DescriptorSource{.fd = fd, .forced = forced, .at = number.at + 1}, config);
}

Error read_udev(const Part &item, const Part &inner, Config &config) {
    UdevSource source;
    if (Error e = read_udev(inner, source))
        return e;
    return add_source(item, std::move(source), config);
}

Error read_mac(const Part &item, const Part &value, Config &config) {
    if (config.mac)
        return complain(item, "mac= is given twice");
    std::array<std::uint8_t, 6> mac{};
    bool good = value.text.size() == 3 * mac.size() - 1;
    for (std::size_t i = 0; good && i < mac.size(); i++) {
        const char *digits = value.text.data() + 3 * i;
        const auto [end, ec] = std::from_chars(digits, digits + 2, mac[i], 16);
        good = ec == std::errc{} && end == digits + 2 && (i + 1 == mac.size() || digits[2] == ':');
    }
    if (!good)
        return complain(value, "is no MAC address (XX:XX:XX:XX:XX:XX)");
    if ((mac[0] & 1U) != 0)
        return complain(value, "a port's own MAC address cannot be a multicast one");
    if (std::all_of(mac.begin(), mac.end(), [](std::uint8_t b) { return b == 0; }))
        return complain(value, "a port's own MAC address cannot be all zero");
    config.mac = mac;
    return {};
}

/// Reads one port's devargs, item by item.
class Parser {
  public:
    Error read(std::string_view text) {
        for (std::size_t at = 0; !text.empty();) {
            const Part rest{text.substr(at), at};
            const Extent extent = measure(rest.text);
            if (extent.fault != nullptr)
                return complain(rest.from(extent.fault_at, extent.length - extent.fault_at), extent.fault);
            if (Error e = read_item(rest.from(0, extent.length), extent.close))
                return e;
            at += extent.length;
            if (at == text.size())
                break;
            at++; // the comma; what follows it, if only an empty item, is read as an item
        }
        if (config_.devices.empty())
            return complain({text, 0},
                            "no sub-device: at least one dev(...), udev(...), exec(...) or fd(...) is needed");
        return {};
    }
    Config &config() noexcept { return config_; }

  private:
    Error read_item(const Part &item, std::size_t close) {
        if (item.text.empty())
            return complain(item, "an item is empty");
        // "dev(a)dev(b)" lacks a comma, so the first parenthesis has to be closed by the last character.
        if (close + 1 == item.text.size()) {
            const std::size_t open = item.text.find('(');
            const std::string_view name = item.text.substr(0, open);
            const Part inner = item.from(open + 1, close - open - 1);
            if (name == "dev")
                return read_dev(item, inner, config_);
            if (name == kExec)
                return read_exec(item, inner, config_);
            if (name == "fd")
                return read_fd(item, inner, config_);
            if (name == "udev")
                return read_udev(item, inner, config_);
        }
        constexpr std::string_view kMac = "mac=";
        if (item.text.starts_with(kMac))
            return read_mac(item, item.from(kMac.size()), config_);
        if (Error error; keys_.read(item, config_, error))
            return error;
        return complain(item, "is none of dev(...), udev(...), exec(...), fd(...), mac=... nor another key of a port");
    }

    Config config_;
    PlainKeys keys_;
};

} // namespace

std::optional<std::string> parse_devargs(std::string_view text, Config &out) {
    Parser parser;
    Error error = parser.read(text);
    if (!error)
        out = std::move(parser.config());
    return error;
}

std::optional<std::string> parse_sub_device(std::string_view text, Source &out) {
    constexpr const char *kOne = "is not one dev(...), udev(...), exec(...) or fd(...)";
    if (const Extent extent = measure(text); extent.fault == nullptr && extent.length != text.size())
        return complain({text, 0}, kOne);
    Parser parser;
    if (Error error = parser.read(text))
        return parser.config().devices.empty() && text.find('(') == kNone ? complain({text, 0}, kOne) : error;
    out = std::move(parser.config().devices.front());
    return {};
}

} // namespace holdfast
