// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/netdev_watch.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {
namespace {

/// Calls `gone` for each RTM_DELLINK in a datagram. Each length is checked before what it covers is read.
void parse(const std::byte *data, std::size_t size, const std::function<void(unsigned)> &gone) {
    while (size >= sizeof(nlmsghdr)) {
        nlmsghdr header;
        std::memcpy(&header, data, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size)
            return;
        if (header.nlmsg_type == RTM_DELLINK && header.nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg))) {
            ifinfomsg link;
            std::memcpy(&link, data + NLMSG_HDRLEN, sizeof(link));
            // A bridge reports its ports' departure in the same way; the interface itself lives on.
            if (link.ifi_index > 0 && link.ifi_family == AF_UNSPEC)
                gone(static_cast<unsigned>(link.ifi_index));
        }
        const std::size_t step = NLMSG_ALIGN(header.nlmsg_len);
        if (step >= size)
            return;
        data += step;
        size -= step;
    }
}

} // namespace

NetdevWatch::~NetdevWatch() {
    if (fd_ >= 0)
        ::close(fd_);
}

bool NetdevWatch::open() noexcept {
    const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        return false;
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0) {
        ::close(fd);
        return false;
    }
    fd_ = fd;
    return true;
}

NetdevWatch::Heard NetdevWatch::read(const std::function<void(unsigned)> &gone) {
    Heard heard = Heard::kAll;
    alignas(nlmsghdr) std::array<std::byte, 32768> buffer;
    for (;;) {
        sockaddr_nl from{};
        socklen_t from_size = sizeof(from);
        const ssize_t n =
            ::recvfrom(fd_, buffer.data(), buffer.size(), MSG_TRUNC, reinterpret_cast<sockaddr *>(&from), &from_size);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            if (errno == ENOBUFS) {
                heard = Heard::kMissed;
                continue;
            }
            return heard; // EAGAIN: that was all
        }
        if (from.nl_pid != 0) // not the kernel
            continue;
        if (static_cast<std::size_t>(n) > buffer.size()) {
            heard = Heard::kMissed;
            continue;
        }
        parse(buffer.data(), static_cast<std::size_t>(n), gone);
    }
}

} // namespace holdfast
