// SPDX-License-Identifier: BSD-3-Clause
// The network outside learns where the port's addresses are after a switch.
#include "support/netdev.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

constexpr std::uint16_t kRarp = 0x8035;

class Announce : public WithPorts {
  protected:
    struct Seen {
        std::uint16_t type = 0;
        std::uint16_t vlan = 0;
        std::string mac; ///< its last two bytes
        auto operator<=>(const Seen &) const = default;
    };

    static Seen look_at(const rte_mbuf *m) {
        const auto *frame = rte_pktmbuf_mtod(m, const unsigned char *);
        Seen out;
        std::size_t at = 12;
        const auto word = [&](std::size_t i) { return static_cast<std::uint16_t>(frame[i] << 8U | frame[i + 1]); };
        if (word(at) == RTE_ETHER_TYPE_VLAN) {
            out.vlan = word(at + 2);
            at += 4;
        }
        out.type = word(at);
        out.mac = std::string(1, static_cast<char>(frame[10])) + static_cast<char>(frame[11]);
        return out;
    }
    /// What comes back from a looping sub-device, until there is nothing more.
    static std::vector<Seen> receive_all(const Vport &port) {
        std::vector<Seen> out;
        std::array<rte_mbuf *, 32> packets{};
        for (int empty = 0; empty < 4;) { // each of two sub-devices has its turn
            const std::uint16_t n = port.rx(packets.data(), packets.size());
            empty = n == 0 ? empty + 1 : 0;
            std::transform(packets.begin(), packets.begin() + n, std::back_inserter(out), look_at);
            rte_pktmbuf_free_bulk(packets.data(), n);
        }
        return out;
    }
    static std::size_t rarps(const std::vector<Seen> &seen) {
        return static_cast<std::size_t>(
            std::count_if(seen.begin(), seen.end(), [](const Seen &s) { return s.type == kRarp; }));
    }
    static std::string devargs(const Mayfly &a, const Mayfly &b, const std::string &more) {
        return devargs_of({&a, &b}, "hotplug_poll=5," + more);
    }
    [[nodiscard]] bool up(const Vport &port, const Shape &shape = {}) const {
        return port.up(pool(), shape) == 0 && eventually([&] { return port.joined(0) && port.joined(1); });
    }
    static std::uint64_t announced(const Vport &port) { return port.describe().announcements; }
};

TEST_F(Announce, LeavesOnTheStandbyBeforeTheFirstPacketOfTheApplication) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs(a, b, "announce=1"));
    ASSERT_TRUE(up(port));
    EXPECT_TRUE(receive_all(port).empty()) << "a port that comes up announces nothing";
    ASSERT_TRUE(port.switch_to(1).ok());
    ASSERT_EQ(send(port), 1);
    const std::vector<Seen> seen = receive_all(port);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].type, kRarp);
    const rte_ether_addr mac = port.mac();
    EXPECT_EQ(seen[0].mac, std::string(1, static_cast<char>(mac.addr_bytes[4])) + static_cast<char>(mac.addr_bytes[5]));
    EXPECT_NE(seen[1].type, kRarp);
    EXPECT_EQ(announced(port), 1U);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 2);
    EXPECT_TRUE(always([&] { return announced(port) == 1; }, 100ms));
}

TEST_F(Announce, FollowsALossOfTheActiveOneOrOfItsLink) {
    Mayfly a, b;
    Vport port(devargs(a, b, "announce=1"));
    ASSERT_TRUE(up(port));
    a.link(false);
    EXPECT_TRUE(eventually([&] { return b.count(RTE_PMD_MAYFLY_TX_PACKETS) == 1; }));
    a.link(true);
    EXPECT_TRUE(eventually([&] { return a.count(RTE_PMD_MAYFLY_TX_PACKETS) == 1; })) << "and the way back";
    a.unplug();
    EXPECT_TRUE(eventually([&] { return b.count(RTE_PMD_MAYFLY_TX_PACKETS) == 2; }));
    a.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    EXPECT_TRUE(eventually([&] { return announced(port) == 4; }));
    expect_no_late_access({&a, &b});
}

