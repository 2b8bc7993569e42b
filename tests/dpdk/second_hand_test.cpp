// SPDX-License-Identifier: BSD-3-Clause
// A device that is taken over: nothing of a former owner stays on it.
#include "many_rig.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using SecondHand = WithPorts;

/// What somebody else did with a device before we got it.
void use(const Mayfly &m, rte_mempool *pool) {
    // Its former life may not have left the bus yet.
    const std::string args = m.devargs().substr(m.name().size()).erase(0, 1);
    int rc = -EEXIST;
    ASSERT_TRUE(eventually([&] { return (rc = rte_vdev_init(m.name().c_str(), args.c_str())) != -EEXIST; }));
    ASSERT_EQ(rc, 0);
    const std::uint16_t id = m.port().raw();
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    conf.rxmode.mtu = 3000;
    ASSERT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(id, 0, 256, 0, nullptr, pool), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(id, 0, 256, 0, nullptr), 0);
    ASSERT_EQ(rte_eth_dev_start(id), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(id), 0);
    ASSERT_EQ(rte_eth_allmulticast_enable(id), 0);
    ASSERT_EQ(set_default(id, 500), 0);
    for (const std::uint16_t n : std::to_array<std::uint16_t>({1, 2, 3, 501, 502})) {
        ASSERT_EQ(add(id, n), 0);
    }
    rte_ether_addr pooled = address(3);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(id, &pooled, 9), 0);
    for (const std::uint16_t v : std::to_array<std::uint16_t>({0, 1, 63, 64, 100, 4095})) {
        ASSERT_EQ(rte_eth_dev_vlan_filter(id, v, 1), 0);
    }
    std::array list{ether(1, 3), ether(2, 3)};
    ASSERT_EQ(rte_eth_dev_set_mc_addr_list(id, list.data(), 2), 0);
    ASSERT_EQ(rte_eth_dev_set_link_down(id), 0);
    ASSERT_EQ(rte_eth_dev_stop(id), 0);
}

/// What our application wants; some of it the former owner wanted too.
void set_up(const Vport &port, bool filters) {
    ASSERT_EQ(set_default(port.id(), 1), 0);
    ASSERT_EQ(add(port.id(), 2), 0);
    ASSERT_EQ(add(port.id(), 3), 0);
    ASSERT_EQ(add(port.id(), 4), 0);
    for (const std::uint16_t v : std::to_array<std::uint16_t>({1, 64, 101})) {
        if (filters) {
            ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), v, 1), 0);
        }
    }
}

// F72, F71, F76
TEST_F(SecondHand, NothingOfAFormerOwnerStaysOnADeviceThatIsTakenOver) {
    for (const bool late : {false, true}) {
        SCOPED_TRACE(late ? "taken by a port that runs" : "taken before the port runs");
        const Mayfly fresh, used;
        if (!late) {
            ASSERT_NO_FATAL_FAILURE(use(used, pool()));
        }
        const Vport port(devargs_of({&fresh, &used}));
        if (late) {
            ASSERT_TRUE(port.remove_by_hand(1).ok());
            ASSERT_TRUE(eventually([&] { return !used.there(); }));
        }
        ASSERT_EQ(port.up(pool(), filtering()), 0);
        ASSERT_NO_FATAL_FAILURE(set_up(port, true));
        Calls before = calls(used);
        if (late) {
            ASSERT_NO_FATAL_FAILURE(use(used, pool()));
            before = calls(used);
            ASSERT_TRUE(port.plug_by_hand(1).ok());
        }
        ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(used.count(RTE_PMD_MAYFLY_LIVES), late ? 2 : 1) << "it was not probed anew";
        EXPECT_EQ(Told::by(used), Told::by(fresh));
        if (late) {
            const Calls now = since(before, calls(used));
            EXPECT_EQ(now.at("vlan_filter_set"), 5) << "0, 63, 100 and 4095 go, 101 comes, 1 and 64 stay";
            EXPECT_EQ(now.at("mac_addr_remove"), 4) << "1 becomes the default one, 3 leaves a pool, 501 and 502 go";
            EXPECT_EQ(now.at("mac_addr_add"), 3) << "3 and 4 come; ethdev restores 2";
        }
        // A former owner's pools are gone too.
        rte_ether_addr three = address(3);
        const std::int64_t adds = used.calls("mac_addr_add");
        ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &three, 9), 0);
        EXPECT_EQ(used.calls("mac_addr_add"), adds + 1);
    }
}

