// SPDX-License-Identifier: BSD-3-Clause
#include "port/rss.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

std::vector<std::uint8_t> fit_rss_key(std::span<const std::uint8_t> key, std::size_t length) {
    if (key.size() != length && (key.size() < kPlainKey || length < kPlainKey))
        return {};
    std::vector<std::uint8_t> out(key.begin(), key.end());
    out.resize(length);
    return out;
}

std::uint8_t common_key_length(std::uint8_t length, std::uint8_t other) noexcept {
    if (length == other)
        return length;
    const std::uint8_t shorter = std::min(length, other);
    return shorter >= kPlainKey ? shorter : std::uint8_t{0};
}

std::vector<std::uint16_t> fit_reta(std::span<const std::uint16_t> table, std::size_t size) {
    if (table.empty() || size == 0)
        return {};
    const std::size_t larger = std::max(table.size(), size);
    if (larger % table.size() != 0 || larger % size != 0)
        return {}; // the remainders of one size do not follow from those of the other
    std::vector<std::uint16_t> out(size);
    for (std::size_t i = 0; i < size; i++)
        out[i] = table[i % table.size()];
    for (std::size_t i = 0; i < table.size(); i++)
        if (out[i % size] != table[i]) // a smaller table cannot tell these two apart
            return {};
    return out;
}

} // namespace holdfast