TEST_F(Announce, IsRepeatedAsOftenAsAsked) {
    Mayfly a, b;
    Vport port(devargs(a, b, "announce=3"));
    ASSERT_TRUE(up(port));
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_TRUE(eventually([&] { return announced(port) == 3; }));
    EXPECT_TRUE(always([&] { return announced(port) == 3; }, 150ms));
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 3);
}

TEST_F(Announce, IsNotMadeWhenItIsTurnedOff) {
    Mayfly a, b;
    Vport port(devargs(a, b, "announce=0"));
    ASSERT_TRUE(up(port));
    ASSERT_TRUE(port.switch_to(1).ok());
    b.unplug();
    EXPECT_TRUE(always([&] { return announced(port) == 0; }, 100ms));
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS) + b.count(RTE_PMD_MAYFLY_TX_PACKETS), 0);
}

TEST_F(Announce, HasEveryAddressInEveryVlanThatIsAskedFor) {
    constexpr unsigned kMacs = 20; // more than one burst of frames
    for (const bool vlans : {false, true}) {
        Mayfly a("mode=loop"), b("mode=loop");
        Vport port(devargs(a, b, std::string("announce=1,announce_vlans=") + (vlans ? "yes" : "no")));
        Shape shape;
        shape.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
        ASSERT_TRUE(up(port, shape));
        for (unsigned i = 0; i < kMacs; i++) {
            rte_ether_addr mac{.addr_bytes = {0x02, 0, 0, 0, 0x7f, static_cast<std::uint8_t>(i)}};
            ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
        }
        for (const int vlan : {7, 4000})
            ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), static_cast<std::uint16_t>(vlan), 1), 0);
        ASSERT_TRUE(port.switch_to(1).ok());
        const std::size_t want = (kMacs + 1) * (vlans ? 3 : 1);
        ASSERT_TRUE(eventually([&] { return announced(port) == want; })) << announced(port);
        std::map<std::uint16_t, std::size_t> by_vlan;
        std::vector<Seen> seen = receive_all(port);
        EXPECT_EQ(rarps(seen), want);
        for (const Seen &s : seen)
            by_vlan[s.vlan]++;
        EXPECT_EQ(by_vlan[0], kMacs + 1);
        EXPECT_EQ(by_vlan[7], vlans ? kMacs + 1 : 0);
        EXPECT_EQ(by_vlan[4000], vlans ? kMacs + 1 : 0);
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << "each once";
    }
}

// A driver may take all mbufs of a queue for those of the first one's pool then (F136).
TEST_F(Announce, TakesFastFreeFromTheQueueThatSendsFramesOfOurs) {
    for (const bool announces : {false, true}) {
        Mayfly m("tx_offloads=0x10000");
        Vport port(m.dev() + (announces ? "" : ",announce=0"));
        Shape shape;
        shape.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
        ASSERT_EQ(port.up(pool(), shape), 0);
        EXPECT_EQ(m.settings().tx_offloads, announces ? 0 : RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
    }
}

TEST_F(Announce, WaitsForNobodyWhoIsStuckInsideADriver) {
    Mayfly a, b;
    Vport port(devargs(a, b, "announce=1"));
    ASSERT_TRUE(up(port));
    b.delay("rx_burst", 300ms);
    const std::int64_t before = b.calls("rx_burst");
    std::thread lcore([&] {
        for (int i = 0; i < 2; i++) // one of the two is b's turn
            (void)receive(port);
    });
    ASSERT_TRUE(eventually([&] { return b.calls("rx_burst") > before; }));
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_EQ(announced(port), 0U) << "somebody is inside";
    EXPECT_EQ(send(port), 1) << "it is open again all the same";
    lcore.join();
    expect_no_late_access({&a, &b});
}

TEST_F(Announce, IsNotMadeOnAQueueThatTheApplicationStopped) {
    Mayfly a, b;
    Vport port(devargs(a, b, "announce=1"));
    ASSERT_TRUE(up(port));
    ASSERT_EQ(rte_eth_dev_tx_queue_stop(port.id(), 0), 0);
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_EQ(port.active(), 1);
    EXPECT_TRUE(always([&] { return announced(port) == 0; }, 50ms)) << "not on a queue that the application stopped";
}

/// One end of a pair of interfaces that the test itself uses, with its own MAC address.
class Station {
  public:
    explicit Station(const std::string &iface) : fd_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_ifindex = static_cast<int>(::if_nametoindex(iface.c_str()));
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0) << iface;
    }
    ~Station() { ::close(fd_); }
    Station(const Station &) = delete;
    Station &operator=(const Station &) = delete;
    void send_to(const rte_ether_addr &mac) const {
        std::array<unsigned char, 60> frame{};
        std::copy_n(mac.addr_bytes, 6, frame.begin());
        frame[6] = 2;
        frame[11] = 1;
        frame[12] = kType >> 8U;
        frame[13] = kType & 0xffU;
        EXPECT_EQ(::send(fd_, frame.data(), frame.size(), 0), 60);
    }

  private:
    int fd_;
};

