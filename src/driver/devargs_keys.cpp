// SPDX-License-Identifier: BSD-3-Clause
#include "driver/devargs_keys.h"

#include "base/policy.h"
#include "driver/devargs_part.h"
#include "port/config.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast {
namespace {

constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kMinute = 60 * kSecond;
constexpr std::uint64_t kDay = 24 * 60 * kMinute;

/// A key whose value is a number.
struct NumberKey {
    std::string_view key; ///< with its "="
    const char *of;       ///< of what it is a number
    std::uint64_t least, most;
    void (*put)(Config &, std::uint64_t);
};

constexpr const char *kMilliseconds = "milliseconds";

constexpr std::array<NumberKey, 6> kNumberKeys{{
    {"hotplug_poll=", kMilliseconds, 1, kDay,
     [](Config &c, std::uint64_t n) { c.hotplug_poll = std::chrono::milliseconds(n); }},
    {"exec_timeout=", kMilliseconds, 1, 10 * kMinute, // a probe waits for the first answer
     [](Config &c, std::uint64_t n) { c.exec_timeout = std::chrono::milliseconds(n); }},
    {"lsc_poll=", kMilliseconds, 1, kMinute,
     [](Config &c, std::uint64_t n) { c.policy.lsc_poll = std::chrono::milliseconds(n); }},
    {"down_delay=", kMilliseconds, 0, 10 * kMinute,
     [](Config &c, std::uint64_t n) { c.policy.down_delay = std::chrono::milliseconds(n); }},
    {"up_delay=", kMilliseconds, 0, 10 * kMinute,
     [](Config &c, std::uint64_t n) { c.policy.up_delay = std::chrono::milliseconds(n); }},
    {"announce=", "announcements", 0, 100,
     [](Config &c, std::uint64_t n) { c.policy.announce = static_cast<std::uint32_t>(n); }},
}};

/// A word and what it stands for, as a number.
struct Word {
    std::string_view text;
    unsigned value;
};

/// A key whose value is one of a few words.
struct WordKey {
    std::string_view key;
    std::array<Word, 4> words; ///< an empty one is none
    void (*put)(Config &, unsigned);
};

template <class Enum> constexpr Word word(std::string_view text, Enum value) {
    return {text, static_cast<unsigned>(value)};
}

constexpr std::array<WordKey, 7> kWordKeys{{
    {"switch_on=",
     {word("link", SwitchOn::kLink), word("removal", SwitchOn::kRemoval)},
     [](Config &c, unsigned v) { c.policy.switch_on = static_cast<SwitchOn>(v); }},
    {"reselect=",
     {word("always", Reselect::kAlways), word("better", Reselect::kBetter), word("failure", Reselect::kFailure)},
     [](Config &c, unsigned v) { c.policy.reselect = static_cast<Reselect>(v); }},
    {"announce_vlans=",
     {word("no", false), word("yes", true)},
     [](Config &c, unsigned v) { c.policy.announce_vlans = v != 0; }},
    {"rx=",
     {word("all", RxPolicy::kAll), word("active", RxPolicy::kActive)},
     [](Config &c, unsigned v) { c.policy.rx = static_cast<RxPolicy>(v); }},
    {"tx=",
     {word("active", TxPolicy::kActive), word("balance", TxPolicy::kBalance),
      word("round-robin", TxPolicy::kRoundRobin), word("broadcast", TxPolicy::kBroadcast)},
     [](Config &c, unsigned v) { c.policy.tx = static_cast<TxPolicy>(v); }},
    {"xmit_policy=",
     {word("l2", XmitPolicy::kL2), word("l23", XmitPolicy::kL23), word("l34", XmitPolicy::kL34)},
     [](Config &c, unsigned v) { c.policy.xmit = static_cast<XmitPolicy>(v); }},
    {"no_active=",
     {word("hold", NoActive::kHold), word("drop", NoActive::kDrop)},
     [](Config &c, unsigned v) { c.policy.no_active = static_cast<NoActive>(v); }},
}};

static_assert(kNumberKeys.size() + kWordKeys.size() <= 32);

std::string list_of(const WordKey &choice) {
    std::string out;
    for (const Word &w : choice.words)
        if (!w.text.empty())
            out.append(out.empty() ? "" : ", ").append(w.text);
    return out;
}

Error read_number(const Part &value, const NumberKey &which, Config &out) {
    std::uint64_t n = 0;
    const char *end = value.text.data() + value.text.size();
    const auto [stop, ec] = std::from_chars(value.text.data(), end, n);
    if (ec != std::errc{} || stop != end || n < which.least || n > which.most)
        return complain(value, std::string(which.key) + " takes " + which.of + ", from " + std::to_string(which.least) +
                                   " to " + std::to_string(which.most));
    which.put(out, n);
    return {};
}

Error read_word(const Part &value, const WordKey &which, Config &out) {
    for (const Word &w : which.words)
        if (!w.text.empty() && w.text == value.text) {
            which.put(out, w.value);
            return {};
        }
    return complain(value, std::string(which.key) + " takes one of " + list_of(which));
}

} // namespace

bool PlainKeys::read(const Part &item, Config &out, Error &error) {
    const auto matches = [&](std::string_view key, std::size_t number) {
        if (!item.text.starts_with(key))
            return false;
        if (given_[number])
            error = complain(item, std::string(key) + " is given twice");
        given_[number] = true;
        return true;
    };
    for (std::size_t i = 0; i < kNumberKeys.size(); i++)
        if (matches(kNumberKeys[i].key, i)) {
            if (!error)
                error = read_number(item.from(kNumberKeys[i].key.size()), kNumberKeys[i], out);
            return true;
        }
    for (std::size_t i = 0; i < kWordKeys.size(); i++)
        if (matches(kWordKeys[i].key, kNumberKeys.size() + i)) {
            if (!error)
                error = read_word(item.from(kWordKeys[i].key.size()), kWordKeys[i], out);
            return true;
        }
    return false;
}

} // namespace holdfast
