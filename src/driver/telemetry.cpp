// SPDX-License-Identifier: BSD-3-Clause
#include "driver/telemetry.h"

#include "base/ids.h"
#include "base/result.h"
#include "base/selection.h"
#include "driver/control.h"
#include "hotplug/host_thread.h"
#include "port/virtual_port.h"

#include <rte_errno.h>
#include <rte_telemetry.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast {
namespace {

/// Reads a number up to `end` or the next comma, and steps over the comma.
template <class T> std::optional<T> take_number(std::string_view &text) {
    const std::string_view part = text.substr(0, text.find(','));
    T value{};
    const auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (ec != std::errc{} || end != part.data() + part.size())
        return {};
    text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
    return value;
}

struct Address {
    PortId port;
    SubIndex sub;
};

std::optional<PortId> read_port(const char *params) {
    std::string_view text = params != nullptr ? params : "";
    const auto port = take_number<std::uint16_t>(text);
    return port && text.empty() ? std::optional(PortId{*port}) : std::nullopt;
}

std::optional<Address> read_address(const char *params) {
    std::string_view text = params != nullptr ? params : "";
    const auto port = take_number<std::uint16_t>(text);
    const auto sub = take_number<std::uint8_t>(text);
    if (!port || !sub || !text.empty())
        return {};
    return Address{PortId{*port}, SubIndex{*sub}};
}

/// A text in telemetry's own limits, which drops what is longer.
void add_text(rte_tel_data *data, const char *name, const std::string &text) {
    rte_tel_data_add_dict_string(data, name, text.substr(0, RTE_TEL_MAX_STRING_LEN - 1).c_str());
}

std::string sentence(const Status &status) {
    return std::string("cannot ") + status.what() + ": " + rte_strerror(-status.code());
}

int answer(rte_tel_data *data, const Status &status, const char *done) {
    rte_tel_data_start_dict(data);
    rte_tel_data_add_dict_int(data, "status", status.code());
    add_text(data, "message", status.ok() ? done : sentence(status));
    return 0;
}

constexpr Status kBadPort{-EINVAL, "read the parameter: PORT"};
constexpr Status kBadParams{-EINVAL, "read the parameters: PORT,SUB"};

/// Carries out an order that names a sub-device.
template <class Order> int command(const char *params, rte_tel_data *data, const char *done, Order order) {
    const auto address = read_address(params);
    if (!address)
        return answer(data, kBadParams, "");
    return answer(data, order(address->port, address->sub), done);
}

int list(const char *, const char *, rte_tel_data *data) noexcept {
    rte_tel_data_start_array(data, RTE_TEL_INT_VAL);
    HostThread::get().each([&](const VirtualPort &port) { rte_tel_data_add_array_int(data, port.id().raw()); });
    return 0;
}

rte_tel_data *describe(const VirtualPort::SubInfo &sub, std::size_t index) {
    rte_tel_data *out = rte_tel_data_alloc();
    if (out == nullptr)
        return nullptr;
    rte_tel_data_start_dict(out);
    rte_tel_data_add_dict_int(out, "index", static_cast<std::int64_t>(index));
    add_text(out, "devargs", sub.devargs);
    add_text(out, "name", sub.devargs.substr(0, sub.devargs.find(',')));
    if (!sub.source.empty())
        add_text(out, "source", sub.source);
    add_text(out, "state", sub.vacant ? "vacant" : sub.state);
    rte_tel_data_add_dict_int(out, "wanted", sub.wanted ? 1 : 0);
    rte_tel_data_add_dict_int(out, "active", sub.active ? 1 : 0);
    rte_tel_data_add_dict_int(out, "port_id", sub.port.valid() ? sub.port.raw() : -1);
    add_text(out, "reason", sub.reason);
    add_text(out, "link", sub.link);
    rte_tel_data_add_dict_uint(out, "link_failures", sub.link_failures);
    rte_tel_data_add_dict_uint(out, "plugins", sub.plugins);
    rte_tel_data_add_dict_uint(out, "removals", sub.removals);
    rte_tel_data_add_dict_uint(out, "rx_packets", sub.stats.ipackets);
    rte_tel_data_add_dict_uint(out, "tx_packets", sub.stats.opackets);
    return out;
}

int info(const char *, const char *params, rte_tel_data *data) noexcept {
    const auto id = read_port(params);
    bool found = false;
    if (id)
        found = HostThread::get().with(*id, [&](VirtualPort &port) {
            const VirtualPort::Info about = port.describe();
            rte_tel_data_start_dict(data);
            rte_tel_data_add_dict_string(data, "name", about.name.c_str());
            rte_tel_data_add_dict_int(data, "active", about.active.valid() ? about.active.raw() : -1);
            rte_tel_data_add_dict_string(data, "chosen",
                                         about.hold == Hold::kFree   ? "by policy"
                                         : about.hold == Hold::kHeld ? "by hand"
                                                                     : "pinned");
            rte_tel_data_add_dict_uint(data, "switches", about.switches);
            rte_tel_data_add_dict_uint(data, "tx_refused_bursts", about.refused);
            rte_tel_data_add_dict_uint(data, "tx_dropped_packets", about.dropped);
            rte_tel_data_add_dict_uint(data, "rx_stale_packets", about.stale);
            rte_tel_data_add_dict_uint(data, "announcements", about.announcements);
            rte_tel_data *subs = rte_tel_data_alloc();
            if (subs == nullptr)
                return;
            // By position, as an object: telemetry takes no array of objects inside an object.
            rte_tel_data_start_dict(subs);
            for (std::size_t i = 0; i < about.subs.size(); i++)
                if (rte_tel_data *sub = describe(about.subs[i], i); sub != nullptr)
                    rte_tel_data_add_dict_container(subs, std::to_string(i).c_str(), sub, 0);
            rte_tel_data_add_dict_container(data, "subs", subs, 0);
        });
    return found ? 0 : answer(data, id ? kNoPort : kBadPort, "");
}

int make_active(const char *, const char *params, rte_tel_data *data) noexcept {
    return command(params, data, "switched",
                   [](PortId port, SubIndex sub) { return switch_to(port, sub, Hold::kHeld); });
}

int pin(const char *, const char *params, rte_tel_data *data) noexcept {
    return command(params, data, "pinned",
                   [](PortId port, SubIndex sub) { return switch_to(port, sub, Hold::kPinned); });
}

int release(const char *, const char *params, rte_tel_data *data) noexcept {
    const auto port = read_port(params);
    return answer(data, port ? unpin(*port) : kBadPort, "the policies choose again");
}

int remove(const char *, const char *params, rte_tel_data *data) noexcept {
    return command(params, data, "removed", remove_sub);
}

int plug(const char *, const char *params, rte_tel_data *data) noexcept {
    return command(params, data, "plugged", plug_sub);
}

int drop(const char *, const char *params, rte_tel_data *data) noexcept {
    return command(params, data, "dropped", drop_sub);
}

int add(const char *, const char *params, rte_tel_data *data) noexcept {
    std::string_view text = params != nullptr ? params : "";
    const auto port = take_number<std::uint16_t>(text);
    if (!port)
        return answer(data, {-EINVAL, "read the parameters: PORT,DEVARGS"}, "");
    SubIndex sub;
    std::string fault;
    const Status status = add_sub(PortId{*port}, text, sub, fault);
    rte_tel_data_start_dict(data);
    rte_tel_data_add_dict_int(data, "status", status.code());
    if (status.ok())
        rte_tel_data_add_dict_int(data, "sub", sub.raw());
    add_text(data, "message", status.ok() ? "added" : fault.empty() ? sentence(status) : fault);
    return 0;
}

} // namespace

