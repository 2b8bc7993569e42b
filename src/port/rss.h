// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// Hash keys of at least this length agree in what ordinary packets need of them: the tuple of IPv6 with ports has 36
/// bytes, and its last bit sees 32 bits of the key.
inline constexpr std::size_t kPlainKey = 40;

/// A hash key for a device whose keys have another length, such that it hashes the same: cut, or padded with zeros.
/// Empty: there is none.
[[nodiscard]] std::vector<std::uint8_t> fit_rss_key(std::span<const std::uint8_t> key, std::size_t length);

/// The length of key that fits all of a port's sub-devices, once one more has keys of length `other`; 0: none.
[[nodiscard]] std::uint8_t common_key_length(std::uint8_t length, std::uint8_t other) noexcept;

/// A redirection table for a device whose table has another size, such that every hash goes to the same queue. Empty:
/// there is none.
[[nodiscard]] std::vector<std::uint16_t> fit_reta(std::span<const std::uint16_t> table, std::size_t size);

} // namespace holdfast
