// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/line_reader.h"

#include "base/descriptor.h"
#include "port/answer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// A line that was begun counts as it is when nothing came for so long.
constexpr std::chrono::milliseconds kGrace = 100ms;
/// The most that one look takes in: what a pipe can hold. Who writes more without a pause has to wait.
constexpr std::size_t kAtOnce = 1U << 20;

} // namespace

const char *LineReader::fault_in(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0)
        return "this descriptor is not open";
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return "this descriptor is not open for reading";
    struct stat about{};
    if (::fstat(fd, &about) != 0 || S_ISDIR(about.st_mode))
        return "this descriptor is a directory's";
    return nullptr;
}

int LineReader::open(int fd) noexcept {
    struct stat about{};
    if (::fstat(fd, &about) != 0)
        return errno;
    input_ = Descriptor::copy(fd);
    if (!input_.open())
        return errno;
    lines_ = {};
    due_ = Clock::time_point::max();
    if (S_ISREG(about.st_mode)) {
        kind_ = Kind::kFile;
        begin_ = std::max<off_t>(::lseek(fd, 0, SEEK_CUR), 0);
        return 0;
    }
    waits_ = true;
    if (S_ISSOCK(about.st_mode)) {
        kind_ = Kind::kSocket;
        return 0;
    }
    // O_NONBLOCK belongs to the open file, and that is also the giver's: so ours has to be another one.
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd);
    Descriptor own = Descriptor::aside(Descriptor(::open(path.data(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)));
    kind_ = own.open() ? Kind::kStream : Kind::kShared;
    if (own.open())
        input_ = std::move(own);
    return 0;
}

/// -1: nothing there now. 0: the end.
ssize_t LineReader::read_some(char *to, std::size_t size) noexcept {
    for (;;) {
        if (kind_ == Kind::kShared) {
            pollfd ready{.fd = input_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 0) <= 0)
                return -1;
        }
        const ssize_t n =
            kind_ == Kind::kSocket ? ::recv(input_.get(), to, size, MSG_DONTWAIT) : ::read(input_.get(), to, size);
        if (n >= 0)
            return n;
        if (errno == EAGAIN)
            return -1;
        if (errno != EINTR)
            return 0;
    }
}

void LineReader::look_at_file() {
    struct stat about{};
    if (::fstat(input_.get(), &about) != 0)
        return;
    if (about.st_size < begin_)
        begin_ = 0; // it was cut and written anew
    // Enough to hold the longest line and to see that a longer one is longer, and the newline before and after it.
    std::array<char, kLongestAnswer + 3> part{};
    const off_t from = std::max<off_t>(begin_, about.st_size - static_cast<off_t>(part.size()));
    const ssize_t n = ::pread(input_.get(), part.data(), part.size(), from);
    lines_ = {};
    if (n > 0)
        lines_.feed({part.data(), static_cast<std::size_t>(n)});
    lines_.finish();
}

void LineReader::look() {
    if (!input_.open())
        return;
    if (kind_ == Kind::kFile) {
        look_at_file();
        return;
    }
    std::array<char, 4096> part{};
    std::size_t got = 0;
    ssize_t n = -1;
    while (got < kAtOnce && (n = read_some(part.data(), part.size())) > 0) {
        lines_.feed({part.data(), static_cast<std::size_t>(n)});
        got += static_cast<std::size_t>(n);
    }
    const auto now = Clock::now();
    // At its end, or when it gives more than can be read, waiting would be over at once, again and again.
    waits_ = n < 0;
    if (n == 0 || lines_.too_long() || (got == 0 && now >= due_))
        lines_.finish();
    if (!lines_.unfinished())
        due_ = Clock::time_point::max();
    else if (got > 0)
        due_ = now + kGrace;
}

} // namespace holdfast
