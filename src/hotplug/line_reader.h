// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/descriptor.h"
#include "port/answer.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace holdfast {

/// Follows the last line that comes from a descriptor which somebody else gave us and keeps. Never waits for input, and
/// leaves the descriptor as it is: its flags, which it may share with other processes, and the position in a file. One
/// thread.
///
/// The descriptor is duplicated when it is opened, so what its number means later is of no concern.
class LineReader {
  public:
    using Clock = std::chrono::steady_clock;

    /// Why nothing can be read from a descriptor; nullptr if it looks as if something can.
    [[nodiscard]] static const char *fault_in(int fd) noexcept;

    /// 0, or an errno.
    int open(int fd) noexcept;
    /// To poll for input; -1: there is nothing to wait for, look() when an answer is needed.
    [[nodiscard]] int descriptor() const noexcept { return waits_ ? input_.get() : -1; }
    /// When to call look() at the latest.
    [[nodiscard]] Clock::time_point due() const noexcept { return due_; }
    /// Takes in what there is.
    void look();
    [[nodiscard]] Answer answer() const { return lines_.answer(); }
    /// Is the last line being written just now? Then the answer will be another one soon.
    [[nodiscard]] bool unfinished() const noexcept { return lines_.unfinished(); }

  private:
    enum class Kind : std::uint8_t {
        kFile,   ///< read from its end at each look, for it may have been written anew
        kStream, ///< opened a second time, so that it does not block
        kSocket, ///< read with a flag that says so
        kShared, ///< what cannot be opened again: asked first, which is enough unless somebody else reads it too
    };
    ssize_t read_some(char *to, std::size_t size) noexcept;
    void look_at_file();

    Descriptor input_;
    Kind kind_ = Kind::kShared;
    bool waits_ = false;
    off_t begin_ = 0; ///< where a file stood when it was given
    Clock::time_point due_ = Clock::time_point::max();
    LastLine lines_;
};

} // namespace holdfast
