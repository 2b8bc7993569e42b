// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/mutex.h"
#include "mayfly/device.h"
#include "mayfly/script.h"

#include <rte_thread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <vector>

namespace holdfast::mayfly {

/// mayfly's control thread: does to devices what scripts and callers want done, at its time, one thing after the other.
/// It starts with the first task and ends with the process (or when the module is unloaded).
class Director {
  public:
    using Clock = std::chrono::steady_clock;

    /// Has a command executed as soon as possible. 0, or a negative errno: the thread cannot be started.
    [[nodiscard]] int post(Device &device, const Command &command);
    /// Starts a script in place of what is left of the device's former one.
    [[nodiscard]] int play(Device &device, const std::vector<Step> &steps);
    /// Waits until everything posted for the device is done; scripts do not count.
    [[nodiscard]] bool wait(const Device &device, std::chrono::milliseconds patience);
    /// Ends the thread; what was not done is dropped. Waits a while for a command that is being executed, but not for
    /// ever: an event callback of a program that exits may never return.
    void stop() noexcept;

  private:
    struct Task {
        Device *device;
        Command command;
        bool scripted;
    };

    [[nodiscard]] int start_thread() HOLDFAST_TSA(requires_capability(mutex_));
    static std::uint32_t main(void *self) noexcept;
    void run() noexcept;
    [[nodiscard]] bool busy_with(const Device &device) const HOLDFAST_TSA(requires_capability(mutex_));

    Mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<Clock::time_point, Task> tasks_ HOLDFAST_TSA(guarded_by(mutex_));
    const Device *current_ HOLDFAST_TSA(guarded_by(mutex_)) = nullptr; ///< whose posted command runs now
    rte_thread_t thread_ HOLDFAST_TSA(guarded_by(mutex_)) = {};
    bool running_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    bool stop_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    bool ended_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
};

/// The one of this process; made at first use, never destroyed.
[[nodiscard]] Director &director();

} // namespace holdfast::mayfly
