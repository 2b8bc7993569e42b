// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "port/sub_device.h"

#include <atomic>
#include <vector>

#include <poll.h>
#include <pthread.h>

namespace holdfast {

/// A control thread of ours, kept off the lcores' CPUs and from the application's signals, with a descriptor that wakes
/// it.
class Thread {
  public:
    explicit Thread(const char *name) noexcept : name_(name) {}
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;

    /// Starts it, if it does not run. One caller at a time.
    Status run();
    /// Ends it: when the process exits. Bounded: a thread that is stuck in a driver is left behind.
    void stop() noexcept;
    /// Ends the thread's wait(), now or the next one. Any thread, no lock, one system call.
    void wake() noexcept;

  protected:
    virtual ~Thread() = default;
    /// What the thread does, until stopping().
    virtual void loop() = 0;
    /// Waits until `when`, for wake(), or for one of `fds`.
    void wait(Clock::time_point when, std::vector<pollfd> &fds);
    [[nodiscard]] bool stopping() const noexcept;

  private:
    static unsigned entry(void *self) noexcept;

    const char *const name_;
    int wake_fd_ = -1;
    bool running_ = false;
    std::atomic<bool> stopping_{false};
    pthread_t thread_{};
};

} // namespace holdfast