/// A port over two interfaces on a Linux bridge that has learned where the port is, and a station on a third.
class OnABridge : public Announce {
  protected:
    void SetUp() override {
        Announce::SetUp();
        if (!in_own_network())
            GTEST_SKIP() << "no network namespace can be made here: root is needed";
        ip("link add " + bridge_ + " type bridge");
        ip("link set " + bridge_ + " up");
        for (const Veth *v : {&first_, &second_, &outside_})
            ip("link set " + v->peer() + " master " + bridge_);
    }
    void TearDown() override {
        if (in_own_network())
            ip("link del " + bridge_);
        Announce::TearDown();
    }
    /// Which of the port's interfaces gets a frame that the station sends to it? Both (flooded): 3.
    unsigned arrives_at(const Vport &port) {
        const auto counts = [&] {
            while (receive(port) != 0)
                ;
            const VirtualPort::Info info = port.describe();
            return std::array{info.subs[0].stats.ipackets, info.subs[1].stats.ipackets};
        };
        const auto before = counts();
        const Station station(outside_.name());
        station.send_to(port.mac());
        unsigned where = 0;
        EXPECT_TRUE(eventually([&] {
            const auto now = counts();
            where = (now[0] != before[0] ? 1 : 0) + (now[1] != before[1] ? 2 : 0);
            return where != 0;
        }));
        return where;
    }
    [[nodiscard]] std::string devargs(const std::string &more) const {
        const auto dev = [](const Veth &v) { return "dev(" + unique("net_af_packet") + ",iface=" + v.name() + ")"; };
        return "mac=02:00:00:00:00:77," + more + "," + dev(first_) + "," + dev(second_);
    }

    const std::string bridge_ = unique("br");
    const Veth first_, second_, outside_;
};

// FAULTS F85.
TEST_F(OnABridge, InboundTrafficMovesWithoutAnOutboundPacketOfTheApplication) {
    for (const bool announces : {true, false}) { // without it the bridge sends to the old place on and on
        Vport port(devargs(std::string("announce=") + (announces ? "1" : "0")));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        std::vector<rte_mbuf *> p = packets(1);
        auto *frame = rte_pktmbuf_mtod(p[0], unsigned char *);
        address_frame(p[0]);
        std::copy_n(port.mac().addr_bytes, 6, frame + 6);
        ASSERT_EQ(port.tx(p.data(), 1), 1);
        ASSERT_TRUE(eventually([&] { return arrives_at(port) == 1; })) << "the bridge knows where the port is";
        ASSERT_TRUE(port.switch_to(1).ok());
        if (announces)
            EXPECT_TRUE(eventually([&] { return arrives_at(port) == 2; }));
        else
            EXPECT_EQ(arrives_at(port), 1U);
    }
}

} // namespace
} // namespace holdfast::test
