// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/netdev_watch.h"

#include "support/network_namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::in_own_namespace;
using test::ip_here;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Heard = NetdevWatch::Heard;

struct Report {
    std::vector<unsigned> gone;
    Heard heard = Heard::kAll;
};

/// All that is there now.
Report hear(NetdevWatch &watch) {
    Report out;
    out.heard = watch.read([&](unsigned index) { out.gone.push_back(index); });
    return out;
}

/// Listens until an interface was reported; the kernel sends when it has time.
std::vector<unsigned> hear_of(NetdevWatch &watch, unsigned index) {
    std::vector<unsigned> gone;
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (std::find(gone.begin(), gone.end(), index) == gone.end() && std::chrono::steady_clock::now() < until) {
        pollfd fd{.fd = watch.fd(), .events = POLLIN, .revents = 0};
        (void)::poll(&fd, 1, 1000);
        const Report now = hear(watch);
        EXPECT_EQ(now.heard, Heard::kAll);
        gone.insert(gone.end(), now.gone.begin(), now.gone.end());
    }
    return gone;
}

TEST(NetdevWatch, HearsOfInterfacesThatDisappearAndOfNothingElse) {
    in_own_namespace([] {
        NetdevWatch watch;
        EXPECT_EQ(watch.fd(), -1);
        ASSERT_TRUE(watch.open());
        ip_here("link add va type veth peer name vb");
        const unsigned va = if_nametoindex("va"), vb = if_nametoindex("vb");
        ASSERT_NE(va, 0U);
        ip_here("link set va up");
        ip_here("link set vb up");
        ip_here("link set va address 02:00:00:00:00:01 mtu 1400");
        ip_here("link set va down");
        ip_here("link set vb down");
        ip_here("link set vb name other");
        // The last event of this list has come for sure when that of the next deletion comes.
        ip_here("link add vc type veth peer name vd");
        const unsigned vc = if_nametoindex("vc");
        ip_here("link del vc");
        const std::vector<unsigned> first = hear_of(watch, vc);
        EXPECT_THAT(first, Not(Contains(va)));
        EXPECT_THAT(first, Not(Contains(vb)));
        ip_here("link del va"); // takes its peer along
        std::vector<unsigned> then = hear_of(watch, va);
        if (std::find(then.begin(), then.end(), vb) == then.end())
            for (const unsigned index : hear_of(watch, vb))
                then.push_back(index);
        EXPECT_THAT(then, Contains(va));
        EXPECT_THAT(then, Contains(vb));
    });
}

TEST(NetdevWatch, APortThatLeavesABridgeIsStillThere) {
    in_own_namespace([] {
        ip_here("link add va type veth peer name vb");
        ip_here("link add hfbr type bridge");
        ip_here("link set va master hfbr");
        NetdevWatch watch;
        ASSERT_TRUE(watch.open());
        const unsigned va = if_nametoindex("va"), br = if_nametoindex("hfbr");
        ip_here("link set va nomaster");
        ip_here("link del hfbr");
        EXPECT_THAT(hear_of(watch, br), Not(Contains(va)));
    });
}

TEST(NetdevWatch, ListensInTheNamespaceThatItWasOpenedIn) {
    in_own_namespace([] {
        ip_here("link add here type veth peer name peer");
        const unsigned here = if_nametoindex("here");
        NetdevWatch watch;
        ASSERT_TRUE(watch.open());
        std::vector<unsigned> elsewhere;
        in_own_namespace([&] {
            ip_here("link add va type veth peer name vb");
            elsewhere = {if_nametoindex("va"), if_nametoindex("vb")};
            ip_here("link del va");
        });
        std::thread([&] { ip_here("link del here"); }).join(); // another thread of this namespace
        const std::vector<unsigned> gone = hear_of(watch, here);
        EXPECT_THAT(gone, Contains(here));
        for (const unsigned index : elsewhere) // numbers may be the same in both
            if (index != here && index != here - 1 && index != here + 1) {
                EXPECT_THAT(gone, Not(Contains(index)));
            }
    });
}