// F71: the mode belongs to the port, whoever carries it.
TEST_F(SecondHand, ADeviceThatWasPromiscuousFollowsThePortWhenItIsSwitchedTo) {
    const Mayfly a, b;
    ASSERT_NO_FATAL_FAILURE(use(b, pool()));
    const Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(rte_eth_promiscuous_disable(port.id()), 0);
    ASSERT_EQ(rte_eth_allmulticast_disable(port.id()), 0);
    ASSERT_TRUE(port.switch_to(1).ok());
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(b.settings().promiscuous, 0);
    EXPECT_EQ(b.settings().allmulticast, 0);
}

// Its filters could not be taken off before.
TEST_F(SecondHand, VlansOfAFormerOwnerDoNotComeBackWhenFilteringIsTurnedOn) {
    for (const bool live : {true, false}) {
        SCOPED_TRACE(live ? "while it runs" : "by a new configuration");
        const Mayfly fresh, used;
        ASSERT_NO_FATAL_FAILURE(use(used, pool()));
        const Vport port(devargs_of({&fresh, &used}));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_NO_FATAL_FAILURE(set_up(port, false));
        if (live) {
            ASSERT_EQ(rte_eth_dev_set_vlan_offload(port.id(), RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
        } else {
            ASSERT_EQ(port.stop(), 0);
            ASSERT_EQ(port.up(pool(), filtering()), 0);
        }
        EXPECT_EQ(Told::by(used), Told::by(fresh));
        EXPECT_EQ(Told::by(used).vlans.size(), 0U);
    }
}

// A device that does not let go of something is closed, and what comes back has no past.
TEST_F(SecondHand, ADeviceThatKeepsSomethingOfAFormerOwnerIsProbedAnew) {
    for (const char *op : {"vlan_filter_set", "set_mc_addr_list", "promiscuous_disable", "dev_set_link_up"}) {
        SCOPED_TRACE(op);
        const Mayfly fresh, used;
        const Vport port(devargs_of({&fresh, &used}));
        ASSERT_EQ(port.up(pool(), filtering()), 0);
        ASSERT_TRUE(port.remove_by_hand(1).ok());
        ASSERT_TRUE(eventually([&] { return !used.there(); }));
        ASSERT_NO_FATAL_FAILURE(use(used, pool()));
        used.fail(op, EIO, 1);
        ASSERT_TRUE(port.plug_by_hand(1).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(used.count(RTE_PMD_MAYFLY_LIVES), 3);
        EXPECT_EQ(Told::by(used), Told::by(fresh));
    }
}

TEST_F(SecondHand, ADeviceThatSomebodyRunsIsNotTakenBeforeItIsStopped) {
    const Mayfly a, theirs;
    ASSERT_NO_FATAL_FAILURE(use(theirs, pool()));
    const std::uint16_t id = theirs.port().raw();
    ASSERT_EQ(rte_eth_dev_start(id), 0);
    const Vport port(devargs_of({&a, &theirs}));
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.sub(1).reason, "cannot take a device that somebody runs: Device or resource busy");
    EXPECT_EQ(theirs.port().raw(), id);
    EXPECT_EQ(theirs.settings().started, 1);
    ASSERT_EQ(rte_eth_dev_stop(id), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(theirs.count(RTE_PMD_MAYFLY_LIVES), 1);
}

// F77
TEST_F(SecondHand, ADeviceThatComesBackHasItsArgumentsAgain) {
    const Mayfly m("mode=generate,size=200,max_mtu=3000");
    const Vport port(devargs_of({&m}));
    ASSERT_EQ(port.up(pool()), 0);
    for (int cycle = 0; cycle < 3; cycle++) {
        SCOPED_TRACE("cycle " + std::to_string(cycle));
        std::array<rte_mbuf *, 1> packet{};
        ASSERT_TRUE(eventually([&] { return port.rx(packet.data(), 1) == 1; }));
        EXPECT_EQ(packet[0]->pkt_len, 200U);
        rte_pktmbuf_free(packet[0]);
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        EXPECT_EQ(info.max_mtu, 3000);
        m.unplug();
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        m.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    }
}

} // namespace
} // namespace holdfast::test
