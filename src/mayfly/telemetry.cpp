// SPDX-License-Identifier: BSD-3-Clause
// Telemetry: how the operator of an unmodified program commands its mayflies. "/mayfly/unplug,net_mayfly0".
#include "abi/log.h"
#include "mayfly/director.h"
#include "mayfly/totals.h"
#include "mayfly/vdev.h"

#include <rte_telemetry.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

namespace holdfast::mayfly {
namespace {

/// What stands behind the command's name: the device's name, then what the command wants.
using Words = std::vector<Part>;

std::string text_of(const Mac &mac) {
    char text[18];
    std::snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    return text;
}

const char *to_string(Device::Presence presence) noexcept {
    switch (presence) {
    case Device::Presence::kPlugged:
        return "plugged";
    case Device::Presence::kLeaving:
        return "leaving";
    case Device::Presence::kUnplugged:
        return "unplugged";
    }
    return "?";
}

int list(const Words & /*words*/, rte_tel_data *answer) {
    rte_tel_data_start_array(answer, RTE_TEL_STRING_VAL);
    for (const Device *device : all_devices())
        if (rte_tel_data_add_array_string(answer, device->name.c_str()) != 0)
            break; // telemetry's array is full
    return 0;
}

/// An existing device: a question is not to make one up.
Device *known_device(std::string_view name) {
    for (Device *device : all_devices())
        if (device->name == name)
            return device;
    return nullptr;
}

/// Sets that telemetry shows as arrays inside of an answer.
template <class List, class Text> void add_list(rte_tel_data *answer, const char *name, const List &list, Text &&text) {
    rte_tel_data *array = rte_tel_data_alloc();
    if (array == nullptr)
        return;
    rte_tel_data_start_array(array, RTE_TEL_STRING_VAL);
    for (const auto &element : list)
        if (rte_tel_data_add_array_string(array, text(element).c_str()) != 0)
            break;
    if (rte_tel_data_add_dict_container(answer, name, array, 0) != 0)
        rte_tel_data_free(array);
}

void add_settings(rte_tel_data *answer, const Settings &s) {
    const auto number = [answer](const char *name, std::uint64_t value) {
        rte_tel_data_add_dict_uint(answer, name, value);
    };
    number("configured", s.configured);
    number("started", s.started);
    number("promiscuous", s.promiscuous);
    number("allmulticast", s.allmulticast);
    number("link_wanted", s.link_wanted);
    number("mtu", s.mtu);
    number("rx_queues", s.rx_queues);
    number("tx_queues", s.tx_queues);
    number("rx_offloads", s.rx_offloads);
    number("tx_offloads", s.tx_offloads);
    number("rss_hf", s.rss_hf);
    number("reta_size", s.reta.size());
    number("timesync", s.timesync);
    number("fc_mode", s.fc_mode);
    rte_tel_data_add_dict_string(answer, "mac", text_of(s.mac).c_str());
    add_list(answer, "macs", s.macs, [](const auto &slot) { return text_of(slot.second); });
    add_list(answer, "mc_macs", s.mc_macs, text_of);
    std::vector<std::size_t> vlans;
    for (std::size_t id = 0; id < s.vlans.size(); id++)
        if (s.vlans.test(id))
            vlans.push_back(id);
    add_list(answer, "vlans", vlans, [](std::size_t id) { return std::to_string(id); });
}

int info(const Words &words, rte_tel_data *answer) {
    Device *device = known_device(words[0].text);
    if (device == nullptr)
        return -ENODEV;
    rte_tel_data_start_dict(answer);
    rte_tel_data_add_dict_string(answer, "name", device->name.c_str());
    rte_tel_data_add_dict_uint(answer, "id", device->id);
    rte_tel_data_add_dict_int(answer, "port", device->port_id());
    rte_tel_data_add_dict_string(answer, "presence", to_string(device->presence()));
    rte_tel_data_add_dict_uint(answer, "carrier", device->carrier() ? 1 : 0);
    for (unsigned i = 0; total_name(i) != nullptr; i++)
        rte_tel_data_add_dict_int(answer, total_name(i), total(*device, static_cast<enum rte_pmd_mayfly_counter>(i)));
    if (device->has_port())
        add_settings(answer, device->settings([](const Settings &s) { return s; }));
    return 0;
}

int calls(const Words &words, rte_tel_data *answer) {
    const Device *device = known_device(words[0].text);
    if (device == nullptr)
        return -ENODEV;
    rte_tel_data_start_dict(answer);
    for (std::size_t i = 0; i < kOps; i++) {
        const auto op = static_cast<Op>(i);
        rte_tel_data_add_dict_uint(answer, traits(op).name.data(), device->calls(op));
    }
    return 0;
}

int answer_with(rte_tel_data *answer, int rc, const std::string &why = {}) {
    rte_tel_data_start_dict(answer);
    rte_tel_data_add_dict_int(answer, "result", rc);
    if (!why.empty())
        rte_tel_data_add_dict_string(answer, "error", why.c_str());
    return 0;
}

/// Everything that a script can do: the words are put together as the script would have them, so that there is one
/// grammar. Telemetry's thread does not wait: what raises events is posted.
int command(const char *verb, const Words &words, rte_tel_data *answer) {
    Device *device = find_device(words[0].text);
    if (device == nullptr)
        return answer_with(answer, -EINVAL, "not a mayfly's name");
    std::string script = verb;
    for (std::size_t i = 1; i < words.size(); i++)
        script.append(":").append(words[i].text);
    std::vector<Step> steps;
    if (std::string why; !parse_script(script + "@0s", steps, why))
        return answer_with(answer, -EINVAL, why);
    if (steps.size() != 1)
        return answer_with(answer, -EINVAL, "one command at a time");
    return answer_with(answer, director().post(*device, steps[0].command));
}

template <const auto &Verb> int command(const Words &words, rte_tel_data *answer) {
    return command(Verb, words, answer);
}

int script(const Words &words, rte_tel_data *answer) {
    Device *device = find_device(words[0].text);
    if (device == nullptr || words.size() != 2)
        return answer_with(answer, -EINVAL, "wants a mayfly's name and a script");
    std::vector<Step> steps;
    if (std::string why; !parse_script(words[1].text, steps, why))
        return answer_with(answer, -EINVAL, why);
    (void)device->new_script(std::string(words[1].text));
    return answer_with(answer, director().play(*device, steps));
}

int clear(const Words &words, rte_tel_data *answer) {
    Device *device = find_device(words[0].text);
    if (device == nullptr)
        return answer_with(answer, -EINVAL, "not a mayfly's name");
    device->faults.clear();
    return answer_with(answer, 0);
}

/// The C function of a command.
template <int (*Handler)(const Words &, rte_tel_data *)>
int handle(const char * /*command*/, const char *parameters, rte_tel_data *answer) noexcept {
    try {
        return Handler(split(parameters == nullptr ? "" : parameters, ','), answer);
    } catch (...) { // our own code throws nothing: memory ran out
        return -ENOMEM;
    }
}

constexpr char kUnplug[] = "unplug";
constexpr char kPlanned[] = "planned";
constexpr char kPlug[] = "plug";
constexpr char kLinkUp[] = "linkup";
constexpr char kLinkDown[] = "linkdown";
constexpr char kFail[] = "fail";
constexpr char kDelay[] = "delay";
constexpr char kEvent[] = "event";
constexpr char kRecover[] = "recover";
constexpr char kRecovering[] = "recovering";
constexpr char kRecovered[] = "recovered";
constexpr char kRecoveryFailed[] = "recoveryfailed";
constexpr char kReset[] = "reset";

struct Entry {
    const char *name;
    telemetry_cb function;
    const char *help;
};
constexpr Entry kEntries[] = {
    {"/mayfly/list", handle<list>, "Lists all mayflies, also unplugged ones. Takes no parameters."},
    {"/mayfly/info", handle<info>, "What a mayfly is, counts and was told. Parameters: name"},
    {"/mayfly/calls", handle<calls>, "How often each operation was called. Parameters: name"},
    {"/mayfly/unplug", handle<command<kUnplug>>, "Pulls a mayfly. Parameters: name"},
    {"/mayfly/planned", handle<command<kPlanned>>, "Asks for a mayfly: planned unplug. Parameters: name"},
    {"/mayfly/plug", handle<command<kPlug>>, "Puts a mayfly back. Parameters: name"},
    {"/mayfly/linkup", handle<command<kLinkUp>>, "Connects the cable. Parameters: name"},
    {"/mayfly/linkdown", handle<command<kLinkDown>>, "Cuts the cable. Parameters: name"},
    {"/mayfly/fail", handle<command<kFail>>, "Lets calls fail. Parameters: name,operation,calls (-1: all),errno"},
    {"/mayfly/delay", handle<command<kDelay>>, "Makes an operation slow. Parameters: name,operation,milliseconds"},
    {"/mayfly/event", handle<command<kEvent>>, "Raises an ethdev event. Parameters: name,event"},
    {"/mayfly/recover", handle<command<kRecover>>, "Finds an error and recovers in 100 ms. Parameters: name"},
    {"/mayfly/recovering", handle<command<kRecovering>>, "Finds an error and begins to recover. Parameters: name"},
    {"/mayfly/recovered", handle<command<kRecovered>>, "Ends a recovery well. Parameters: name"},
    {"/mayfly/recoveryfailed", handle<command<kRecoveryFailed>>, "Ends a recovery badly. Parameters: name"},
    {"/mayfly/reset", handle<command<kReset>>, "Hangs and asks for a reset. Parameters: name"},
    {"/mayfly/clear", handle<clear>, "Takes back all failures and delays. Parameters: name"},
    {"/mayfly/script", handle<script>, "Starts a script. Parameters: name,script"},
};

} // namespace

void register_telemetry() noexcept {
    for (const Entry &entry : kEntries)
        if (rte_telemetry_register_cmd(entry.name, entry.function, entry.help) != 0)
            HOLDFAST_LOG(WARNING, "cannot register the telemetry command %s", entry.name);
}

} // namespace holdfast::mayfly
