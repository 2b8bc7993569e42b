// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast::abi {

/// Puts a link into the port's data, where ethdev reads it as one word while others write. Returns true if it changed.
inline bool store_link(rte_eth_dev &dev, const rte_eth_link &link) noexcept {
    static_assert(sizeof(rte_eth_link) == sizeof(std::uint64_t) && alignof(rte_eth_link) == alignof(std::uint64_t));
    std::atomic_ref word(reinterpret_cast<std::uint64_t &>(dev.data->dev_link));
    const auto now = std::bit_cast<std::uint64_t>(link);
    // Its partner is outside: ethdev's own sequentially consistent load of the word.
    return word.exchange(now, std::memory_order_seq_cst) != now;
}

} // namespace holdfast::abi
