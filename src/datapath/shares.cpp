// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/shares.h"

#include "base/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::datapath {
namespace {

static_assert(kMaxSubDevices == 16, "a preference is a digit of 4 bits");

/// How much a share wants a sub-device: highest random weight, as it is called. splitmix64's steps.
constexpr std::uint64_t weight(std::uint64_t share, std::uint64_t sub) noexcept {
    // Of 210,000 seeds the one with the most even shares: of 2, 3 and 4 sub-devices each gets its part within 10 %,
    // whichever of the first four they are.
    constexpr std::uint64_t kSeed = 209'645;
    std::uint64_t x = kSeed + (share * kMaxSubDevices + sub + 1) * 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30U)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27U)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31U);
}

/// All sub-devices, the most wanted one in the lowest four bits.
constexpr std::uint64_t order_of(std::uint64_t share) noexcept {
    std::array<std::uint64_t, kMaxSubDevices> weights{};
    std::array<std::uint8_t, kMaxSubDevices> order{};
    for (std::uint8_t sub = 0; sub < kMaxSubDevices; sub++) {
        const std::uint64_t w = weight(share, sub);
        std::size_t place = sub;
        for (; place != 0 && weights[place - 1] < w; place--) {
            weights[place] = weights[place - 1];
            order[place] = order[place - 1];
        }
        weights[place] = w;
        order[place] = sub;
    }
    std::uint64_t out = 0;
    for (std::size_t place = kMaxSubDevices; place-- != 0;)
        out = (out << 4U) | order[place];
    return out;
}

constexpr std::array<std::uint64_t, kShares> kOrders = [] {
    std::array<std::uint64_t, kShares> out{};
    for (std::size_t share = 0; share < out.size(); share++)
        out[share] = order_of(share);
    return out;
}();

} // namespace

void share_out(std::uint16_t members, Shares &out) noexcept {
    for (std::size_t share = 0; share < out.size(); share++) {
        std::uint64_t order = kOrders[share];
        while ((members >> (order & 0xfU) & 1U) == 0)
            order >>= 4U;
        out[share] = static_cast<std::uint8_t>(order & 0xfU);
    }
}

} // namespace holdfast::datapath
