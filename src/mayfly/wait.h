// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace holdfast::mayfly {

/// Control threads: sleeps.
void nap(std::uint32_t microseconds) noexcept;

/// Stays away for a while, as a burst that was preempted: spins when that is short, sleeps when it is not, so that the
/// thread it was meant to meet gets the core.
void linger(std::uint32_t microseconds) noexcept;

/// Waits until `done`, at most so long, giving others the core. For states that end within a burst.
template <class F> [[nodiscard]] bool wait_until(F &&done, std::chrono::milliseconds patience) {
    if (done())
        return true;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    do {
        std::this_thread::yield();
        if (done())
            return true;
    } while (std::chrono::steady_clock::now() < deadline);
    return done();
}

} // namespace holdfast::mayfly
