// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast {

/// How long a link has to be what it is before that counts.
struct LinkDelays {
    std::chrono::milliseconds down_delay{0};
    std::chrono::milliseconds up_delay{0};
};

/// What is made of a link's ups and downs: delays, and for one that flaps a time out that grows. One sub-device's;
/// under the port's mutex. Reads no clock.
///
/// A link that fails again and again within a minute has to be up without a break for 0, 1, 2, 4 ... 30 s before it is
/// trusted again; a minute in trust, and that is forgotten.
class LinkFilter {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Span = std::chrono::milliseconds;

    enum class Verdict : std::uint8_t {
        kDown,
        kShaky, ///< up, but not for long enough
        kGood,
    };

    explicit LinkFilter(LinkDelays delays = {}) noexcept : delays_(delays) {}

    /// The device starts. `trusted`: what is seen first counts without a delay. What is known of its past stays.
    Verdict begin(bool up, bool trusted, Time now) noexcept {
        up_ = up;
        failed_.reset();
        since_ = good_since_ = now;
        verdict_ = !up ? Verdict::kDown : trusted || required() == Span::zero() ? Verdict::kGood : Verdict::kShaky;
        return verdict_;
    }

    /// The device stops, or leaves: that is no failure of its link.
    void end() noexcept {
        verdict_ = Verdict::kDown;
        up_ = false;
    }

    /// The device is gone. Its link went first; if just now, that was no failure of the link.
    void gone(Time now) noexcept {
        if (failed_ && now - failed_->at < kPartOfRemoval) {
            hold_ = failed_->hold;
            fresh_ = failed_->fresh;
            failures_--;
            forgotten_ = std::min(forgotten_, failures_);
        }
        failed_.reset();
    }

    /// What the link is now.
    Verdict see(bool up, Time now) noexcept {
        if (std::exchange(up_, up) != up)
            since_ = now;
        if (up)
            failed_.reset();
        if (up) {
            if (verdict_ == Verdict::kGood)
                return verdict_;
            verdict_ = now - since_ >= required() ? Verdict::kGood : Verdict::kShaky;
            if (verdict_ == Verdict::kGood)
                good_since_ = now;
            return verdict_;
        }
        if (verdict_ == Verdict::kGood) {
            if (now - since_ < delays_.down_delay)
                return verdict_;
            fail(now);
        }
        return verdict_ = Verdict::kDown;
    }

    [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }
    /// When time alone changes the verdict; Time::max() if it does not.
    [[nodiscard]] Time due() const noexcept {
        if (up_)
            return verdict_ == Verdict::kShaky ? since_ + required() : Time::max();
        return verdict_ == Verdict::kGood ? since_ + delays_.down_delay : Time::max();
    }
    /// For how long it has to be up because it failed before.
    [[nodiscard]] Span held_down() const noexcept { return hold_; }
    /// How often a link that was trusted went down.
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_ - forgotten_; }
    void forget_failures() noexcept { forgotten_ = failures_; }
    /// The same since ever.
    [[nodiscard]] std::uint64_t all_failures() const noexcept { return failures_; }

  private:
    static constexpr std::chrono::seconds kForgottenAfter{60};
    static constexpr Span kFirstHold{1000};
    static constexpr Span kLongestHold{30000};
    static constexpr std::chrono::seconds kPartOfRemoval{3};

    [[nodiscard]] Span required() const noexcept { return std::max(delays_.up_delay, hold_); }

    void fail(Time now) noexcept {
        failures_++;
        if (now - good_since_ >= kForgottenAfter)
            fresh_ = true;
        failed_ = {.at = now, .hold = hold_, .fresh = fresh_};
        if (std::exchange(fresh_, false))
            hold_ = Span::zero();
        else
            hold_ = hold_ == Span::zero() ? kFirstHold : std::min(hold_ * 2, kLongestHold);
    }

    LinkDelays delays_;
    Verdict verdict_ = Verdict::kDown;
    bool up_ = false;
    bool fresh_ = true; ///< its last failure is long ago, or there was none
    Time since_{};      ///< when up_ became what it is
    Time good_since_{};
    Span hold_{0};
    struct Failure {
        Time at;
        Span hold; ///< before it
        bool fresh;
    };
    std::optional<Failure> failed_; ///< the last one, while the link has not been up since
    std::uint64_t failures_ = 0;
    std::uint64_t forgotten_ = 0;
};

} // namespace holdfast
