// SPDX-License-Identifier: BSD-3-Clause
#include "port/announce.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr rte_ether_addr kMac{.addr_bytes = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};

std::vector<std::uint8_t> bytes(const Frame &frame) {
    return {frame.bytes.begin(), frame.bytes.begin() + frame.length};
}

TEST(Announce, ARarpFrameIsTheOneOfRfc903) {
    std::vector<std::uint8_t> want{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x80, 0x35,
                                   0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x03, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55,
                                   0x00, 0x00, 0x00, 0x00, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x00, 0x00, 0x00, 0x00};
    want.resize(60);
    EXPECT_EQ(bytes(rarp_frame(kMac, 0)), want);
    want.insert(want.begin() + 12, {0x81, 0x00, 0x0f, 0xfe});
    EXPECT_EQ(bytes(rarp_frame(kMac, 4094)), want);
}

TEST(Announce, HasEachAddressInEachVlanOnce) {
    const rte_ether_addr other{.addr_bytes = {0x02, 0, 0, 0, 0, 1}};
    const Announcement all({kMac, other}, {1, 4095});
    ASSERT_EQ(all.size(), 6U);
    std::set<std::vector<std::uint8_t>> seen;
    for (std::size_t i = 0; i < all.size(); i++)
        seen.insert(bytes(all.frame(i)));
    std::set<std::vector<std::uint8_t>> want;
    for (const rte_ether_addr &mac : {kMac, other})
        for (const int vlan : {0, 1, 4095})
            want.insert(bytes(rarp_frame(mac, static_cast<std::uint16_t>(vlan))));
    EXPECT_EQ(seen, want);
    EXPECT_EQ(bytes(all.frame(0)), bytes(rarp_frame(kMac, 0))) << "the port's own comes first";
}

TEST(Announce, OfNothingIsEmpty) {
    EXPECT_EQ(Announcement().size(), 0U);
    EXPECT_EQ(Announcement({}, {1}).size(), 0U);
}

} // namespace
} // namespace holdfast
