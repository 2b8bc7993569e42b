// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast::abi {

/// The port's link in its data, where ethdev reads it as one word while others write.
inline std::atomic_ref<std::uint64_t> link_word(rte_eth_dev &dev) noexcept {
    static_assert(sizeof(rte_eth_link) == sizeof(std::uint64_t) && alignof(rte_eth_link) == alignof(std::uint64_t));
    return std::atomic_ref(reinterpret_cast<std::uint64_t &>(dev.data->dev_link));
}

inline void store_link(rte_eth_dev &dev, const rte_eth_link &link) noexcept {
    // Its partner is outside: ethdev's own sequentially consistent load of the word.
    link_word(dev).store(std::bit_cast<std::uint64_t>(link), std::memory_order_seq_cst);
}

inline rte_eth_link load_link(rte_eth_dev &dev) noexcept {
    // Its partners are store_link() and ethdev's own stores, all of them sequentially consistent.
    return std::bit_cast<rte_eth_link>(link_word(dev).load(std::memory_order_seq_cst));
}

inline bool same_link(const rte_eth_link &a, const rte_eth_link &b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

} // namespace holdfast::abi
