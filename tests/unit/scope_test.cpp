// SPDX-License-Identifier: BSD-3-Clause
#include "base/scope.h"

#include <gmock/gmock.h>

#include <string>
#include <type_traits>

namespace holdfast {
namespace {

TEST(OnFailure, RunsAtTheEndOfTheScope) {
    int undone = 0;
    {
        const OnFailure undo([&]() noexcept { undone++; });
        EXPECT_EQ(undone, 0);
    }
    EXPECT_EQ(undone, 1);
}

TEST(OnFailure, DoesNothingAfterSuccess) {
    int undone = 0;
    {
        OnFailure undo([&]() noexcept { undone++; });
        undo.success();
    }
    EXPECT_EQ(undone, 0);
}

TEST(OnFailure, UndoesSeveralStepsInReverse) {
    std::string order;
    {
        const OnFailure first([&]() noexcept { order += '1'; });
        const OnFailure second([&]() noexcept { order += '2'; });
        OnFailure third([&]() noexcept { order += '3'; });
        third.success();
    }
    EXPECT_EQ(order, "21");
}

TEST(OnFailure, CannotBeCopiedSoItRunsOnce) {
    const auto action = []() noexcept {};
    using Undo = OnFailure<decltype(action)>;
    static_assert(!std::is_copy_constructible_v<Undo> && !std::is_move_constructible_v<Undo>);
}

} // namespace
} // namespace holdfast
