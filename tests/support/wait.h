// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <thread>

namespace holdfast::test {

using namespace std::chrono_literals;

/// Looks until `condition` holds, at most for `limit`: on a busy machine threads come late, so no test counts on a
/// time.
template <class F> [[nodiscard]] bool eventually(F condition, std::chrono::milliseconds limit = 20s) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= until)
            return condition();
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// Does `condition` hold all the time, for that long?
template <class F> [[nodiscard]] bool always(F condition, std::chrono::milliseconds how_long) {
    return !eventually([&] { return !condition(); }, how_long);
}

} // namespace holdfast::test
