// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "settings_rig.h"
#include <rte_pmd_mayfly.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

/// Many addresses, and how often each operation of a device was called.
namespace holdfast::test {

/// A port has this many addresses, the default one among them: ethdev keeps no more.
inline constexpr std::uint16_t kMacs = RTE_ETH_NUM_RECEIVE_MAC_ADDR;
static_assert(kMacs == 128);
inline constexpr std::uint16_t kFirstVlan = 1;
inline constexpr std::uint16_t kLastVlan = 4094;

/// The n-th address of a port; the first is the default one.
inline rte_ether_addr address(std::uint16_t n) {
    return {{0x02, 0, 0, 0x77, static_cast<std::uint8_t>(n >> 8U), static_cast<std::uint8_t>(n)}};
}

inline int add(std::uint16_t port, std::uint16_t n) {
    rte_ether_addr mac = address(n);
    return rte_eth_dev_mac_addr_add(port, &mac, 0);
}

inline int remove(std::uint16_t port, std::uint16_t n) {
    rte_ether_addr mac = address(n);
    return rte_eth_dev_mac_addr_remove(port, &mac);
}

inline int set_default(std::uint16_t port, std::uint16_t n) {
    rte_ether_addr mac = address(n);
    return rte_eth_dev_default_mac_addr_set(port, &mac);
}

using Calls = std::map<std::string, std::int64_t>;

/// How often each operation of a device was called, but for the one that the host thread calls when it likes.
inline Calls calls(const Mayfly &m) {
    Calls out;
    for (unsigned i = 0; rte_pmd_mayfly_op_name(i) != nullptr; i++)
        if (const char *op = rte_pmd_mayfly_op_name(i); std::string_view(op) != "link_update")
            out[op] = m.calls(op);
    return out;
}

/// The operations that were called since, and how often.
inline Calls since(const Calls &before, const Calls &now) {
    Calls out;
    for (const auto &[op, n] : now)
        if (n != before.at(op))
            out[op] = n - before.at(op);
    return out;
}

} // namespace holdfast::test
