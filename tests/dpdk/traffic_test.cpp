// SPDX-License-Identifier: BSD-3-Clause
// Packets through a virtual port: turns, tails, order, the active sub-device.
#include "traffic_rig.h"

#include <gtest/gtest.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

// F139
TEST_F(Traffic, EveryPacketCarriesTheIdOfTheVirtualPort) {
    Mayfly a("mode=generate"), b("mode=loop");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(port.switch_to(1).ok());
    ASSERT_EQ(send(port, 8), 8);
    std::array<rte_mbuf *, 32> p{};
    unsigned looped = 0;
    for (int i = 0; i < 10; i++) {
        const std::uint16_t n = port.rx(p.data(), 32);
        for (std::uint16_t k = 0; k < n; k++) {
            EXPECT_EQ(p[k]->port, port.id());
            looped += rte_pktmbuf_mtod(p[k], unsigned char *)[12] == 0x88 ? 0 : 1;
        }
        rte_pktmbuf_free_bulk(p.data(), n);
    }
    EXPECT_EQ(looped, 8U);
}

TEST_F(Traffic, EverySubDeviceGetsItsTurnWithTheWholeArray) {
    std::vector<std::unique_ptr<Mayfly>> mayflies;
    std::vector<const Mayfly *> raw;
    for (int i = 0; i < 5; i++)
        raw.push_back(mayflies.emplace_back(std::make_unique<Mayfly>("mode=generate")).get());
    Vport port(devargs_of(raw));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    for (const std::uint16_t burst : std::to_array<std::uint16_t>({1, 2, 3, 4, 32})) {
        std::map<std::uint32_t, int> turns;
        std::uint32_t last = 0;
        for (int i = 0; i < 50; i++) {
            std::array<rte_mbuf *, 32> p{};
            const std::uint16_t n = port.rx(p.data(), burst);
            ASSERT_EQ(n, burst);
            const std::uint32_t maker = maker_of(p[0]);
            for (std::uint16_t k = 0; k < n; k++) {
                EXPECT_EQ(maker_of(p[k]), maker) << "one sub-device a call";
            }
            EXPECT_NE(maker, last) << "not twice in a row";
            turns[last = maker]++;
            rte_pktmbuf_free_bulk(p.data(), n);
        }
        EXPECT_EQ(turns.size(), 5U);
        for (const auto &[maker, times] : turns) {
            EXPECT_EQ(times, 10) << "burst " << burst << ", device " << maker;
        }
    }
    expect_no_late_access(raw);
}

TEST_F(Traffic, ACallPollsEachSubDeviceAtMostOnceAndStopsAtTheFirstThatHasPackets) {
    Mayfly quiet, busy("mode=generate"), quiet2;
    Vport port(devargs_of({&quiet, &busy, &quiet2}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    for (int i = 0; i < 30; i++) {
        const std::int64_t before[] = {quiet.calls("rx_burst"), busy.calls("rx_burst"), quiet2.calls("rx_burst")};
        EXPECT_EQ(receive(port, 4), 4);
        EXPECT_LE(quiet.calls("rx_burst") - before[0], 1);
        EXPECT_EQ(busy.calls("rx_burst") - before[1], 1);
        EXPECT_LE(quiet2.calls("rx_burst") - before[2], 1);
    }
}

TEST_F(Traffic, PacketsLeaveOnTheActiveSubDeviceOnly) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    EXPECT_EQ(send(port, 10), 10);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 10);
    ASSERT_TRUE(port.switch_to(2).ok());
    EXPECT_EQ(send(port, 7), 7);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 10);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 0);
    EXPECT_EQ(c.count(RTE_PMD_MAYFLY_TX_PACKETS), 7);
    EXPECT_EQ(b.calls("tx_burst"), 0);
}