void register_telemetry() {
    static const bool once = [] {
        rte_telemetry_register_cmd("/holdfast/list", list, "Lists the Holdfast ports. No parameter.");
        rte_telemetry_register_cmd("/holdfast/info", info,
                                   "Shows a Holdfast port and its sub-devices. Parameter: PORT");
        rte_telemetry_register_cmd("/holdfast/switch", make_active, "Makes a sub-device active. Parameters: PORT,SUB");
        rte_telemetry_register_cmd("/holdfast/pin", pin,
                                   "Makes a sub-device active, with a link or without. Parameters: PORT,SUB");
        rte_telemetry_register_cmd("/holdfast/unpin", release,
                                   "Ends a switch or pin: the policies choose again. Parameter: PORT");
        rte_telemetry_register_cmd("/holdfast/add", add,
                                   "Adds a sub-device. Parameters: PORT,dev(...) or another item of the devargs");
        rte_telemetry_register_cmd("/holdfast/drop", drop, "Removes a sub-device for good. Parameters: PORT,SUB");
        rte_telemetry_register_cmd("/holdfast/remove", remove, "Removes a sub-device by hand. Parameters: PORT,SUB");
        rte_telemetry_register_cmd("/holdfast/plug", plug, "Lets a removed sub-device back in. Parameters: PORT,SUB");
        return true;
    }();
    (void)once;
}

} // namespace holdfast
