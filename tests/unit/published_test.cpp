// SPDX-License-Identifier: BSD-3-Clause
#include "base/published.h"

#include "support/published_drill.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace holdfast {
namespace {

/// Not a whole number of words.
struct Odd {
    std::array<char, 21> text;
};

/// As the driver makes it: in memory that comes zeroed.
template <class T> struct Zeroed {
    alignas(Published<T>) std::array<std::byte, sizeof(Published<T>)> memory{};
    Published<T> *operator->() { return std::launder(reinterpret_cast<Published<T> *>(memory.data())); }
};

TEST(Published, HasNoValueAtFirst) {
    Zeroed<int> p;
    int value = 7;
    EXPECT_FALSE(p->read(value));
    EXPECT_EQ(value, 7);
}

TEST(Published, GivesTheLastValue) {
    Zeroed<int> p;
    for (const int given : {3, -5, 0}) {
        p->publish(given);
        int value = 7;
        EXPECT_TRUE(p->read(value));
        EXPECT_EQ(value, given);
    }
}

TEST(Published, CarriesEveryByteOfAValueThatIsNoWholeNumberOfWords) {
    Zeroed<Odd> p;
    Odd given{};
    for (std::size_t i = 0; i < given.text.size(); i++)
        given.text[i] = static_cast<char>('a' + i);
    p->publish(given);
    struct {
        Odd value{};
        std::array<unsigned char, 16> behind{};
    } out;
    out.behind.fill(0x5a);
    EXPECT_TRUE(p->read(out.value));
    EXPECT_EQ(out.value.text, given.text);
    for (const unsigned char c : out.behind)
        EXPECT_EQ(c, 0x5a);
}

TEST(Published, AWriterThatWasKilledInTheMiddleLeavesNoAnswerAndNobodyWaiting) {
    Zeroed<int> p;
    p->publish(1);
    const std::uint64_t odd = 3;
    std::memcpy(p.memory.data(), &odd, sizeof odd); // the sequence, as it stands while a value is written
    int value = 0;
    EXPECT_FALSE(p->read(value));
}

TEST(Published, HammerReadersGetWholeValuesInOrder) {
    const drill::Tally tally = drill::until_met([] { return drill::published_reads({}); });
    EXPECT_EQ(tally.violations, 0U);
    EXPECT_TRUE(tally.met());
}

} // namespace
} // namespace holdfast
