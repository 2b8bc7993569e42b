// SPDX-License-Identifier: BSD-3-Clause
#include "base/trouble.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Trouble, IsOursOnlyWhenTheDeviceIsDoneWithItself) {
    Trouble trouble;
    EXPECT_FALSE(trouble.any());
    trouble.end();
    EXPECT_FALSE(trouble.any()) << "nothing had begun";
    trouble.begin();
    EXPECT_TRUE(trouble.any());
    EXPECT_FALSE(Trouble::wants_us(trouble.look()));
    trouble.end();
    EXPECT_TRUE(Trouble::wants_us(trouble.look()));
    EXPECT_FALSE(Trouble::wants_reset(trouble.look()));
    EXPECT_TRUE(trouble.settle(trouble.look()));
    EXPECT_FALSE(trouble.any());
}

TEST(Trouble, ASecondErrorDuringTheRecoveryIsNotSettledWithTheFirst) {
    Trouble trouble;
    trouble.begin();
    trouble.end();
    const Trouble::Seen seen = trouble.look();
    trouble.begin();
    EXPECT_FALSE(trouble.settle(seen));
    EXPECT_TRUE(trouble.any());
    EXPECT_FALSE(Trouble::wants_us(trouble.look())) << "it has begun again";
    trouble.end();
    EXPECT_TRUE(trouble.settle(trouble.look()));
}

TEST(Trouble, AWishForAResetIsOursAtOnceAndNotLost) {
    Trouble trouble;
    trouble.want_reset();
    const Trouble::Seen seen = trouble.look();
    EXPECT_TRUE(Trouble::wants_us(seen));
    EXPECT_TRUE(Trouble::wants_reset(seen));
    trouble.begin();
    EXPECT_FALSE(trouble.settle(seen));
    trouble.clear();
    EXPECT_FALSE(trouble.any());
}

} // namespace
} // namespace holdfast
