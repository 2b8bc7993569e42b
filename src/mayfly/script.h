// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/op.h"
#include "mayfly/text.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::mayfly {

/// One thing a mayfly can be told to do by a script, by telemetry or by the C API.
struct Command {
    enum class Kind : std::uint8_t {
        kUnplug,
        kPlanned,
        kPlug,
        kLinkDown,
        kLinkUp,
        kFail,
        kDelay,
        kEvent,
        kRecover,    ///< recovers, which takes a while and ends well
        kRecovering, ///< begins to recover
        kRecovered,
        kRecoveryFailed,
        kReset ///< hangs and wants a reset
    };
    Kind kind = Kind::kUnplug;
    Op op = Op::kProbe;     ///< kFail, kDelay
    std::int32_t calls = 0; ///< kFail: how many, -1 for all
    int error = 0;          ///< kFail: a positive errno
    std::uint32_t delay_us = 0;
    int event = 0; ///< kEvent
};

/// How long the recovery of kRecover takes.
inline constexpr std::uint32_t kRecoveryUs = 100'000;

/// A command and when, counted from the script's start.
struct Step {
    std::chrono::milliseconds at{0};
    Command command;
};

/// The largest delays; an lcore is never held longer than the first.
inline constexpr std::uint32_t kMaxBurstDelayUs = 1'000'000;
inline constexpr std::uint32_t kMaxDelayUs = 60'000'000;

/// Parses "unplug@2s;fail:mtu_set:3:EIO@2500ms;plug@4s" into steps in order of time (equal times keep their order).
/// False: `error` says which part is wrong, where it stands and why; `steps` is left alone.
[[nodiscard]] bool parse_script(std::string_view text, std::vector<Step> &steps, std::string &error);

} // namespace holdfast::mayfly
