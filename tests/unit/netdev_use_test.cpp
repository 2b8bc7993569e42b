// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/netdev_use.h"

#include "support/network_namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

namespace holdfast {
namespace {

using test::in_own_namespace;
using test::ip_here;
using testing::Contains;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// ---- the kernel's own answers

NetdevUses look() {
    NetdevUses out;
    out.with_address.insert(4711); // of the last time
    EXPECT_EQ(KernelNetdevUse().look(out), 0);
    return out;
}

unsigned number(const char *name) {
    const unsigned index = if_nametoindex(name);
    EXPECT_NE(index, 0U) << name;
    return index;
}

TEST(NetdevUse, SeesNoUseInAnEmptyNamespace) {
    in_own_namespace([] {
        const NetdevUses uses = look();
        EXPECT_THAT(uses.names, Contains(Pair(1U, "lo")));
        EXPECT_THAT(uses.with_address, IsEmpty());
        EXPECT_THAT(uses.with_default_route, IsEmpty());
    });
}

TEST(NetdevUse, SeesAddresses) {
    in_own_namespace([] {
        ip_here("link add va type veth peer name vb");
        ip_here("link add vc type veth peer name vd");
        const unsigned va = number("va"), vb = number("vb"), vc = number("vc");
        EXPECT_THAT(look().names, Contains(Pair(va, "va")));
        // A label is not the interface's name, and an interface need not be up.
        ip_here("addr add 192.0.2.1/24 dev va label va:x");
        EXPECT_THAT(look().with_address, UnorderedElementsAre(va));
        ip_here("addr add 169.254.7.7/16 dev vb");
        ip_here("addr add 2001:db8::1/64 dev vc nodad");
        EXPECT_THAT(look().with_address, UnorderedElementsAre(va, vb, vc));
        ip_here("addr del 192.0.2.1/24 dev va");
        EXPECT_THAT(look().with_address, UnorderedElementsAre(vb, vc));
    });
}

TEST(NetdevUse, DoesNotCountTheAddressThatEachInterfaceHas) {
    in_own_namespace([] {
        ip_here("link add va type veth peer name vb");
        ip_here("link set va up");
        ip_here("link set vb up");
        ip_here("addr add fe80::77/64 dev va nodad");
        EXPECT_THAT(look().with_address, IsEmpty());
        ip_here("addr add fd00::77/64 dev va nodad");
        EXPECT_THAT(look().with_address, UnorderedElementsAre(number("va")));
    });
}

TEST(NetdevUse, SeesTheDefaultRouteOfIpv4) {
    in_own_namespace([] {
        ip_here("link add va type veth peer name vb");
        ip_here("link set va up");
        ip_here("link set vb up");
        ip_here("addr add 192.0.2.1/24 dev va");
        ip_here("route add 198.51.100.0/24 via 192.0.2.2");
        EXPECT_THAT(look().with_default_route, IsEmpty());
        ip_here("route add default via 192.0.2.2");
        EXPECT_THAT(look().with_default_route, UnorderedElementsAre(number("va")));
    });
}

TEST(NetdevUse, SeesTheDefaultRouteOfIpv6) {
    in_own_namespace([] {
        ip_here("link add va type veth peer name vb");
        ip_here("link set va up");
        ip_here("link set vb up");
        ip_here("-6 route add 2001:db8::/32 dev va");
        EXPECT_THAT(look().with_default_route, IsEmpty());
        ip_here("-6 route add default via fe80::1 dev va");
        EXPECT_THAT(look().with_default_route, UnorderedElementsAre(number("va")));
        EXPECT_THAT(look().with_address, IsEmpty());
    });
}

TEST(NetdevUse, SeesADefaultRouteOverSeveralInterfacesAndInAnotherTable) {
    in_own_namespace([] {
        for (const char *pair : {"va type veth peer name vb", "vc type veth peer name vd"})
            ip_here(std::string("link add ") + pair);
        for (const char *name : {"va", "vb", "vc", "vd"})
            ip_here(std::string("link set ") + name + " up");
        ip_here("route add default table 77 dev vd");
        EXPECT_THAT(look().with_default_route, UnorderedElementsAre(number("vd")));
        ip_here("route add default nexthop dev va weight 1 nexthop dev vb weight 1");
        EXPECT_THAT(look().with_default_route, UnorderedElementsAre(number("va"), number("vb"), number("vd")));
    });
}

TEST(NetdevUse, TakesADefaultRouteToNowhereForNone) {
    in_own_namespace([] {
        ip_here("route add unreachable default");
        ip_here("-6 route add blackhole default");
        EXPECT_THAT(look().with_default_route, IsEmpty());
    });
}

TEST(NetdevUse, ReadsAnswersOfManyDatagrams) {
    in_own_namespace([] {
        std::string script = "printf '";
        for (int i = 0; i < 150; i++)
            script += "link add v" + std::to_string(i) + " type veth peer name w" + std::to_string(i) +
                      "\\naddr add 10.0." + std::to_string(i) + ".1/24 dev v" + std::to_string(i) + "\\n";
        ASSERT_EQ(std::system((script + "' | ip -batch -").c_str()), 0); // NOLINT(cert-env33-c)
        const NetdevUses uses = look();
        EXPECT_EQ(uses.names.size(), 301U);
        EXPECT_EQ(uses.with_address.size(), 150U);
        EXPECT_THAT(uses.with_address, Contains(number("v149")));
    });
}

// ---- other answers

using Bytes = std::vector<std::byte>;

template <class T> void append(Bytes &to, const T &value) {
    const std::size_t at = to.size();
    to.resize(at + sizeof(value));
    std::memcpy(to.data() + at, &value, sizeof(value));
}

void pad(Bytes &to) {
    to.resize(NLMSG_ALIGN(to.size()));
}

template <class T> Bytes attribute(unsigned short type, const T &value) {
    Bytes out;
    append(out, rtattr{.rta_len = static_cast<unsigned short>(RTA_LENGTH(sizeof(value))), .rta_type = type});
    append(out, value);
    pad(out);
    return out;
}

template <class T>
Bytes message(unsigned short type, const T &body, const std::vector<Bytes> &attributes = {}, unsigned short flags = 0) {
    Bytes out(NLMSG_HDRLEN);
    append(out, body);
    pad(out);
    for (const Bytes &a : attributes)
        out.insert(out.end(), a.begin(), a.end());
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(out.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = flags;
    std::memcpy(out.data(), &header, sizeof(header));
    return out;
}

Bytes operator+(Bytes a, const Bytes &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Bytes link_message(int index, const char (&name)[4]) {
    return message(RTM_NEWLINK, ifinfomsg{.ifi_family = 0, .ifi_index = index}, {attribute(IFLA_IFNAME, name)});
}

Bytes address_message(unsigned index, unsigned char family = AF_INET, const std::vector<Bytes> &attributes = {}) {
    return message(RTM_NEWADDR, ifaddrmsg{.ifa_family = family, .ifa_index = index}, attributes);
}

Bytes address6_message(unsigned index, const char *text) {
    in6_addr address{};
    EXPECT_EQ(inet_pton(AF_INET6, text, &address), 1);
    return address_message(index, AF_INET6, {attribute(IFA_ADDRESS, address)});
}

Bytes route_message(const std::vector<Bytes> &attributes, unsigned char length = 0, unsigned char family = AF_INET,
                    unsigned char type = RTN_UNICAST) {
    return message(RTM_NEWROUTE, rtmsg{.rtm_family = family, .rtm_dst_len = length, .rtm_type = type}, attributes);
}

Bytes over(std::uint32_t index) {
    return attribute(RTA_OIF, index);
}

const Bytes kDone = message(NLMSG_DONE, std::int32_t{0});

TEST(NetdevUseMessages, AreTakenInUpToTheLast) {
    NetdevUses uses;
    EXPECT_EQ(take_in(link_message(5, "abc") + address_message(5) + route_message({over(6)}), uses), 0);
    EXPECT_EQ(take_in(address6_message(7, "2001:db8::1") + kDone + address_message(8), uses), 1);
    EXPECT_THAT(uses.names, UnorderedElementsAre(Pair(5U, "abc")));
    EXPECT_THAT(uses.with_address, UnorderedElementsAre(5U, 7U));
    EXPECT_THAT(uses.with_default_route, UnorderedElementsAre(6U));
    EXPECT_EQ(take_in({}, uses), 0);
}

TEST(NetdevUseMessages, LinkLocalAddressesEndAtTheirPrefix) {
    NetdevUses uses;
    EXPECT_EQ(take_in(address6_message(1, "fe80::1") + address6_message(2, "febf:ffff::1") +
                          address6_message(3, "fec0::1") + address6_message(4, "fe7f::1") + address6_message(5, "::1"),
                      uses),
              0);
    EXPECT_THAT(uses.with_address, UnorderedElementsAre(3U, 4U, 5U));
}

TEST(NetdevUseMessages, OfOtherKindsDoNotCount) {
    NetdevUses uses;
    EXPECT_EQ(take_in(address_message(1, AF_PACKET) + route_message({over(2)}, 1) +
                          route_message({over(3)}, 0, AF_MPLS) + route_message({over(4)}, 0, AF_INET, RTN_LOCAL) +
                          message(RTM_DELLINK, ifinfomsg{.ifi_index = 5}, {attribute(IFLA_IFNAME, "abc")}) +
                          link_message(0, "abc") + link_message(-1, "abc"),
                      uses),
              0);
    EXPECT_THAT(uses.names, IsEmpty());
    EXPECT_THAT(uses.with_address, IsEmpty());
    EXPECT_THAT(uses.with_default_route, IsEmpty());
}

TEST(NetdevUseMessages, TellOfErrors) {
    NetdevUses uses;
    EXPECT_EQ(take_in(message(NLMSG_ERROR, nlmsgerr{.error = -EPERM, .msg = {}}), uses), -EPERM);
    EXPECT_EQ(take_in(message(NLMSG_DONE, std::int32_t{-ENOMEM}), uses), -ENOMEM);
    EXPECT_EQ(take_in(message(NLMSG_ERROR, nlmsgerr{}), uses), -EBADMSG) << "an answer to something else";
    EXPECT_EQ(take_in(message(RTM_NEWADDR, ifaddrmsg{}, {}, NLM_F_DUMP_INTR), uses), -EAGAIN);
}

TEST(NetdevUseMessages, ADefaultRouteThatDoesNotSayItsInterfaceIsNotPassedOver) {
    NetdevUses uses;
    EXPECT_EQ(take_in(route_message({attribute(RTA_NH_ID, std::uint32_t{9})}), uses), -EOPNOTSUPP);
}

TEST(NetdevUseMessages, WithLengthsThatCannotBeAreRefused) {
    for (const std::uint32_t length : {0U, 1U, 15U, 1000U, 0x7fffffffU, 0xffffffffU}) {
        Bytes bad = address_message(5);
        std::memcpy(bad.data(), &length, sizeof(length));
        NetdevUses uses;
        EXPECT_EQ(take_in(address_message(4) + bad, uses), -EBADMSG) << length;
        EXPECT_THAT(uses.with_address, UnorderedElementsAre(4U));
    }
}

TEST(NetdevUseMessages, PartsWithLengthsThatCannotBeDoNotCount) {
    for (const unsigned short length : std::to_array<unsigned short>({0, 3, 200, 65535})) {
        in6_addr address = in6addr_loopback;
        Bytes bad = attribute(IFA_ADDRESS, address), hops;
        std::memcpy(bad.data(), &length, sizeof(length));
        append(hops, rtnexthop{.rtnh_len = sizeof(rtnexthop), .rtnh_ifindex = 3});
        append(hops, rtnexthop{.rtnh_len = length, .rtnh_ifindex = 4});
        std::array<std::byte, 2 * sizeof(rtnexthop)> both{};
        std::copy(hops.begin(), hops.end(), both.begin());
        NetdevUses uses;
        EXPECT_EQ(take_in(address_message(5, AF_INET6, {bad}) + route_message({attribute(RTA_MULTIPATH, both)}), uses),
                  0);
        EXPECT_THAT(uses.with_address, IsEmpty()) << length;
        EXPECT_THAT(uses.with_default_route, UnorderedElementsAre(3U)) << length;
    }
}

TEST(NetdevUseMessages, AreNotReadBeyondTheirEnd) {
    rtnexthop hop{};
    hop.rtnh_len = sizeof(hop);
    hop.rtnh_ifindex = 3;
    const Bytes whole =
        link_message(5, "abc") + address6_message(7, "2001:db8::1") + route_message({attribute(RTA_MULTIPATH, hop)});
    std::uint32_t x = 1;
    const auto next = [&] { return (x = x * 1664525U + 1013904223U) >> 8U; };
    for (int round = 0; round < 20'000; round++) {
        Bytes junk = whole;
        for (unsigned changes = next() % 4; changes > 0; changes--)
            junk[next() % junk.size()] = static_cast<std::byte>(next());
        junk.resize(next() % (junk.size() + 1));
        junk.shrink_to_fit(); // so that the sanitizer sees its end
        NetdevUses uses;
        (void)take_in(junk, uses);
        EXPECT_LE(uses.names.size() + uses.with_address.size() + uses.with_default_route.size(), 30U);
    }
    // Every attribute of a message may be cut off.
    for (std::size_t size = 0; size < whole.size(); size++) {
        NetdevUses uses;
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_LE(take_in(cut, uses), 0) << size;
    }
}

} // namespace
} // namespace holdfast
