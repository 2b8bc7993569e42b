// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast {

/// A file descriptor that is closed with its owner.
class Descriptor {
  public:
    Descriptor() noexcept = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor() { reset(); }
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        if (this != &other)
            reset(std::exchange(other.fd_, -1));
        return *this;
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;

    [[nodiscard]] bool open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int get() const noexcept { return fd_; }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = fd;
    }

    /// The same open file under a number that is none of the standard streams': a process that has closed its input
    /// does not want to find ours there. Not open, with errno, if that fails.
    [[nodiscard]] static Descriptor aside(Descriptor from) noexcept {
        if (!from.open() || from.get() > STDERR_FILENO)
            return from;
        return copy(from.get());
    }
    /// Another descriptor for the same open file, not one of the standard streams'. Not open, with errno, if it fails.
    [[nodiscard]] static Descriptor copy(int fd) noexcept {
        return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    }

  private:
    int fd_ = -1;
};

} // namespace holdfast
