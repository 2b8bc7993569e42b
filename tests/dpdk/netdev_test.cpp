// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices over the kernel's network interfaces, in a network namespace of this process's own.
#include "support/netdev.h"

#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

/// The other end of an interface: sends and receives frames of our Ethernet type.
class Peer {
  public:
    explicit Peer(const std::string &iface) : fd_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(kType))) {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(kType);
        address.sll_ifindex = static_cast<int>(::if_nametoindex(iface.c_str()));
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0) << iface;
    }
    ~Peer() { ::close(fd_); }
    Peer(const Peer &) = delete;
    Peer &operator=(const Peer &) = delete;
    /// Receives until there is nothing for a while, or n frames.
    unsigned receive(unsigned n, int patience_ms = 2000) const {
        unsigned got = 0;
        std::array<char, 2048> frame{};
        while (got < n) {
            pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
            if (::poll(&p, 1, patience_ms) <= 0)
                break;
            sockaddr_ll from{};
            socklen_t size = sizeof(from);
            if (::recvfrom(fd_, frame.data(), frame.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr *>(&from), &size) >
                    0 &&
                from.sll_pkttype != PACKET_OUTGOING)
                got++;
        }
        return got;
    }
    void send(unsigned n) const {
        std::array<unsigned char, 60> frame{0xff, 0xff, 0xff, 0xff, 0xff, 0xff,        2,
                                            0,    0,    0,    0,    1,    kType >> 8U, kType & 0xffU};
        for (unsigned i = 0; i < n; i++) {
            EXPECT_EQ(::send(fd_, frame.data(), frame.size(), 0), 60);
        }
    }

  private:
    int fd_;
};

class Netdev : public WithPorts {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        if (!in_own_network())
            GTEST_SKIP() << "no network namespace can be made here: root is needed";
    }
    static std::string af_packet(const Veth &veth) {
        return "dev(" + unique("net_af_packet") + ",iface=" + veth.name() + ")";
    }
    /// Sends n frames of our type and frees what was not taken.
    unsigned send_frames(const Vport &port, std::uint16_t n) const {
        std::vector<rte_mbuf *> p = packets(n);
        for (rte_mbuf *m : p)
            address_frame(m);
        const std::uint16_t sent = port.tx(p.data(), n);
        rte_pktmbuf_free_bulk(p.data() + sent, n - sent);
        return sent;
    }
    static unsigned receive_frames(const Vport &port, unsigned n) {
        unsigned got = 0;
        (void)eventually(
            [&] {
                std::array<rte_mbuf *, 32> p{};
                const std::uint16_t burst = port.rx(p.data(), 32);
                for (std::uint16_t i = 0; i < burst; i++) {
                    const auto *frame = rte_pktmbuf_mtod(p[i], const unsigned char *);
                    got += frame[12] == kType >> 8U && frame[13] == (kType & 0xffU) ? 1 : 0;
                    EXPECT_EQ(p[i]->port, port.id());
                }
                rte_pktmbuf_free_bulk(p.data(), burst);
                return got >= n;
            },
            5s);
        return got;
    }
};

TEST_F(Netdev, PacketsPassThroughAnAfPacketSubDevice) {
    const Veth veth;
    Vport port(af_packet(veth));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    const Peer peer(veth.peer());
    EXPECT_EQ(send_frames(port, 10), 10U);
    EXPECT_EQ(peer.receive(10), 10U);
    peer.send(7);
    EXPECT_EQ(receive_frames(port, 7), 7U);
}

TEST_F(Netdev, PacketsPassThroughATapSubDevice) {
    const std::string iface = unique("t");
    Vport port("dev(" + unique("net_tap") + ",iface=" + iface + ")");
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    ASSERT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
    const Peer peer(iface);
    EXPECT_EQ(send_frames(port, 10), 10U);
    EXPECT_EQ(peer.receive(10), 10U);
    peer.send(7);
    EXPECT_EQ(receive_frames(port, 7), 7U);
}

// Every ethdev call on such a port goes on to answer "fine".
// F161
TEST_F(Netdev, TheFirstPacketsThroughATapArriveAlsoBehindADriverThatReceivesNothing) {
    const std::string iface = unique("t");
    Vport port("dev(" + unique("net_null") + ",no-rx=1),dev(" + unique("net_tap") + ",iface=" + iface + ")");
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
    const Peer peer(iface);
    for (unsigned i = 0; i < 20; i++) {
        peer.send(1);
        ASSERT_EQ(receive_frames(port, 1), 1U) << "the one after " << i;
    }
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_EQ(send_frames(port, 1), 1U);
    EXPECT_EQ(peer.receive(1), 1U) << "the first that leaves on the tap";
}

TEST_F(Netdev, AnInterfaceThatIsDeletedIsNoticedAndComesBack) {
    const Veth first, second;
    Vport port("hotplug_poll=20," + af_packet(first) + "," + af_packet(second));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    auto quickest = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 5; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; }))
            << port.sub(0).reason;
        {
            const Peer peer(first.peer());
            // The kernel keeps an error for a socket that was bound before its interface was up: it takes the next
            // kick.
            EXPECT_TRUE(eventually([&] { return send_frames(port, 4) == 4 && peer.receive(4, 100) == 4; }))
                << "on the returned one";
        }
        const std::uint64_t removals = port.sub(0).removals;
        const Peer standby(second.peer());
        first.remove();
        const auto since = std::chrono::steady_clock::now();
        ASSERT_TRUE(eventually([&] { return port.active() == 1; }));
        quickest = std::min(quickest, std::chrono::steady_clock::now() - since);
        EXPECT_EQ(send_frames(port, 4), 4U);
        EXPECT_EQ(standby.receive(4), 4U);
        EXPECT_TRUE(eventually([&] { return port.sub(0).removals == removals + 1 && port.state(0) == "absent"; }));
        first.make();
    }
    std::printf("a deleted interface was noticed after %.3f ms at best\n",
                std::chrono::duration<double, std::milli>(quickest).count());
    EXPECT_LT(quickest, 100ms);
}

