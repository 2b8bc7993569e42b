// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/flow_hash.h"

#include "base/policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace holdfast::datapath {
namespace {

using flow::load;
using flow::wire;

constexpr unsigned kMostTags = 2;
constexpr unsigned kMostExtensions = 8;
constexpr std::size_t kTag = 4;
constexpr std::uint16_t kTypeVlan = wire(0x8100);
constexpr std::uint16_t kTypeQinq = wire(0x88a8);
constexpr std::uint16_t kTypeOldQinq = wire(0x9100);

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kIpv6Fragment = 44;
constexpr std::uint8_t kDestination = 60;
constexpr std::uint8_t kSctp = 132;
constexpr std::size_t kExtension = 8; ///< the shortest one, and the unit of their lengths

/// What is behind the MAC addresses and tags, as far as it is there.
struct Bytes {
    const std::uint8_t *at;
    std::size_t size;
};

constexpr bool is_tag(std::uint16_t type) noexcept {
    return type == kTypeVlan || type == kTypeQinq || type == kTypeOldQinq;
}

/// Ports, if the protocol has some and they are there. Their place is the same in all of these.
std::uint32_t ports(std::uint8_t protocol, Bytes ip, std::size_t at) noexcept {
    const bool has = protocol == flow::kTcp || protocol == flow::kUdp || protocol == kSctp;
    return has && at + flow::kPorts <= ip.size ? load<std::uint32_t>(ip.at + at) : 0;
}

std::uint32_t l34_ipv4(Bytes ip) noexcept {
    const std::size_t header = std::size_t{ip.at[0] & 0xfU} * 4;
    // Only a datagram's first fragment has its ports, so they count in none of them.
    const bool whole = (load<std::uint16_t>(ip.at + 6) & flow::kFragment) == 0 && header >= flow::kIpv4;
    return flow::l34(load<std::uint64_t>(ip.at + 12), ip.at[9], whole ? ports(ip.at[9], ip, header) : 0);
}

std::uint32_t l34_ipv6(Bytes ip) noexcept {
    const std::uint64_t addresses = flow::addresses_ipv6(ip.at);
    std::uint8_t next = ip.at[6];
    std::size_t at = flow::kIpv6;
    for (unsigned n = 0; n < kMostExtensions && at + kExtension <= ip.size; n++) {
        const std::uint8_t *const header = ip.at + at;
        if (next == kIpv6Fragment) {
            // What comes behind is known in the first fragment only. One that is alone is no fragment.
            if ((load<std::uint16_t>(header + 2) & wire(0xfff9)) != 0)
                return flow::l34(addresses, next, 0);
            at += kExtension;
        } else if (next == kHopByHop || next == kRouting || next == kDestination) {
            at += (std::size_t{header[1]} + 1) * kExtension;
        } else {
            break;
        }
        next = header[0];
    }
    return flow::l34(addresses, next, ports(next, ip, at));
}

} // namespace

std::uint32_t flow_hash(const std::uint8_t *data, std::size_t size, XmitPolicy policy) noexcept {
    size = std::min(size, kFlowReach);
    if (size < flow::kEthernet)
        return 0;
    if (policy == XmitPolicy::kL2)
        return flow::l2(data);
    std::size_t at = flow::kEthernet;
    auto type = load<std::uint16_t>(data + 12);
    for (unsigned n = 0; n < kMostTags && is_tag(type) && at + kTag <= size; n++, at += kTag)
        type = load<std::uint16_t>(data + at + 2);
    const Bytes ip{.at = data + at, .size = size - at};
    const unsigned version = ip.size != 0 ? ip.at[0] >> 4U : 0;
    if (type == flow::kTypeIpv4 && version == 4 && ip.size >= flow::kIpv4)
        return policy == XmitPolicy::kL23 ? flow::l23_ipv4(data, ip.at) : l34_ipv4(ip);
    if (type == flow::kTypeIpv6 && version == 6 && ip.size >= flow::kIpv6)
        return policy == XmitPolicy::kL23 ? flow::l23_ipv6(data, ip.at) : l34_ipv6(ip);
    return flow::l2(data);
}

} // namespace holdfast::datapath
