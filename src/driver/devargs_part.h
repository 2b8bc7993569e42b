// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "driver/devargs.h"
#include "port/config.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// What the files share that read devargs.
namespace holdfast {

inline constexpr std::size_t kNone = std::string_view::npos;

/// Nothing, or the sentence for the user.
using Error = std::optional<std::string>;

/// A part of the text and where it stands.
struct Part {
    std::string_view text;
    std::size_t at = 0; ///< from 0

    [[nodiscard]] Part from(std::size_t offset, std::size_t count = kNone) const {
        return {text.substr(offset, count), at + offset};
    }
};

inline std::string complain(const Part &part, std::string_view why) {
    return complain(part.text, part.at + 1, why);
}

/// What stands between the parentheses of udev(...).
Error read_udev(const Part &inner, UdevSource &out);

} // namespace holdfast