// F137
TEST_F(Traffic, WhatASubDeviceDoesNotTakeStaysUntouchedAndInOrder) {
    Mayfly m("mode=loop"); // its ring holds as many packets as the Rx queue has descriptors
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), {.descriptors = 32, .conf = {}}), 0);
    std::vector<rte_mbuf *> p = packets(48);
    const std::vector<rte_mbuf *> before = p;
    const std::uint16_t sent = port.tx(p.data(), 48);
    EXPECT_EQ(sent, 32);
    EXPECT_EQ(p, before);
    for (std::size_t i = sent; i < p.size(); i++) {
        EXPECT_EQ(number_of(p[i]), i);
        EXPECT_EQ(rte_mbuf_refcnt_read(p[i]), 1);
        EXPECT_EQ(p[i]->pkt_len, 60U);
    }
    std::array<rte_mbuf *, 64> got{};
    unsigned next = 0;
    while (next < 48) {
        const std::uint16_t n = port.rx(got.data(), 8);
        ASSERT_GT(n, 0);
        for (std::uint16_t i = 0; i < n; i++) {
            EXPECT_EQ(number_of(got[i]), next++);
        }
        rte_pktmbuf_free_bulk(got.data(), n);
        if (next == 32) {
            EXPECT_EQ(port.tx(p.data() + sent, static_cast<std::uint16_t>(48 - sent)), 48 - sent)
                << "the tail, sent again";
        }
    }
}

// F137, with a driver that is not ours.
TEST_F(Traffic, AFullRingBelowLeavesTheTailToTheCaller) {
    const std::string name = unique("net_ring");
    Vport port("dev(" + name + ")"); // one ring of 1024 packets, which gives back what it took
    ASSERT_EQ(port.up(pool()), 0);
    unsigned sent = 0;
    for (std::uint16_t n = 32; n == 32;) {
        std::vector<rte_mbuf *> p = packets(32);
        n = port.tx(p.data(), 32);
        for (std::size_t i = n; i < p.size(); i++) {
            EXPECT_EQ(number_of(p[i]), i);
        }
        rte_pktmbuf_free_bulk(p.data() + n, 32U - n);
        sent += n;
    }
    unsigned got = 0;
    while (const unsigned n = receive(port))
        got += n;
    EXPECT_EQ(got, sent);
    EXPECT_GE(sent, 1000U);
}

