// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/published.h"
#include "support/drill.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace holdfast::drill {

/// One thread publishes values whose words are all alike, another reads: it gets whole ones only, and never an older
/// one after a newer one. A meeting is a read that found a newer value than the last, a refusal one that found the
/// same.
inline Tally published_reads(const Limits &limits) {
    struct Value {
        std::array<std::uint64_t, 200> words;
    };
    const auto shared = std::make_unique<Published<Value>>();
    std::atomic<bool> over{false};
    std::thread writer([&] {
        const Pinned pinned(1);
        Value value{};
        for (std::uint64_t n = 1; !over.load(std::memory_order_acquire); n++) {
            value.words.fill(n);
            shared->publish(value);
            linger(static_cast<unsigned>(n % 512));
        }
    });
    Tally tally;
    const Pinned pinned(0);
    const Clock::time_point end = Clock::now() + limits.run;
    std::uint64_t last = 0;
    Value value{};
    for (; tally.rounds % 256 != 0 || Clock::now() < end; tally.rounds++) {
        if (!shared->read(value))
            continue;
        for (const std::uint64_t word : value.words)
            tally.violations += word == value.words[0] ? 0 : 1;
        tally.violations += value.words[0] >= last ? 0 : 1;
        (value.words[0] > last ? tally.meetings : tally.refusals)++;
        last = value.words[0];
    }
    over.store(true, std::memory_order_release);
    writer.join();
    return tally;
}

} // namespace holdfast::drill
