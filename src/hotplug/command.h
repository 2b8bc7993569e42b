// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/descriptor.h"
#include "port/answer.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace holdfast {

/// How a command ended.
struct CommandResult {
    enum class End : std::uint8_t {
        kExited,     ///< `status` is its exit status, 128 + n if signal n killed it
        kKilled,     ///< somebody killed the shell that ran it
        kTimedOut,   ///< it ran longer than it may
        kTooLong,    ///< it printed more than kLongestAnswer bytes
        kNotStarted, ///< `status` is an errno
    };
    End end = End::kExited;
    int status = 0;
    std::string output;
};

/// What a run says about a device. One that failed says that there is none, whatever it printed.
[[nodiscard]] Answer answer_of(const CommandResult &result, std::chrono::milliseconds limit);

/// Runs one shell command at a time and never waits for it: whoever has a loop polls its descriptors and calls step().
/// One thread.
///
/// The command gets the environment and the error stream of the process, no other descriptor of it, an empty input,
/// default signal handlers and a process group of its own. It has ended when its shell says so, not when its output is
/// closed: what it leaves running in the background is neither waited for nor killed, unless the command itself is.
///
/// How it ended is told through a pipe: the process's own handling of SIGCHLD (also if it is ignored, or if another
/// thread waits for any child) changes nothing here, and nothing here changes that.
class Command {
  public:
    using Clock = std::chrono::steady_clock;

    Command() = default;
    /// Kills what runs. Waits a moment for the kernel to take it away.
    ~Command();
    Command(const Command &) = delete;
    Command &operator=(const Command &) = delete;

    /// Starts a run, if none is under way. step() tells of its end, also of a start that failed.
    void start(const std::string &command, std::chrono::milliseconds limit);
    /// From start() until step() has given the result.
    [[nodiscard]] bool running() const noexcept { return running_; }
    /// Can start() be called? After a result it may take a moment until the process has gone.
    [[nodiscard]] bool idle() const noexcept { return !running_ && pid_ < 0; }
    /// To poll for input; -1: nothing to wait for.
    [[nodiscard]] std::array<int, 2> descriptors() const noexcept { return {output_.get(), status_.get()}; }
    /// When to call step() at the latest; max() when idle.
    [[nodiscard]] Clock::time_point due() const noexcept { return due_; }
    /// Goes as far as it can without waiting. Gives the result once.
    std::optional<CommandResult> step();

  private:
    int spawn(const std::string &command);
    bool read_status();
    bool read_output();
    void end(CommandResult::End how) noexcept;
    void kill_group() const noexcept;
    bool reap() noexcept;

    bool running_ = false;
    pid_t pid_ = -1; ///< the shell, until it is known to have been waited for; also the number of its process group
    Descriptor output_;
    Descriptor status_;
    Clock::time_point limit_{};
    Clock::time_point due_ = Clock::time_point::max();
    std::string status_text_;
    CommandResult result_;
};

} // namespace holdfast
