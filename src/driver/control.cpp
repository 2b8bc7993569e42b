// SPDX-License-Identifier: BSD-3-Clause
#include "driver/control.h"

#include "base/ids.h"
#include "base/result.h"
#include "base/selection.h"
#include "driver/devargs.h"
#include "hotplug/host_thread.h"
#include "hotplug/line_reader.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/virtual_port.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 2s;
constexpr auto kLook = 2ms;

} // namespace

Status order(PortId port, SubIndex sub, const std::function<Status(VirtualPort &)> &request,
             const std::function<bool(const VirtualPort::SubInfo &)> &settled) {
    HostThread &host = HostThread::get();
    Status status = kNoPort;
    host.with(port, [&](VirtualPort &p) { status = request(p); });
    const auto until = Clock::now() + kPatience;
    while (status.ok()) {
        bool over = true;
        host.with(port, [&](VirtualPort &p) { over = settled(p.describe().subs.at(sub.raw())); });
        if (over)
            break;
        if (Clock::now() >= until)
            status = {-EINPROGRESS, "see it done yet; it goes on"};
        std::this_thread::sleep_for(kLook);
    }
    return status;
}

Status remove_sub(PortId port, SubIndex sub) {
    return order(
        port, sub, [sub](VirtualPort &p) { return p.remove_by_hand(sub); },
        [](const VirtualPort::SubInfo &s) { return s.state == "absent" && !s.probing; });
}

Status drop_sub(PortId port, SubIndex sub) {
    std::uint64_t tenant = 0;
    return order(
        port, sub, [sub, &tenant](VirtualPort &p) { return p.drop(sub, tenant); },
        [&tenant](const VirtualPort::SubInfo &s) { return s.vacant || s.tenant != tenant; });
}

Status plug_sub(PortId port, SubIndex sub) {
    return order(
        port, sub, [sub](VirtualPort &p) { return p.plug_by_hand(sub); },
        [](const VirtualPort::SubInfo &s) { return s.joined; });
}

Status switch_to(PortId port, SubIndex sub, Hold hold) {
    Status status = kNoPort;
    HostThread::get().with(port, [&](VirtualPort &p) { status = p.make_active(sub, hold); });
    return status;
}

Status unpin(PortId port) {
    Status status = kNoPort;
    HostThread::get().with(port, [&](VirtualPort &p) { status = p.release_active(); });
    return status;
}

Status add_sub(PortId port, std::string_view text, SubIndex &out, std::string &fault) {
    Config one;
    one.devices.emplace_back();
    std::optional<std::string> wrong = parse_sub_device(text, one.devices.front());
    if (const auto *descriptor = std::get_if<DescriptorSource>(&one.devices.front()); !wrong && descriptor != nullptr)
        if (const char *why = LineReader::fault_in(descriptor->fd); why != nullptr)
            wrong = complain(std::to_string(descriptor->fd), descriptor->at, why);
    if (wrong) {
        fault = std::move(*wrong);
        return {-EINVAL, "read the devargs of a sub-device"};
    }
    Status status = kNoPort;
    HostThread &host = HostThread::get();
    host.with(port, [&](VirtualPort &p) {
        one.exec_timeout = p.exec_timeout();
        std::vector<std::unique_ptr<DeviceSource>> sources;
        status = host.make_sources(one, sources);
        const auto *fixed = std::get_if<FixedDevice>(&one.devices.front());
        if (status.ok())
            status = p.add(fixed != nullptr ? fixed->devargs : std::string(), std::move(sources.front()), out);
    });
    return status;
}

} // namespace holdfast
