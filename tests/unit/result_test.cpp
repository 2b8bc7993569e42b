// SPDX-License-Identifier: BSD-3-Clause
#include "base/result.h"

#include <gmock/gmock.h>

namespace holdfast {
namespace {

TEST(Status, IsFineByDefault) {
    const Status s;
    EXPECT_TRUE(s.ok());
    EXPECT_EQ(s.code(), 0);
    EXPECT_STREQ(s.what(), "");
}

TEST(Status, KeepsANegativeErrnoAndWhatCouldNotBeDone) {
    const Status s(-EBUSY, "stop a port");
    EXPECT_FALSE(s.ok());
    EXPECT_EQ(s.code(), -EBUSY);
    EXPECT_STREQ(s.what(), "stop a port");
}

TEST(Status, MakesAPositiveErrnoNegative) {
    EXPECT_EQ(Status(EINVAL, "x").code(), -EINVAL);
}

TEST(Status, OfACallIsFineUnlessTheResultIsNegative) {
    EXPECT_TRUE(check(0, "x").ok());
    EXPECT_TRUE(check(7, "count things").ok());
    EXPECT_EQ(check(-ENODEV, "x").code(), -ENODEV);
    EXPECT_STREQ(check(-ENODEV, "ask a port").what(), "ask a port");
}

} // namespace
} // namespace holdfast
