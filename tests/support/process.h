// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/wait.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

/// What tests look at or change of the process that they run in.
namespace holdfast::test {

/// Number of open descriptors.
inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
        count++;
    return count;
}

/// Does a process that is not our child end soon? One that nobody has waited for yet has ended, too.
inline bool goes(pid_t pid) {
    return eventually([&] {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string text;
        if (!std::getline(stat, text))
            return true;
        const std::size_t name = text.rfind(')');
        return name != std::string::npos && text.substr(name + 2, 1) == "Z";
    });
}

/// Another handling of a signal, for a scope.
class SignalAction {
  public:
    SignalAction(int signal, void (*handler)(int)) : signal_(signal) {
        struct sigaction action{};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART;
        EXPECT_EQ(::sigaction(signal_, &action, &before_), 0);
    }
    ~SignalAction() { EXPECT_EQ(::sigaction(signal_, &before_, nullptr), 0); }
    SignalAction(const SignalAction &) = delete;
    SignalAction &operator=(const SignalAction &) = delete;

  private:
    int signal_;
    struct sigaction before_{};
};

/// A standard stream that is closed, for a scope.
class ClosedStream {
  public:
    explicit ClosedStream(int fd) : fd_(fd), saved_(::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
        EXPECT_GE(saved_, 0);
        EXPECT_EQ(::close(fd_), 0);
    }
    ~ClosedStream() {
        EXPECT_EQ(::dup2(saved_, fd_), fd_);
        EXPECT_EQ(::close(saved_), 0);
    }
    ClosedStream(const ClosedStream &) = delete;
    ClosedStream &operator=(const ClosedStream &) = delete;

  private:
    int fd_;
    int saved_;
};

} // namespace holdfast::test
