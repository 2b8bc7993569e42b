// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_cycles.h>

#include <cstdint>

namespace holdfast::mayfly {

inline constexpr std::uint64_t kNanoseconds = 1'000'000'000;

/// Cycles of the time stamp counter as nanoseconds, without overflow.
[[nodiscard]] inline std::uint64_t to_nanoseconds(std::uint64_t cycles) noexcept {
    const std::uint64_t hz = rte_get_tsc_hz();
    return cycles / hz * kNanoseconds + cycles % hz * kNanoseconds / hz;
}

/// The device's free-running clock, in nanoseconds: what its Rx timestamps and read_clock show.
[[nodiscard]] inline std::uint64_t device_clock() noexcept {
    return to_nanoseconds(rte_rdtsc());
}

/// The clock that IEEE 1588 sets and steers: the free-running one, moved and stretched. Not thread-safe: it belongs to
/// the settings.
class PtpClock {
  public:
    /// What it shows at a moment of the free-running clock.
    [[nodiscard]] std::int64_t at(std::uint64_t raw) const noexcept {
        const auto passed = static_cast<std::int64_t>(raw - raw_);
        return time_ + passed + static_cast<std::int64_t>(static_cast<double>(passed) * stretch_);
    }
    void set(std::uint64_t raw, std::int64_t time) noexcept {
        raw_ = raw;
        time_ = time;
    }
    void move(std::int64_t by) noexcept { time_ += by; }
    /// Parts per million, with 16 bits behind the point, as ethdev has it.
    void stretch(std::uint64_t raw, std::int64_t ppm) noexcept {
        set(raw, at(raw));
        stretch_ = static_cast<double>(ppm) / 65536.0 / 1e6;
    }

  private:
    std::uint64_t raw_ = 0;
    std::int64_t time_ = 0;
    double stretch_ = 0;
};

} // namespace holdfast::mayfly
