// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/script.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::mayfly {
namespace {

using Kind = Command::Kind;

constexpr std::pair<std::string_view, Kind> kPlain[] = {
    {"unplug", Kind::kUnplug},         {"planned", Kind::kPlanned},     {"plug", Kind::kPlug},
    {"linkdown", Kind::kLinkDown},     {"linkup", Kind::kLinkUp},       {"recover", Kind::kRecover},
    {"recovering", Kind::kRecovering}, {"recovered", Kind::kRecovered}, {"recoveryfailed", Kind::kRecoveryFailed},
    {"reset", Kind::kReset},
};

/// Longest time a step may lie ahead: a day. It keeps every sum of times far from overflowing.
constexpr std::uint64_t kLatestMs = 24ull * 60 * 60 * 1000;

/// A parse that ended: where and why. No part means success.
struct Refusal {
    Part part;
    const char *why = nullptr;
};

Refusal parse_time(const Part &part, std::chrono::milliseconds &at) {
    std::string_view digits = part.text;
    std::uint64_t unit = 0;
    if (digits.ends_with("ms")) {
        unit = 1;
        digits.remove_suffix(2);
    } else if (digits.ends_with("s")) {
        unit = 1000;
        digits.remove_suffix(1);
    } else {
        return {part, "a time ends in 's' or 'ms'"};
    }
    const auto number = parse_number(digits, kLatestMs / unit);
    if (!number || digits.starts_with("0x"))
        return {part, "a time is a whole number of at most one day"};
    at = std::chrono::milliseconds(*number * unit);
    return {};
}

Refusal parse_op(const Part &part, Op &op) {
    const auto known = find_op(part.text);
    if (!known)
        return {part, "no such operation"};
    op = *known;
    return {};
}

Refusal parse_fail(const std::vector<Part> &words, Command &command) {
    if (words.size() != 4)
        return {words[0], "fail wants an operation, a number of calls and an errno: fail:mtu_set:3:EIO"};
    if (Refusal r = parse_op(words[1], command.op); r.why != nullptr)
        return r;
    if (traits(command.op).cannot_fail)
        return {words[1], "this operation cannot fail"};
    if (words[2].text == "-1") {
        command.calls = -1;
    } else if (const auto calls = parse_number(words[2].text, 1'000'000'000)) {
        command.calls = static_cast<std::int32_t>(*calls);
    } else {
        return {words[2], "a number of calls is -1 (all) or 0 to 1000000000"};
    }
    const auto error = find_errno(words[3].text);
    if (!error)
        return {words[3], "neither an errno's name nor a number from 1 to 4095"};
    command.error = *error;
    return {};
}

Refusal parse_delay(const std::vector<Part> &words, Command &command) {
    if (words.size() != 3)
        return {words[0], "delay wants an operation and milliseconds: delay:dev_start:20"};
    if (Refusal r = parse_op(words[1], command.op); r.why != nullptr)
        return r;
    const bool fast = traits(command.op).fast;
    const auto ms = parse_number(words[2].text, (fast ? kMaxBurstDelayUs : kMaxDelayUs) / 1000);
    if (!ms)
        return {words[2], fast ? "a fast-path delay is 0 to 1000 ms" : "a delay is 0 to 60000 ms"};
    command.delay_us = static_cast<std::uint32_t>(*ms * 1000);
    return {};
}

Refusal parse_command(const Part &part, Command &command) {
    const std::vector<Part> words = split(part.text, ':', part.at);
    const std::string_view verb = words[0].text;
    for (const auto &[name, kind] : kPlain) {
        if (verb == name) {
            command.kind = kind;
            return words.size() == 1 ? Refusal{} : Refusal{words[1], "nothing can follow this command"};
        }
    }
    if (verb == "fail") {
        command.kind = Kind::kFail;
        return parse_fail(words, command);
    }
    if (verb == "delay") {
        command.kind = Kind::kDelay;
        return parse_delay(words, command);
    }
    if (verb == "event") {
        command.kind = Kind::kEvent;
        if (words.size() != 2)
            return {words[0], "event wants one event: event:INTR_RESET"};
        const auto event = find_event(words[1].text);
        if (!event)
            return {words[1], "no such event"};
        command.event = *event;
        return {};
    }
    return {words[0], "no such command"};
}

Refusal parse_step(const Part &part, Step &step) {
    if (part.text.empty())
        return {part, "an empty step"};
    const std::size_t mark = part.text.rfind('@');
    if (mark == std::string_view::npos)
        return {part, "a step has a time: unplug@2s"};
    if (Refusal r = parse_command({part.text.substr(0, mark), part.at}, step.command); r.why != nullptr)
        return r;
    return parse_time({part.text.substr(mark + 1), part.at + mark + 1}, step.at);
}

} // namespace

bool parse_script(std::string_view text, std::vector<Step> &steps, std::string &error) {
    std::vector<Step> parsed;
    for (const Part &part : split(text, ';')) {
        Step step;
        if (const Refusal r = parse_step(part, step); r.why != nullptr) {
            error = complaint(text, r.part, r.why);
            return false;
        }
        parsed.push_back(step);
    }
    std::stable_sort(parsed.begin(), parsed.end(), [](const Step &a, const Step &b) { return a.at < b.at; });
    steps = std::move(parsed);
    return true;
}

} // namespace holdfast::mayfly
