// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>

namespace holdfast {

/// The interfaces of one network namespace by their indexes, and what they carry.
struct NetdevUses {
    std::map<unsigned, std::string> names;
    /// An IP address. The IPv6 addresses fe80::/10 do not count: the kernel gives one to each interface that is up,
    /// unasked.
    std::set<unsigned> with_address;
    /// A default route of IPv4 or IPv6, in whichever routing table.
    std::set<unsigned> with_default_route;
};

/// Says what the kernel's interfaces are used for.
class NetdevUse {
  public:
    NetdevUse() = default;
    virtual ~NetdevUse() = default;
    NetdevUse(const NetdevUse &) = delete;
    NetdevUse &operator=(const NetdevUse &) = delete;

    /// 0, or a negative errno: then it is not known.
    [[nodiscard]] virtual int look(NetdevUses &out) = 0;
};

/// Asks the kernel about the network namespace of the calling thread.
class KernelNetdevUse final : public NetdevUse {
  public:
    int look(NetdevUses &out) override;
};

/// Takes in one datagram of the kernel's answer to a dump. 0: more will come; 1: that was the last one; a negative
/// errno: the kernel's, or -EAGAIN when things changed meanwhile and it has to be asked again, or -EBADMSG.
[[nodiscard]] int take_in(std::span<const std::byte> datagram, NetdevUses &out);

} // namespace holdfast
