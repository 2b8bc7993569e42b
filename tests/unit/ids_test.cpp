// SPDX-License-Identifier: BSD-3-Clause
#include "base/ids.h"

#include <gmock/gmock.h>

#include <type_traits>

namespace holdfast {
namespace {

static_assert(!std::is_convertible_v<PortId, QueueId> && !std::is_constructible_v<PortId, QueueId>);
static_assert(!std::is_convertible_v<QueueId, PortId> && !std::is_constructible_v<QueueId, PortId>);
static_assert(!std::is_convertible_v<SubIndex, QueueId> && !std::is_constructible_v<QueueId, SubIndex>);
static_assert(!std::is_convertible_v<std::uint16_t, PortId> && std::is_constructible_v<PortId, std::uint16_t>);
static_assert(!std::is_convertible_v<PortId, std::uint16_t> && !std::is_convertible_v<PortId, int>);
static_assert(!std::is_assignable_v<PortId &, QueueId> && !std::is_assignable_v<PortId &, std::uint16_t>);
static_assert(std::is_trivially_copyable_v<PortId> && sizeof(QueueId) == sizeof(std::uint16_t));

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };
static_assert(Comparable<PortId, PortId> && !Comparable<PortId, QueueId> && !Comparable<PortId, std::uint16_t>);

TEST(Id, IsNoneUntilItIsGivenANumber) {
    EXPECT_FALSE(PortId{}.valid());
    EXPECT_EQ(PortId{}.raw(), 0xffff);
    EXPECT_EQ(SubIndex{}.raw(), 0xff);
    EXPECT_TRUE(PortId{0}.valid());
    EXPECT_FALSE(PortId{0xffff}.valid());
}

TEST(Id, KeepsTheNumber) {
    EXPECT_EQ(QueueId{63}.raw(), 63);
}

TEST(Id, ComparesAsTheNumbersDo) {
    EXPECT_EQ(PortId{3}, PortId{3});
    EXPECT_NE(PortId{3}, PortId{4});
    EXPECT_LT(PortId{3}, PortId{4});
    EXPECT_GT(PortId{}, PortId{4});
}

} // namespace
} // namespace holdfast
