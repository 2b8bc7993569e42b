// SPDX-License-Identifier: BSD-3-Clause
// The links of the kernel's interfaces, and what becomes of an interface that is let go.
#include "port/netdev.h"
#include "support/netdev.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <cstdint>
#include <fstream>
#include <string>

#include <net/if.h>

namespace holdfast::test {
namespace {

class NetdevLink : public WithPorts {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        if (!in_own_network())
            GTEST_SKIP() << "no network namespace can be made here: root is needed";
    }
    static std::string af_packet(const Veth &v) {
        return "dev(" + unique("net_af_packet") + ",iface=" + v.name() + ")";
    }
    /// lsc_poll so long that only the kernel's word can be meant.
    static std::string devargs(const Veth &a, const Veth &b, const std::string &more = "lsc_poll=60000") {
        return "hotplug_poll=20,announce=0," + more + "," + af_packet(a) + "," + af_packet(b);
    }
    [[nodiscard]] bool up(const Vport &port) const {
        return port.up(pool()) == 0 && eventually([&] { return port.joined(0) && port.joined(1); });
    }
    static std::string attribute(const Veth &v, const char *name) {
        std::ifstream file("/sys/class/net/" + v.name() + "/" + name);
        std::string text;
        std::getline(file, text);
        return text;
    }
};

// net_af_packet says "up" whatever happens.
TEST_F(NetdevLink, TheKernelsWordOnTheCarrierSwitches) {
    const Veth a, b;
    Vport port(devargs(a, b));
    ASSERT_TRUE(up(port));
    ASSERT_EQ(port.active(), 0);
    ip("link set " + a.peer() + " down"); // the carrier goes, the interface itself stays up
    EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
    ip("link set " + a.peer() + " up");
    EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
    ip("link set " + a.name() + " down"); // by an administrator
    EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
    ip("link set " + b.peer() + " down");
    EXPECT_TRUE(eventually([&] { return port.active() == -1; }));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
}

TEST_F(NetdevLink, ACarrierThatComesAndGoesIsFollowed) {
    const Veth a, b;
    Vport port(devargs(a, b, "lsc_poll=1"));
    ASSERT_TRUE(up(port));
    for (int i = 0; i < 2; i++) {
        ip("link set " + a.peer() + " down");
        EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
        ip("link set " + a.peer() + " up");
        EXPECT_TRUE(eventually([&] { return port.active() == 0; })) << "but for the time out of one that flaps";
    }
}

TEST_F(NetdevLink, AnInterfaceThatIsMadeAnewHasNotFailed) {
    Veth a;
    const Veth b;
    Vport port(devargs(a, b));
    ASSERT_TRUE(up(port));
    for (int i = 0; i < 3; i++) { // within a minute, so a failure would cost time
        a.remove();
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        EXPECT_EQ(port.active(), 1);
        ip("link add " + a.name() + " type veth peer name " + a.peer());
        ip("link set " + a.name() + " up"); // it has no carrier yet
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
        ip("link set " + a.peer() + " up");
        EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
    }
    EXPECT_EQ(port.sub(0).link_failures, 0U);
}

TEST_F(NetdevLink, ThePortsLinkIsWhatTheKernelSaysAlsoWhereLinksDoNotSwitch) {
    const Veth a, b;
    Vport port(devargs(a, b, "switch_on=removal"));
    ASSERT_TRUE(up(port));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_UP);
    ip("link set " + a.peer() + " down");
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_DOWN; }));
    EXPECT_EQ(port.active(), 0);
}

TEST_F(NetdevLink, AnInterfaceThatIsLetGoIsAsItWas) {
    const Veth a, b;
    ip("link set " + a.name() + " mtu 1600");
    const std::string mac = attribute(a, "address");
    const unsigned index = ::if_nametoindex(a.name().c_str());
    const auto flags = [&] { return netdev_flags(index).value_or(0) & (IFF_UP | IFF_PROMISC | IFF_ALLMULTI); };
    const unsigned before = flags();
    Vport port("mac=02:00:00:00:00:99," + devargs(a, b));
    ASSERT_TRUE(up(port));
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
    EXPECT_NE(attribute(a, "address"), mac);
    EXPECT_EQ(attribute(a, "mtu"), "1400");
    EXPECT_NE(flags(), before);
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_EQ(attribute(a, "address"), mac);
    EXPECT_EQ(attribute(a, "mtu"), "1600");
    EXPECT_EQ(flags(), before);
}

TEST_F(NetdevLink, WhatAnAdministratorDidToAnInterfaceMeanwhileStays) {
    const Veth a, b;
    const unsigned index = ::if_nametoindex(a.name().c_str());
    Vport port(devargs(a, b));
    ASSERT_TRUE(up(port));
    ip("link set " + a.name() + " down");
    ip("link set " + a.name() + " mtu 1300");
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_EQ(netdev_flags(index).value_or(IFF_UP) & IFF_UP, 0U);
    EXPECT_EQ(attribute(a, "mtu"), "1300");
}

} // namespace
} // namespace holdfast::test