TEST_F(Netdev, ADeletedTapInterfaceComesBack) {
    const std::string iface = unique("t");
    Mayfly standby;
    Vport port("hotplug_poll=20,dev(" + unique("net_tap") + ",iface=" + iface + ")," + standby.dev());
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 3; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
        ip("link del " + iface);
        ASSERT_TRUE(eventually([&] { return port.sub(0).removals == static_cast<std::uint64_t>(round + 1); }));
        EXPECT_EQ(send_frames(port, 3), 3U);
    }
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
}

TEST_F(Netdev, AnInterfaceThatIsNotThereIsWaitedForWithoutAProbe) {
    const Veth veth;
    veth.remove();
    Vport port("hotplug_poll=10," + af_packet(veth));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
    EXPECT_EQ(port.sub(0).reason, "no such device");
    veth.make();
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
}

// F101: an interface gets its name, and its MAC, some time after it has come.
TEST_F(Netdev, AnInterfaceThatComesUnderOtherNamesJoinsWhenItHasItsOwnAndStaysWhenItIsRenamed) {
    const Veth veth;
    veth.remove();
    Vport port("hotplug_poll=10," + af_packet(veth));
    ASSERT_EQ(port.up(pool()), 0);
    const auto rename = [](const std::string &from, const std::string &to) {
        ip("link set " + from + " down");
        ip("link set " + from + " name " + to);
        ip("link set " + to + " up");
    };
    const std::string first = unique("x"), second = unique("x");
    ip("link add " + first + " type veth peer name " + veth.peer());
    ip("link set " + veth.peer() + " up");
    rename(first, second);
    EXPECT_TRUE(always([&] { return port.sub(0).reason == "no such device"; }, 50ms));
    ip("link set " + second + " address 02:00:00:00:00:77");
    rename(second, veth.name());
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    const Peer peer(veth.peer());
    const auto carries = [&] { return send_frames(port, 4) == 4 && peer.receive(4, 100) == 4; };
    EXPECT_TRUE(eventually(carries));
    // In use, another name makes it no other device.
    rename(veth.name(), second);
    EXPECT_TRUE(eventually(carries));
    EXPECT_EQ(port.sub(0).removals, 0U);
    rename(second, veth.name());
    EXPECT_TRUE(eventually(carries));
    EXPECT_TRUE(port.joined(0));
}

// Applications ask for allmulticast, which net_af_packet lacks, and set all they have on each restart.
TEST_F(Netdev, EverySettingWorksOverAMixOfDrivers) {
    const Veth veth;
    Mayfly m;
    Vport port("hotplug_poll=20," + m.dev() + "," + af_packet(veth) + ",dev(" + unique("net_tap") +
               ",iface=" + unique("t") + "),dev(" + unique("net_null") + "),dev(" + unique("net_ring") + ")");
    ASSERT_EQ(port.rc(), 0);
    for (int round = 0; round < 3; round++) {
        Shape shape;
        shape.conf.rxmode.mtu = round == 1 ? 1400 : 0;
        ASSERT_EQ(port.up(pool(), shape), 0);
        for (std::uint8_t sub = 0; sub < 5; sub++) {
            EXPECT_TRUE(eventually([&] { return port.joined(sub); }))
                << port.sub(sub).devargs << ": " << port.sub(sub).reason;
        }
        EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
        EXPECT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
        EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1450), 0);
        rte_ether_addr mac{{2, 0, 0, 0, 3, static_cast<std::uint8_t>(round)}};
        EXPECT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
        EXPECT_EQ(rte_eth_dev_set_link_up(port.id()), 0);
        rte_eth_stats stats{};
        EXPECT_EQ(rte_eth_stats_get(port.id(), &stats), 0);
        EXPECT_EQ(rte_eth_stats_reset(port.id()), 0);
        for (std::uint8_t sub = 0; sub < 5; sub++) {
            EXPECT_TRUE(port.switch_to(sub).ok());
            EXPECT_EQ(send_frames(port, 2), 2U) << port.sub(sub).devargs;
        }
        for (int i = 0; i < 100; i++)
            (void)receive(port); // net_ring gives back what it took, net_null gives for ever
        EXPECT_EQ(m.settings().mtu, 1450);
        ASSERT_EQ(port.stop(), 0);
    }
}

TEST_F(Netdev, PlugCyclesLeaveNoInterfaceAndNoDescriptorBehind) {
    const Veth veth;
    Vport port("hotplug_poll=5," + af_packet(veth) + ",dev(" + unique("net_tap") + ",iface=" + unique("t") + ")");
    ASSERT_EQ(port.up(pool()), 0);
    std::size_t descriptors = 0;
    for (int i = 0; i < 12; i++) {
        for (const std::uint8_t sub : std::to_array<std::uint8_t>({0, 1})) {
            ASSERT_TRUE(eventually([&] { return port.joined(sub); })) << port.sub(sub).reason;
            ASSERT_TRUE(port.remove_by_hand(sub).ok());
            ASSERT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
            ASSERT_TRUE(port.plug_by_hand(sub).ok());
            ASSERT_TRUE(eventually([&] { return port.joined(sub); })) << port.sub(sub).reason;
        }
        if (i == 2)
            descriptors = EalState::now().descriptors;
    }
    EXPECT_EQ(EalState::now().descriptors, descriptors);
}

} // namespace
} // namespace holdfast::test
