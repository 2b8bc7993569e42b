// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/steering.h"

#include <rte_ethdev.h>

#include <algorithm>

namespace holdfast::mayfly {
namespace {

constexpr std::size_t kAddresses = 8; ///< bytes of the tuple that are addresses

/// The key that Microsoft's description of RSS gives as an example, and with it most NICs.
constexpr std::array<std::uint8_t, 40> kUsualKey = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// How much of the tuple the hash functions cover; 0: none of them is for IPv4 with UDP.
std::size_t covered(std::uint64_t functions) noexcept {
    if ((functions & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0)
        return std::tuple_size_v<decltype(flow_tuple(0))>;
    return (functions & RTE_ETH_RSS_IPV4) != 0 ? kAddresses : 0;
}

/// "Source only" and the like: the other half does not count.
void leave_out(std::array<std::uint8_t, 12> &tuple, std::uint64_t functions) noexcept {
    const auto clear = [&](std::uint64_t only, std::size_t from, std::size_t n) {
        if ((functions & only) != 0)
            std::fill_n(tuple.begin() + static_cast<std::ptrdiff_t>(from), n, std::uint8_t{0});
    };
    clear(RTE_ETH_RSS_L3_SRC_ONLY, 4, 4);
    clear(RTE_ETH_RSS_L3_DST_ONLY, 0, 4);
    clear(RTE_ETH_RSS_L4_SRC_ONLY, 10, 2);
    clear(RTE_ETH_RSS_L4_DST_ONLY, 8, 2);
}

} // namespace

std::array<std::uint8_t, 12> flow_tuple(std::uint16_t flow) noexcept {
    const auto port = static_cast<std::uint16_t>(kFirstFlowPort + flow);
    return {10,
            77,
            static_cast<std::uint8_t>(flow >> 8),
            static_cast<std::uint8_t>(flow),
            198,
            18,
            0,
            1, // a network for tests of devices
            static_cast<std::uint8_t>(port >> 8),
            static_cast<std::uint8_t>(port),
            0,
            9};
}

std::uint32_t toeplitz(std::span<const std::uint8_t> key, std::span<const std::uint8_t> input) noexcept {
    if (key.empty())
        return 0;
    // The 32 bits of the key that stand under the current bit of the input, and those that come up behind them.
    std::uint64_t window = 0;
    for (std::size_t i = 0; i < 8; i++)
        window = window << 8 | key[i % key.size()];
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < input.size(); i++) {
        for (unsigned bit = 0; bit < 8; bit++)
            if ((input[i] >> (7 - bit) & 1) != 0)
                hash ^= static_cast<std::uint32_t>(window >> (32 - bit));
        window = window << 8 | key[(i + 8) % key.size()];
    }
    return hash;
}

std::vector<std::uint8_t> default_rss_key(std::size_t size) {
    std::vector<std::uint8_t> key(size);
    for (std::size_t i = 0; i < size; i++)
        key[i] = kUsualKey[i % kUsualKey.size()];
    return key;
}

void Steering::update(const Settings &settings, std::uint16_t flows) noexcept {
    std::array<std::uint16_t, kMostQueues> shares{};
    const std::size_t length = covered(settings.rss_hf);
    for (std::uint16_t flow = 0; flow < flows; flow++) {
        std::uint64_t word = 0;
        std::uint16_t queue = 0;
        if (length != 0) {
            std::array<std::uint8_t, 12> tuple = flow_tuple(flow);
            leave_out(tuple, settings.rss_hf);
            const std::uint32_t hash = toeplitz(settings.rss_key, std::span(tuple).first(length));
            if (!settings.reta.empty())
                queue = settings.reta[hash % settings.reta.size()];
            else if (settings.rx_queues != 0)
                queue = static_cast<std::uint16_t>(hash % settings.rx_queues);
            word = std::uint64_t{hash} << 32 | kHashed;
        }
        if (queue < shares.size())
            shares[queue]++;
        flows_[flow].store(word | queue, std::memory_order_relaxed); // pairs: flow (Steering::of)
    }
    for (std::size_t i = 0; i < shares.size(); i++)
        shares_[i].store(shares[i], std::memory_order_relaxed); // pairs: flow (Steering::share)
}

} // namespace holdfast::mayfly
