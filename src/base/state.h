// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace holdfast {

/// How far a sub-device has come. A sub-device moves one step at a time, up or down.
enum class State : std::uint8_t {
    kAbsent,     ///< no port: not there yet, gone, or removed by hand
    kProbed,     ///< an ethdev port that we own
    kConfigured, ///< has the virtual port's configuration and queues
    kStarted,    ///< runs; its gate may be open
};

[[nodiscard]] constexpr State step_up(State s) noexcept {
    return s == State::kStarted ? s : static_cast<State>(static_cast<std::uint8_t>(s) + 1);
}

[[nodiscard]] constexpr State step_down(State s) noexcept {
    return s == State::kAbsent ? s : static_cast<State>(static_cast<std::uint8_t>(s) - 1);
}

/// May a sub-device go from one state to the other in one step? The one exception to "one step at a time": a port that
/// vanished under us (DESTROY) is absent at once, for there is nothing left that a step could be taken on.
[[nodiscard]] constexpr bool may_move(State from, State to) noexcept {
    return from != to && (to == step_up(from) || to == step_down(from) || to == State::kAbsent);
}

/// The step that brings `actual` nearer to `wanted`.
[[nodiscard]] constexpr State step_towards(State actual, State wanted) noexcept {
    return actual < wanted ? step_up(actual) : actual > wanted ? step_down(actual) : actual;
}

[[nodiscard]] constexpr const char *to_string(State s) noexcept {
    switch (s) {
    case State::kAbsent:
        return "absent";
    case State::kProbed:
        return "probed";
    case State::kConfigured:
        return "configured";
    case State::kStarted:
        return "started";
    }
    return "?";
}

} // namespace holdfast
