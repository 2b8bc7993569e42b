// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/netdev_use.h"

#include "base/descriptor.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace holdfast {
namespace {

using Piece = std::span<const std::byte>;
constexpr std::size_t kLargestDump = 65536;
constexpr int kDumpRounds = 10;

/// A T from the begin of `from`, which may be at any address. False: too short.
template <class T> bool peek(Piece from, T &out) noexcept {
    if (from.size() < sizeof(T))
        return false;
    std::memcpy(&out, from.data(), sizeof(T));
    return true;
}

Piece behind(Piece of, std::size_t size) noexcept {
    return size < of.size() ? of.subspan(size) : Piece();
}

/// Calls f(type, payload) for each attribute up to the first whose length cannot be.
template <class F> void each_attribute(Piece list, F f) {
    rtattr head{};
    while (peek(list, head) && head.rta_len >= sizeof(head) && head.rta_len <= list.size()) {
        f(head.rta_type, list.subspan(sizeof(head), head.rta_len - sizeof(head)));
        list = behind(list, RTA_ALIGN(head.rta_len));
    }
}

void take_in_link(Piece message, NetdevUses &out) {
    ifinfomsg link{};
    if (!peek(message, link) || link.ifi_index <= 0)
        return;
    each_attribute(behind(message, NLMSG_ALIGN(sizeof(link))), [&](unsigned type, Piece value) {
        if (type != IFLA_IFNAME)
            return;
        std::string name(value.size(), '\0');
        if (!value.empty())
            std::memcpy(name.data(), value.data(), value.size());
        name.resize(std::strlen(name.c_str())); // it comes with its final zero
        out.names[static_cast<unsigned>(link.ifi_index)] = std::move(name);
    });
}

void take_in_address(Piece message, NetdevUses &out) {
    ifaddrmsg head{};
    if (!peek(message, head))
        return;
    bool counts = head.ifa_family == AF_INET;
    if (head.ifa_family == AF_INET6)
        each_attribute(behind(message, NLMSG_ALIGN(sizeof(head))), [&](unsigned type, Piece value) {
            in6_addr address{};
            if ((type == IFA_ADDRESS || type == IFA_LOCAL) && peek(value, address))
                counts = counts || !IN6_IS_ADDR_LINKLOCAL(&address);
        });
    if (counts)
        out.with_address.insert(head.ifa_index);
}

/// False: there is a default route, and it does not say of which interface.
bool take_in_route(Piece message, NetdevUses &out) {
    rtmsg route{};
    if (!peek(message, route) || route.rtm_dst_len != 0 || route.rtm_type != RTN_UNICAST ||
        (route.rtm_family != AF_INET && route.rtm_family != AF_INET6))
        return true;
    bool found = false;
    const auto over = [&](auto index) {
        found = true;
        out.with_default_route.insert(static_cast<unsigned>(index));
    };
    each_attribute(behind(message, NLMSG_ALIGN(sizeof(route))), [&](unsigned type, Piece value) {
        std::uint32_t index = 0;
        if (type == RTA_OIF && peek(value, index))
            over(index);
        if (type != RTA_MULTIPATH)
            return;
        rtnexthop hop{};
        while (peek(value, hop) && hop.rtnh_len >= sizeof(hop) && hop.rtnh_len <= value.size()) {
            over(hop.rtnh_ifindex);
            value = behind(value, RTNH_ALIGN(hop.rtnh_len));
        }
    });
    return found;
}

/// Asks for everything of a type and takes it in.
int dump(int fd, std::uint16_t type, std::uint32_t number, NetdevUses &out) {
    struct {
        nlmsghdr header{};
        rtgenmsg what{};
    } request;
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof(rtgenmsg));
    request.header.nlmsg_type = type;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.header.nlmsg_seq = number;
    request.what.rtgen_family = AF_UNSPEC;
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (::sendto(fd, &request, request.header.nlmsg_len, 0, reinterpret_cast<const sockaddr *>(&kernel),
                 sizeof(kernel)) < 0)
        return -errno;
    const auto buffer = std::make_unique<std::array<std::byte, kLargestDump>>();
    for (;;) {
        sockaddr_nl from{};
        socklen_t from_size = sizeof(from);
        const ssize_t n =
            ::recvfrom(fd, buffer->data(), buffer->size(), MSG_TRUNC, reinterpret_cast<sockaddr *>(&from), &from_size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (from.nl_pid != 0) // not the kernel
            continue;
        if (static_cast<std::size_t>(n) > buffer->size())
            return -EMSGSIZE;
        if (const int rc = take_in(Piece(*buffer).first(static_cast<std::size_t>(n)), out); rc != 0)
            return rc < 0 ? rc : 0;
    }
}

} // namespace

int take_in(std::span<const std::byte> datagram, NetdevUses &out) {
    nlmsghdr header{};
    while (peek(datagram, header)) {
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > datagram.size())
            return -EBADMSG;
        if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
            return -EAGAIN;
        const Piece message = datagram.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
        std::int32_t error = 0; // which both of the first two begin with
        switch (header.nlmsg_type) {
        case NLMSG_DONE:
            return peek(message, error) && error < 0 ? error : 1;
        case NLMSG_ERROR:
            return peek(message, error) && error < 0 ? error : -EBADMSG;
        case RTM_NEWLINK:
            take_in_link(message, out);
            break;
        case RTM_NEWADDR:
            take_in_address(message, out);
            break;
        case RTM_NEWROUTE:
            // Routes by nexthop objects say so only if net.ipv4.nexthop_compat_mode was turned off.
            if (!take_in_route(message, out))
                return -EOPNOTSUPP;
            break;
        default:
            break;
        }
        datagram = behind(datagram, NLMSG_ALIGN(header.nlmsg_len));
    }
    return 0;
}

int KernelNetdevUse::look(NetdevUses &out) {
    int rc = -EAGAIN;
    for (int round = 0; rc == -EAGAIN && round < kDumpRounds; round++) {
        // A socket for each round: the rest of an answer that was broken off goes with it.
        const Descriptor socket =
            Descriptor::aside(Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)));
        if (!socket.open())
            return -errno;
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
            return -errno;
        out = {};
        rc = dump(socket.get(), RTM_GETLINK, 1, out);
        if (rc == 0)
            rc = dump(socket.get(), RTM_GETADDR, 2, out);
        if (rc == 0)
            rc = dump(socket.get(), RTM_GETROUTE, 3, out);
    }
    return rc;
}

} // namespace holdfast
