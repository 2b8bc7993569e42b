// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::mayfly {

/// A piece of a text, and where it began.
struct Part {
    std::string_view text;
    std::size_t at = 0;
};

/// Cuts a text at a separator. An empty text has one empty part, so "nothing" and "a;" are seen by the caller.
[[nodiscard]] inline std::vector<Part> split(std::string_view text, char separator, std::size_t at = 0) {
    std::vector<Part> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back({text.substr(0, end), at});
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
        at += end + 1;
    }
}

/// The whole text as a number, decimal or (0x) hexadecimal, not above `max`. No sign, no blank, nothing behind.
[[nodiscard]] inline std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) noexcept {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex)
        text.remove_prefix(2);
    std::uint64_t value = 0;
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || stop != end || value > max)
        return std::nullopt;
    return value;
}

/// "cannot read 'x' (at position 7 of 'a;b;x'): not a number": the sentence every parser of ours ends with.
[[nodiscard]] inline std::string complaint(std::string_view whole, const Part &part, std::string_view why) {
    std::string text = "cannot read '";
    text.append(part.text).append("' (at position ").append(std::to_string(part.at)).append(" of '");
    text.append(whole).append("'): ").append(why);
    return text;
}

} // namespace holdfast::mayfly
