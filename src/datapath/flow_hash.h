// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/policy.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Which packets belong together? A number that is the same for all packets of a flow, from their headers alone. No
// DPDK in here: it is fuzzed as it stands.
//
// It believes nothing that a packet says of its own length: lengths move it forward only within what is there. What is
// not there, or not known, is left out, so each packet has a number; in the worst case that of its MAC addresses.

namespace holdfast::datapath {

/// This many bytes of a packet count, in however many segments they come.
inline constexpr std::size_t kFlowReach = 256;

/// The number of a packet that begins with these bytes. Its upper bits are as good as any.
/// Bound: two VLAN tags, eight extension headers.
[[nodiscard]] std::uint32_t flow_hash(const std::uint8_t *data, std::size_t size, XmitPolicy policy) noexcept;

namespace flow {

template <class T> [[gnu::always_inline]] inline T load(const std::uint8_t *from) noexcept {
    T out;
    std::memcpy(&out, from, sizeof(out));
    return out;
}

/// A number of 16 bits as it stands in a packet.
constexpr std::uint16_t wire(std::uint16_t n) noexcept {
    return std::endian::native == std::endian::little ? static_cast<std::uint16_t>((n << 8U) | (n >> 8U)) : n;
}

inline constexpr std::size_t kEthernet = 14;
inline constexpr std::size_t kIpv4 = 20;
inline constexpr std::size_t kIpv6 = 40;
inline constexpr std::size_t kPorts = 4;
inline constexpr std::uint16_t kTypeIpv4 = wire(0x0800);
inline constexpr std::uint16_t kTypeIpv6 = wire(0x86dd);
inline constexpr std::uint16_t kFragment = wire(0x3fff); ///< "more fragments" and the offset
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;

/// Odd, and without a pattern in their bits.
inline constexpr std::uint64_t kFactor[] = {0x9e37'79b9'7f4a'7c15, 0xc2b2'ae3d'27d4'eb4f, 0x1656'67b1'9e37'79f9};

[[gnu::always_inline]] inline std::uint32_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t h = a * kFactor[0] + b * kFactor[1];
    h ^= h >> 29U; // a product's low bits know nothing of its factors' high ones
    return static_cast<std::uint32_t>((h * kFactor[2]) >> 32U);
}
/// `more`, taken into a word for mix().
[[gnu::always_inline]] inline std::uint64_t fold(std::uint64_t sum, std::uint64_t more) noexcept {
    sum = (sum ^ more) * kFactor[2];
    return sum ^ (sum >> 32U);
}

/// MAC addresses and type, of whatever has 14 bytes.
[[gnu::always_inline]] inline std::uint32_t l2(const std::uint8_t *frame) noexcept {
    return mix(load<std::uint64_t>(frame), load<std::uint64_t>(frame + 6));
}
[[gnu::always_inline]] inline std::uint32_t l23_ipv4(const std::uint8_t *frame, const std::uint8_t *ip) noexcept {
    const std::uint64_t addresses = load<std::uint64_t>(ip + 12);
    return mix(fold(load<std::uint64_t>(frame), addresses), load<std::uint32_t>(frame + 8));
}
[[gnu::always_inline]] inline std::uint64_t addresses_ipv6(const std::uint8_t *ip) noexcept {
    std::uint64_t sum = load<std::uint64_t>(ip + 8);
    for (const std::size_t at : {16U, 24U, 32U})
        sum = fold(sum, load<std::uint64_t>(ip + at));
    return sum;
}
[[gnu::always_inline]] inline std::uint32_t l23_ipv6(const std::uint8_t *frame, const std::uint8_t *ip) noexcept {
    return mix(fold(load<std::uint64_t>(frame), addresses_ipv6(ip)), load<std::uint32_t>(frame + 8));
}
[[gnu::always_inline]] inline std::uint32_t l34(std::uint64_t addresses, std::uint8_t protocol,
                                                std::uint32_t ports) noexcept {
    return mix(addresses, (std::uint64_t{protocol} << 32U) | ports);
}

/// The same number as flow_hash()'s for the packets that there are most of: untagged, TCP or UDP, without options,
/// whole datagrams, their headers in one piece. False for others.
template <XmitPolicy P>
[[gnu::always_inline]] inline bool quick(const std::uint8_t *frame, std::size_t size, std::uint32_t &hash) noexcept {
    if constexpr (P == XmitPolicy::kL2) {
        if (size < kEthernet)
            return false;
        hash = l2(frame);
        return true;
    }
    const std::uint8_t *const ip = frame + kEthernet;
    const std::size_t ports = P == XmitPolicy::kL34 ? kPorts : 0;
    if (size < kEthernet + kIpv4 + ports)
        return false;
    const auto type = load<std::uint16_t>(frame + 12);
    const auto with_ports = [](std::uint8_t protocol) { return protocol == kTcp || protocol == kUdp; };
    if (type == kTypeIpv4) {
        if (P == XmitPolicy::kL23 && ip[0] >> 4U == 4) {
            hash = l23_ipv4(frame, ip);
            return true;
        }
        if (P == XmitPolicy::kL34 && ip[0] == 0x45 && (load<std::uint16_t>(ip + 6) & kFragment) == 0 &&
            with_ports(ip[9])) {
            hash = l34(load<std::uint64_t>(ip + 12), ip[9], load<std::uint32_t>(ip + kIpv4));
            return true;
        }
        return false;
    }
    if (type != kTypeIpv6 || size < kEthernet + kIpv6 + ports || ip[0] >> 4U != 6)
        return false;
    if (P == XmitPolicy::kL23) {
        hash = l23_ipv6(frame, ip);
        return true;
    }
    if (!with_ports(ip[6]))
        return false;
    hash = l34(addresses_ipv6(ip), ip[6], load<std::uint32_t>(ip + kIpv6));
    return true;
}

} // namespace flow
} // namespace holdfast::datapath
