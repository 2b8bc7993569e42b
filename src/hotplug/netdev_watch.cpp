// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/netdev_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {
namespace {

template <class T> T read_as(std::span<const std::byte> from) {
    T out;
    std::memcpy(&out, from.data(), sizeof(out));
    return out;
}

/// Steps over messages or attributes: calls f(header, what follows the header) for each that is complete. `Header`
/// begins with its own length, which is checked before what it covers is read.
template <class Header, class Length, class F>
void each_of(std::span<const std::byte> data, Length Header::*length, F f) {
    constexpr std::size_t kAlign = 4;
    while (data.size() >= sizeof(Header)) {
        const auto header = read_as<Header>(data);
        const std::size_t size = header.*length;
        if (size < sizeof(header) || size > data.size())
            return;
        f(header, data.subspan(sizeof(header), size - sizeof(header)));
        data = data.subspan(std::min((size + kAlign - 1) / kAlign * kAlign, data.size()));
    }
}

/// The MAC address in a message's attributes, as bytes.
std::string mac_in(std::span<const std::byte> attributes) {
    std::string out;
    each_of(attributes, &rtattr::rta_len, [&](const rtattr &attribute, std::span<const std::byte> value) {
        if (attribute.rta_type == IFLA_ADDRESS)
            out.assign(reinterpret_cast<const char *>(value.data()), value.size());
    });
    return out;
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

NetdevWatch::Heard NetdevWatch::read(const std::function<void(unsigned)> &gone,
                                     const std::function<void(unsigned)> &renumbered,
                                     const std::function<void(unsigned, bool)> &carrier) {
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
        each_of(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(n)), &nlmsghdr::nlmsg_len,
                [&](const nlmsghdr &header, std::span<const std::byte> body) {
                    if (body.size() < sizeof(ifinfomsg))
                        return;
                    const auto link = read_as<ifinfomsg>(body);
                    // A bridge reports its ports' departure in the same way; the interface itself lives on.
                    if (link.ifi_index <= 0 || link.ifi_family != AF_UNSPEC)
                        return;
                    const auto index = static_cast<unsigned>(link.ifi_index);
                    if (header.nlmsg_type == RTM_DELLINK) {
                        known_.erase(index);
                        gone(index);
                    } else if (header.nlmsg_type == RTM_NEWLINK) {
                        Known &known = known_[index];
                        std::string mac = mac_in(body.subspan(NLMSG_ALIGN(sizeof(ifinfomsg))));
                        if (std::exchange(known.mac, mac) != mac && renumbered)
                            renumbered(index);
                        constexpr unsigned kCarries = IFF_UP | IFF_RUNNING;
                        const bool now = (link.ifi_flags & kCarries) == kCarries;
                        if (std::exchange(known.carrier, now) != now && carrier)
                            carrier(index, now);
                    }
                });
    }
}

} // namespace holdfast