TEST(NetdevWatch, SaysThatItMissedSomethingAndGoesOn) {
    in_own_namespace([] {
        NetdevWatch watch;
        ASSERT_TRUE(watch.open());
        const int smallest = 1; // the kernel rounds up to what one message needs
        ASSERT_EQ(::setsockopt(watch.fd(), SOL_SOCKET, SO_RCVBUF, &smallest, sizeof(smallest)), 0);
        for (int i = 0; i < 4; i++) {
            ip_here("link add va type veth peer name vb");
            ip_here("link del va");
        }
        EXPECT_EQ(hear(watch).heard, Heard::kMissed);
        EXPECT_EQ(hear(watch).heard, Heard::kAll) << "once is enough";
        const int large = 1 << 20;
        ASSERT_EQ(::setsockopt(watch.fd(), SOL_SOCKET, SO_RCVBUF, &large, sizeof(large)), 0);
        ip_here("link add va type veth peer name vb");
        const unsigned va = if_nametoindex("va");
        ip_here("link del va");
        EXPECT_THAT(hear_of(watch, va), Contains(va));
    });
}

// ---- messages that the kernel does not send

struct Message {
    nlmsghdr header{};
    ifinfomsg link{};
};

Message deletion(int index, unsigned char family = AF_UNSPEC) {
    Message m;
    m.header.nlmsg_len = NLMSG_LENGTH(sizeof(ifinfomsg));
    m.header.nlmsg_type = RTM_DELLINK;
    m.link.ifi_family = family;
    m.link.ifi_index = index;
    return m;
}

using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes a, const Bytes &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Bytes bytes(const Message &m, std::size_t n = sizeof(Message)) {
    Bytes out(sizeof(m));
    std::memcpy(out.data(), &m, sizeof(m));
    out.resize(n);
    return out;
}

TEST(NetdevWatch, IgnoresMessagesOfOtherProcesses) {
    in_own_namespace([] {
        NetdevWatch watch;
        ASSERT_TRUE(watch.open());
        sockaddr_nl to{};
        socklen_t size = sizeof(to);
        ASSERT_EQ(::getsockname(watch.fd(), reinterpret_cast<sockaddr *>(&to), &size), 0);
        to.nl_groups = 0;
        const int liar = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        ASSERT_GE(liar, 0);
        const Message lie = deletion(1);
        EXPECT_EQ(::sendto(liar, &lie, sizeof(lie), 0, reinterpret_cast<const sockaddr *>(&to), sizeof(to)),
                  static_cast<ssize_t>(sizeof(lie)));
        pollfd fd{.fd = watch.fd(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&fd, 1, 10'000), 1) << "it has come";
        const Report report = hear(watch);
        EXPECT_THAT(report.gone, IsEmpty());
        EXPECT_EQ(report.heard, Heard::kAll);
        ::close(liar);
    });
}

/// A watch whose datagrams the test writes: its descriptor is one end of a pair of sockets. Their sender has no
/// address, which for the watch is the kernel's.
class Dictated : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(watch_.open());
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
        ASSERT_EQ(::dup2(pair[0], watch_.fd()), watch_.fd());
        ::close(pair[0]);
        end_ = pair[1];
    }
    void TearDown() override { ::close(end_); }

    void send(const Bytes &datagram) {
        ASSERT_EQ(::send(end_, datagram.data(), datagram.size(), 0), static_cast<ssize_t>(datagram.size()));
    }
    Report said(const Bytes &datagram) {
        send(datagram);
        return hear(watch_);
    }

    NetdevWatch watch_;
    int end_ = -1;
};

using NetdevWatchDictated = Dictated;

