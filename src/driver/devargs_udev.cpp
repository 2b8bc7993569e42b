// SPDX-License-Identifier: BSD-3-Clause
#include "driver/devargs.h"
#include "driver/devargs_part.h"
#include "port/config.h"
#include "port/device_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

constexpr std::size_t kMostMatches = 16;
constexpr std::array<std::string_view, 2> kDrivers{"vfio-pci", "uio_pci_generic"};
constexpr std::string_view kTemplate = "devargs=";

bool is_upper(char c) noexcept {
    return c >= 'A' && c <= 'Z';
}

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_property(std::string_view key) {
    return is_upper(key.front()) &&
           std::all_of(key.begin(), key.end(), [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

/// A file below the device's folder: no way out of it.
bool is_attribute(std::string_view key) {
    return key.front() != '/' && key.front() != '.' && key.back() != '/' && key.find("..") == kNone &&
           key.find("//") == kNone && std::all_of(key.begin(), key.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.' ||
                      c == '/' || c == ':';
           });
}

/// The text up to the first of `stop` that has no backslash before it.
Part up_to(const Part &part, char stop) {
    std::size_t i = 0;
    while (i < part.text.size() && part.text[i] != stop)
        i += part.text[i] == '\\' ? 2 : 1;
    return part.from(0, std::min(i, part.text.size()));
}

/// Does a backslash at the end stand before nothing?
bool ends_in_backslash(std::string_view text) {
    const std::size_t last = text.find_last_not_of('\\');
    return (text.size() - (last == kNone ? 0 : last + 1)) % 2 == 1;
}

/// Can it become devargs, whatever the device is?
Error check_template(const Part &text) {
    for (std::size_t i = 0; i < text.text.size(); i++) {
        if (text.text[i] != '%')
            continue;
        const Part here = text.from(i, 2);
        if (here.text.size() < 2)
            return complain(here, "a % at the end; %% is one that is meant as it is");
        i++;
        if (here.text[1] == '{') {
            const std::size_t end = text.text.find('}', i);
            const Part key = text.from(i + 1, end == kNone ? kNone : end - i - 1);
            if (end == kNone)
                return complain(text.from(i - 1), "a brace is not closed");
            if (key.text.empty() || !(is_property(key.text) || is_attribute(key.text)))
                return complain(key, "is no sysfs attribute and no udev property");
            i = end;
        } else if (std::string_view("kpn%").find(here.text[1]) == kNone) {
            return complain(here, "%k, %p, %n, %{attribute}, %{PROPERTY} and %% are known");
        }
    }
    if (device_name(text.text).empty())
        return complain(text, "names no device");
    if (const char *fault = fault_in_device(text.text); fault != nullptr)
        return complain(text, fault);
    return {};
}

class Reader {
  public:
    explicit Reader(UdevSource &out) : out_(out) {}

    Error read(const Part &inner) {
        Part rest = inner;
        for (;;) {
            if (rest.text.starts_with(kTemplate)) { // the last one: devargs may hold anything
                out_.devargs = rest.text.substr(kTemplate.size());
                if (Error e = check_template(rest.from(kTemplate.size())))
                    return e;
                break;
            }
            const Part term = up_to(rest, ';');
            if (Error e = read_term(term))
                return e;
            if (term.text.size() == rest.text.size())
                break;
            rest = rest.from(term.text.size() + 1);
        }
        if (out_.matches.empty())
            return complain(inner, "says of no device what it is: at least one match is needed");
        return {};
    }

  private:
    Error read_term(const Part &term) {
        const std::size_t equals = term.text.find('=');
        if (term.text.empty() || equals == kNone || equals == 0)
            return complain(term,
                            "is no match: KEY=VALUE is wanted (or bind=DRIVER, or devargs=..., which comes last)");
        const Part key = term.from(0, equals);
        const Part value = term.from(equals + 1);
        if (value.text.empty())
            return complain(term, "has no value");
        if (std::any_of(term.text.begin(), term.text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
            return complain(term, "has a control character");
        if (key.text == "bind")
            return read_bind(term, value);
        return read_match(term, key, value);
    }

    Error read_match(const Part &term, const Part &key, const Part &value) {
        Match match{.what = Match::What::kKernel, .key = {}, .pattern = std::string(value.text)};
        if (ends_in_backslash(value.text))
            return complain(value, "a backslash stands before nothing");
        if (key.text == "mac") {
            if (value.text != "port")
                return complain(value, "mac=port is the only one; for a certain MAC address write address=");
            match.what = Match::What::kPortMac;
            match.pattern.clear();
        } else if (key.text == "subsystem") {
            match.what = Match::What::kSubsystem;
            if (value.text != "net" && value.text != "pci")
                return complain(value, "is no subsystem that has network devices: net and pci have");
        } else if (key.text != "kernel") {
            const bool property = is_property(key.text);
            if (!property && !is_attribute(key.text))
                return complain(key, "is no sysfs attribute and no udev property");
            match.what = property ? Match::What::kProperty : Match::What::kAttribute;
            match.key = key.text;
        }
        if (std::find(out_.matches.begin(), out_.matches.end(), match) != out_.matches.end())
            return complain(term, "the same match is given twice");
        if (out_.matches.size() == kMostMatches)
            return complain(term, "one match more than " + std::to_string(kMostMatches) + ", the most there may be");
        out_.matches.push_back(std::move(match));
        return {};
    }

    Error read_bind(const Part &term, const Part &value) {
        if (!out_.driver.empty())
            return complain(term, "bind= is given twice");
        const Part driver = up_to(value, ',');
        if (std::find(kDrivers.begin(), kDrivers.end(), driver.text) == kDrivers.end())
            return complain(driver, "is no driver to bind a device to: vfio-pci and uio_pci_generic are");
        out_.force_bind = driver.text.size() < value.text.size();
        if (out_.force_bind && value.from(driver.text.size()).text != ",force")
            return complain(value.from(driver.text.size() + 1), "what may follow the driver is \"force\"");
        out_.driver = driver.text;
        return {};
    }

    UdevSource &out_;
};

} // namespace

Error read_udev(const Part &inner, UdevSource &out) {
    return Reader(out).read(inner);
}

} // namespace holdfast
