// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/wait.h"

#include <rte_cycles.h>
#include <rte_pause.h>

namespace holdfast::mayfly {
namespace {
constexpr std::uint32_t kSpinBelowUs = 100;
}

void nap(std::uint32_t microseconds) noexcept {
    if (microseconds != 0)
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

void linger(std::uint32_t microseconds) noexcept {
    if (microseconds >= kSpinBelowUs) {
        nap(microseconds);
        return;
    }
    const std::uint64_t start = rte_get_tsc_cycles();
    const std::uint64_t cycles = rte_get_tsc_hz() / 1'000'000 * microseconds;
    while (rte_get_tsc_cycles() - start < cycles)
        rte_pause();
}

} // namespace holdfast::mayfly