TEST_F(NetdevWatchDictated, ReadsEveryMessageOfEveryDatagram) {
    send(bytes(deletion(7)) + bytes(deletion(8)));
    send(bytes(deletion(9)));
    const Report report = hear(watch_);
    EXPECT_THAT(report.gone, ElementsAre(7U, 8U, 9U));
    EXPECT_EQ(report.heard, Heard::kAll);
    EXPECT_THAT(hear(watch_).gone, IsEmpty()) << "and does not wait for more";
}

TEST_F(NetdevWatchDictated, PassesByOtherMessages) {
    Message added = deletion(5);
    added.header.nlmsg_type = RTM_NEWLINK;
    Message done = deletion(6);
    done.header.nlmsg_type = NLMSG_DONE;
    EXPECT_THAT(said(bytes(added) + bytes(done) + bytes(deletion(7)) + bytes(deletion(8, AF_BRIDGE)) +
                     bytes(deletion(0)) + bytes(deletion(-3)) + bytes(deletion(9)))
                    .gone,
                ElementsAre(7U, 9U));
}

TEST_F(NetdevWatchDictated, SkipsThePaddingBetweenMessages) {
    Message odd = deletion(5);
    odd.header.nlmsg_type = RTM_NEWADDR;
    odd.header.nlmsg_len = NLMSG_HDRLEN + 5; // and three bytes of padding
    EXPECT_THAT(said(bytes(odd, NLMSG_HDRLEN + 8) + bytes(deletion(7))).gone, ElementsAre(7U));
    // A last message without its padding.
    odd.header.nlmsg_len = sizeof(Message) - 1;
    odd.header.nlmsg_type = RTM_DELLINK;
    EXPECT_THAT(said(bytes(deletion(7)) + bytes(odd, sizeof(Message) - 1)).gone, ElementsAre(7U))
        << "too short to be a deletion";
}

TEST_F(NetdevWatchDictated, StopsAtALengthThatCannotBe) {
    for (const std::uint32_t length :
         {0U, 1U, 15U, static_cast<unsigned>(sizeof(Message)) + 1, 0x7fffffffU, 0xfffffffeU, 0xffffffffU}) {
        Message bad = deletion(5);
        bad.header.nlmsg_len = length;
        EXPECT_THAT(said(bytes(deletion(7)) + bytes(bad)).gone, ElementsAre(7U)) << length;
    }
}

TEST_F(NetdevWatchDictated, ReadsNothingBeyondACutMessage) {
    const Bytes whole = bytes(deletion(7)) + bytes(deletion(8));
    for (std::size_t n = 0; n < whole.size(); n++) {
        const Report report = said(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
        EXPECT_EQ(report.gone.size(), n / sizeof(Message)) << n;
        EXPECT_EQ(report.heard, Heard::kAll);
    }
    // A header that says less than a deletion needs.
    Message brief = deletion(7);
    brief.header.nlmsg_len = NLMSG_HDRLEN;
    EXPECT_THAT(said(bytes(brief, NLMSG_HDRLEN)).gone, IsEmpty());
}

TEST_F(NetdevWatchDictated, TakesADatagramThatDoesNotFitForAMissedOne) {
    Bytes large;
    while (large.size() < 40'000)
        large = large + bytes(deletion(7));
    const Report report = said(large);
    EXPECT_EQ(report.heard, Heard::kMissed);
    EXPECT_THAT(said(bytes(deletion(8))).gone, ElementsAre(8U));
}

TEST_F(NetdevWatchDictated, SurvivesAnyBytes) {
    std::uint32_t x = 1;
    for (int round = 0; round < 5000; round++) {
        Bytes junk = bytes(deletion(7)) + bytes(deletion(8));
        for (int changes = 0; changes < 4; changes++) {
            x = x * 1664525U + 1013904223U;
            junk[(x >> 16U) % junk.size()] = static_cast<std::byte>(x >> 8U);
        }
        x = x * 1664525U + 1013904223U;
        junk.resize((x >> 16U) % (junk.size() + 1));
        EXPECT_LE(said(junk).gone.size(), junk.size() / sizeof(nlmsghdr));
    }
}

} // namespace
} // namespace holdfast
