// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/shares.h"

#include "base/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace holdfast::datapath {
namespace {

Shares shares_of(std::uint32_t members) {
    Shares out;
    out.fill(0xff);
    share_out(static_cast<std::uint16_t>(members), out);
    return out;
}

TEST(Shares, EachHasAMemberWhoeverTheMembersAre) {
    for (std::uint32_t members = 1; members < 1U << kMaxSubDevices; members++)
        for (const std::uint8_t sub : shares_of(members))
            ASSERT_TRUE(sub < kMaxSubDevices && (members >> sub & 1U) != 0) << members;
}

TEST(Shares, TheyAreNearlyEqual) {
    const auto worst = [](std::uint32_t members) {
        std::array<double, kMaxSubDevices> count{};
        for (const std::uint8_t sub : shares_of(members))
            count.at(sub) += 1;
        double out = 0;
        for (std::uint8_t sub = 0; sub < kMaxSubDevices; sub++)
            if ((members >> sub & 1U) != 0)
                out = std::max(out, std::abs(count[sub] * std::popcount(members) / kShares - 1));
        return out;
    };
    for (std::uint32_t members = 3; members < 16; members++)
        EXPECT_LE(worst(members), 0.101) << "of the first four: " << members;
    for (std::uint32_t n = 5; n <= 8; n++)
        EXPECT_LE(worst((1U << n) - 1), 0.15) << n;
    for (std::uint32_t n = 9; n <= kMaxSubDevices; n++)
        EXPECT_LE(worst((1U << n) - 1), 0.26) << n;
    for (std::uint32_t members = 1; members < 1U << kMaxSubDevices; members++)
        ASSERT_LT(worst(members), 1.0) << members;
}

TEST(Shares, WhenAMemberLeavesOnlyItsSharesGoToOthers) {
    for (std::uint32_t members = 3; members < 1U << kMaxSubDevices; members += 7) {
        const Shares before = shares_of(members);
        for (std::uint32_t gone = members; gone != 0; gone &= gone - 1) {
            const auto sub = static_cast<std::uint8_t>(std::countr_zero(gone));
            if (std::popcount(members) == 1)
                continue;
            const Shares after = shares_of(members & ~(1U << sub));
            for (std::size_t share = 0; share < kShares; share++)
                ASSERT_TRUE(before[share] == sub ? after[share] != sub : after[share] == before[share])
                    << members << " without " << unsigned{sub};
        }
    }
}

TEST(Shares, WhoComesBackGetsJustThoseAgain) {
    Shares shares = shares_of(0b1011);
    const Shares before = shares;
    share_out(0b1001, shares);
    EXPECT_NE(shares, before);
    share_out(0b1011, shares);
    EXPECT_EQ(shares, before);
}

} // namespace
} // namespace holdfast::datapath
