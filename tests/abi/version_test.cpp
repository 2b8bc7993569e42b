// SPDX-License-Identifier: BSD-3-Clause
#include "abi/driver_abi.h"

#include <gmock/gmock.h>

#include <rte_version.h>

#include <string>

namespace holdfast::abi {
namespace {

using testing::HasSubstr;

TEST(Version, AcceptsTheReleaseThatItWasBuiltFor) {
    EXPECT_TRUE(check_version({24, 11}, {24, 11}).ok());
}

TEST(Version, AcceptsThisProcess) {
    EXPECT_TRUE(check_version().ok());
    EXPECT_EQ(running().year, unsigned{RTE_VER_YEAR});
    EXPECT_EQ(running().month, unsigned{RTE_VER_MONTH});
    EXPECT_EQ(built_for().year, running().year);
    EXPECT_EQ(built_for().month, running().month);
}

TEST(Version, RefusesEveryOtherReleaseAndSaysWhatToDo) {
    int refused = 0;
    for (unsigned year = 17; year <= 30; year++) {
        for (unsigned month = 1; month <= 12; month++) {
            if (year == 24 && month == 11)
                continue;
            const Status s = check_version({24, 11}, {year, month});
            EXPECT_EQ(s.code(), -ENOTSUP) << year << "." << month;
            EXPECT_THAT(s.what(), HasSubstr("build the driver again"));
            refused++;
        }
    }
    EXPECT_EQ(refused, 14 * 12 - 1);
}

// A later release of the same ABI series has the same number in its libraries' names, and other driver structs.
TEST(Version, RefusesALaterReleaseOfTheSameAbiSeries) {
    EXPECT_FALSE(check_version({24, 11}, {25, 3}).ok());
    EXPECT_FALSE(check_version({24, 11}, {25, 7}).ok());
}

} // namespace
} // namespace holdfast::abi
