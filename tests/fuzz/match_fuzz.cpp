// SPDX-License-Identifier: BSD-3-Clause
// Which device a udev(...) means, whatever devices say of themselves. The first line of an input is what stands between
// the parentheses; devices follow, a line each fact, an empty line between two. What comes out has to be devargs that
// could have been written by hand: one device, and as many arguments as the template has.
#include "driver/devargs.h"
#include "hotplug/match.h"
#include "port/config.h"
#include "port/device_text.h"
#include "unit/fake_devices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace {

using namespace holdfast;

std::string_view next_line(std::string_view &rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    return line;
}

void learn(fake::DeviceData &device, std::string_view fact) {
    const std::string_view text = fact.substr(1);
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string key(text.substr(0, equals));
    const std::string value(text.substr(std::min(text.size(), equals + 1)));
    switch (fact.front()) {
    case '/':
        device.path = fact;
        break;
    case 'K':
        device.kernel_name = text;
        break;
    case 'S':
        device.subsystem = text;
        break;
    case 'P':
        device.pci_address = text;
        break;
    case 'D':
        device.pci_driver = text;
        break;
    case 'a':
        device.attributes[key] = value;
        break;
    case 'A':
        device.properties[key] = value;
        break;
    default:
        break;
    }
}

[[noreturn]] void fail(const char *what, const std::string &devargs) {
    std::fprintf(stderr, "fault: %s: %s\n", what, devargs.c_str());
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    Config config;
    if (parse_devargs("udev(" + std::string(next_line(rest)) + ")", config))
        return 0;
    if (config.devices.size() != 1 || !std::holds_alternative<UdevSource>(config.devices[0]))
        return 0; // it closed the parenthesis and went on
    const auto &source = std::get<UdevSource>(config.devices[0]);
    fake::System system;
    fake::DeviceData device;
    while (!rest.empty()) {
        const std::string_view line = next_line(rest);
        if (!line.empty())
            learn(device, line);
        if (line.empty() || rest.empty())
            system.add(std::exchange(device, {}));
    }
    const Choice choice = choose(system.all(), source, MacAddress{2, 0, 0, 0, 0, 0x0a},
                                 [](const Device &d) { return d.path() == "/passed/by"; });
    const std::string &devargs = choice.answer.devargs;
    if (devargs.empty() == choice.answer.reason.empty())
        fail("a device and a reason, or neither", devargs);
    if (devargs.empty())
        return 0;
    if (choice.path == "/passed/by" || !system.devices.contains(choice.path))
        fail("not the device's", devargs);
    if (const char *fault = fault_in_device(devargs); fault != nullptr)
        fail(fault, devargs);
    const auto count = [](std::string_view text, char c) { return std::count(text.begin(), text.end(), c); };
    const std::string_view form = source.devargs.empty() ? std::string_view("a,b") : std::string_view(source.devargs);
    if (count(devargs, ',') > count(form, ',') || count(devargs, '(') > count(form, '('))
        fail("more arguments than the template has", devargs);
    return 0;
}
