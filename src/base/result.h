// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>

namespace holdfast {

/// What became of a call: 0, or a negative errno and what could not be done ("set the MTU of a sub-device").
/// The text is static, so a Status can be made anywhere and allocates nothing. It is made where the failure happens
/// and logged once, where it leaves the driver.
class [[nodiscard]] Status {
  public:
    constexpr Status() noexcept = default;
    constexpr Status(int code, const char *what) noexcept : code_(code > 0 ? -code : code), what_(what) {}

    [[nodiscard]] constexpr bool ok() const noexcept { return code_ == 0; }
    [[nodiscard]] constexpr int code() const noexcept { return code_; }
    [[nodiscard]] constexpr const char *what() const noexcept { return what_; }

  private:
    int code_ = 0;
    const char *what_ = "";
};

/// A Status for a C call's return value: success when it is not negative.
[[nodiscard]] constexpr Status check(int rc, const char *what) noexcept {
    return rc < 0 ? Status(rc, what) : Status();
}

} // namespace holdfast
