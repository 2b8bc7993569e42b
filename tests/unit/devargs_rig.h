// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "driver/devargs.h"
#include "port/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// What the tests of the parser of devargs share.
namespace holdfast::test {

using namespace std::chrono_literals;

/// Parses a copy that ends where the text ends, so that ASan sees a look beyond.
inline std::optional<std::string> parse(std::string_view text, Config &out) {
    const auto exact = std::make_unique<char[]>(std::max<std::size_t>(text.size(), 1));
    std::copy(text.begin(), text.end(), exact.get());
    return parse_devargs({exact.get(), text.size()}, out);
}

inline Config parsed(std::string_view text) {
    Config config;
    const auto error = parse(text, config);
    EXPECT_FALSE(error) << *error;
    return config;
}

inline testing::Matcher<const Source &> fixed(const char *devargs) {
    return testing::VariantWith<FixedDevice>(FixedDevice{devargs});
}

inline testing::Matcher<const Source &> command(const char *text) {
    return testing::VariantWith<CommandSource>(CommandSource{text});
}

inline testing::Matcher<const Source &> descriptor(int fd, bool forced = false) {
    return testing::VariantWith<DescriptorSource>(DescriptorSource{.fd = fd, .forced = forced});
}

/// The sentence that refuses `text`. Also: what was in the configuration stays.
inline std::string refused(std::string_view text) {
    const Config before{.devices = {FixedDevice{"before"}},
                        .mac = std::array<std::uint8_t, 6>{2, 9, 9, 9, 9, 9},
                        .hotplug_poll = 77ms,
                        .exec_timeout = 78ms};
    Config config = before;
    const auto error = parse(text, config);
    EXPECT_TRUE(error) << text << " was accepted";
    EXPECT_EQ(config, before) << text;
    return error.value_or("");
}

/// What every refusal of a part begins with.
inline std::string quote(std::string_view part, std::size_t at) {
    return "\"" + std::string(part) + "\" at character " + std::to_string(at) + ": ";
}

} // namespace holdfast::test
