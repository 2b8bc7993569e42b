// SPDX-License-Identifier: BSD-3-Clause
//
// holdfast_ask: asks a DPDK process's telemetry where there is no Python.
//
//   holdfast_ask SOCKET COMMAND        prints the answer, one line of JSON

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0}; // bounds a hang
constexpr std::size_t kMostOutput = 1U << 20U;

int fail(const char *what) {
    std::fprintf(stderr, "holdfast_ask: %s: %s\n", what, std::strerror(errno));
    return 1;
}

} // namespace

int main(int argc, char **argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (arguments.size() != 2 || arguments[0].size() >= sizeof(address.sun_path)) {
        std::fprintf(stderr, "usage: holdfast_ask SOCKET COMMAND\n");
        return 2;
    }
    std::memcpy(address.sun_path, arguments[0].c_str(), arguments[0].size());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience)) != 0 ||
        connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
        return fail(arguments[0].c_str());
    std::array<char, 4096> hello{};
    if (recv(fd, hello.data(), hello.size(), 0) <= 0)
        return fail("no greeting");
    const std::string &command = arguments[1];
    if (send(fd, command.data(), command.size(), 0) != static_cast<ssize_t>(command.size()))
        return fail("cannot ask");
    std::string answer(kMostOutput, '\0');
    const ssize_t got = recv(fd, answer.data(), answer.size(), 0);
    if (got <= 0)
        return fail("no answer");
    answer.resize(static_cast<std::size_t>(got));
    std::printf("%s\n", answer.c_str());
    close(fd);
    return 0;
}