TEST_F(Traffic, CountsAndDescriptorStatusAreThoseOfTheSubDevices) {
    Mayfly a("mode=loop"), b("mode=loop"),
        without("no_ops=rx_queue_count;tx_queue_count;rx_descriptor_status;tx_descriptor_status");
    Vport port(devargs_of({&a, &b, &without}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    const auto &ops = rte_eth_fp_ops[port.id()];
    ASSERT_EQ(send(port, 5), 5);
    ASSERT_TRUE(port.switch_to(1).ok());
    ASSERT_EQ(send(port, 3), 3);
    EXPECT_EQ(rte_eth_rx_queue_count(port.id(), 0), 8) << "all that can be received";
    EXPECT_EQ(ops.tx_queue_count(ops.txq.data[0]), 3) << "of the active one";
    EXPECT_EQ(rte_eth_rx_descriptor_status(port.id(), 0, 2), RTE_ETH_RX_DESC_DONE);
    EXPECT_EQ(rte_eth_rx_descriptor_status(port.id(), 0, 3), RTE_ETH_RX_DESC_AVAIL);
    EXPECT_EQ(rte_eth_tx_descriptor_status(port.id(), 0, 2), RTE_ETH_TX_DESC_FULL);
    EXPECT_EQ(rte_eth_tx_descriptor_status(port.id(), 0, 3), RTE_ETH_TX_DESC_DONE);
    EXPECT_EQ(receive(port) + receive(port) + receive(port), 8);
    ASSERT_TRUE(port.switch_to(2).ok());
    EXPECT_EQ(rte_eth_tx_descriptor_status(port.id(), 0, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_rx_queue_count(port.id(), 0), 0);
}

// F134
TEST_F(Traffic, PacketsArePreparedByTheActiveSubDevice) {
    Mayfly a, b, c("no_ops=tx_prepare");
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    std::vector<rte_mbuf *> p = packets(4);
    EXPECT_EQ(rte_eth_tx_prepare(port.id(), 0, p.data(), 4), 4);
    EXPECT_EQ(a.calls("tx_prepare"), 1);
    ASSERT_TRUE(port.switch_to(1).ok());
    b.fail("tx_prepare", EINVAL, 1);
    EXPECT_EQ(rte_eth_tx_prepare(port.id(), 0, p.data(), 4), 0);
    EXPECT_EQ(rte_errno, EINVAL);
    EXPECT_EQ(a.calls("tx_prepare"), 1);
    EXPECT_EQ(b.calls("tx_prepare"), 1);
    ASSERT_TRUE(port.switch_to(2).ok());
    EXPECT_EQ(rte_eth_tx_prepare(port.id(), 0, p.data(), 4), 4);
    rte_pktmbuf_free_bulk(p.data(), 4);
}

TEST_F(Traffic, SixteenSubDevicesAndSixtyFourQueues) {
    std::vector<std::unique_ptr<Mayfly>> mayflies;
    std::vector<const Mayfly *> raw;
    for (int i = 0; i < 16; i++)
        raw.push_back(mayflies.emplace_back(std::make_unique<Mayfly>("mode=generate,queues=64")).get());
    Vport port(devargs_of(raw));
    ASSERT_EQ(port.rc(), 0);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
    EXPECT_EQ(info.max_rx_queues, 64);
    ASSERT_EQ(port.up(pool(), {.rx_queues = 64, .tx_queues = 64, .descriptors = 64, .conf = {}}), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    for (std::uint16_t q = 0; q < 64; q++) {
        std::map<std::uint32_t, int> turns;
        for (int i = 0; i < 32; i++) {
            std::array<rte_mbuf *, 4> p{};
            ASSERT_EQ(port.rx(p.data(), 4, q), 4);
            rte_pmd_mayfly_stamp stamp{};
            ASSERT_EQ(rte_pmd_mayfly_read_stamp(rte_pktmbuf_mtod(p[0], const unsigned char *), 60, &stamp), 1);
            EXPECT_EQ(stamp.queue, q);
            turns[stamp.device]++;
            rte_pktmbuf_free_bulk(p.data(), 4);
        }
        EXPECT_EQ(turns.size(), 16U);
    }
    for (std::uint16_t q = 0; q < 64; q++) {
        EXPECT_EQ(send(port, 1, q), 1);
    }
    // One after the other goes; the next one takes over.
    for (std::uint8_t i = 0; i < 15; i++) {
        raw[i]->unplug();
        EXPECT_EQ(send(port, 1, i), 1);
        EXPECT_EQ(raw[i + 1U]->count(RTE_PMD_MAYFLY_TX_PACKETS), 1);
    }
    expect_no_late_access(raw);
}

TEST_F(Traffic, SeventeenSubDevicesAreOneTooMany) {
    std::vector<std::unique_ptr<Mayfly>> mayflies;
    std::vector<const Mayfly *> raw;
    for (int i = 0; i < 17; i++)
        raw.push_back(mayflies.emplace_back(std::make_unique<Mayfly>()).get());
    const Vport port(devargs_of(raw));
    EXPECT_EQ(port.rc(), -EINVAL);
    EXPECT_FALSE(raw[0]->there());
}

// Capture tools hook into the sub-device's own callbacks.
TEST_F(Traffic, CallbacksOnASubDeviceAreCalled) {
    Mayfly m("mode=loop");
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    int seen = 0;
    const std::uint16_t below = m.port().raw();
    const auto *rx = rte_eth_add_rx_callback(
        below, 0,
        [](std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, std::uint16_t, void *arg) -> std::uint16_t {
            *static_cast<int *>(arg) += n;
            return n;
        },
        &seen);
    ASSERT_NE(rx, nullptr);
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(receive(port), 5);
    EXPECT_EQ(seen, 5);
    EXPECT_EQ(rte_eth_remove_rx_callback(below, 0, rx), 0);
}

} // namespace
} // namespace holdfast::test
