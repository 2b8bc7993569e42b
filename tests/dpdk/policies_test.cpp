// SPDX-License-Identifier: BSD-3-Clause
// Packets under each policy, between a virtual port and what is at the other ends of its sub-devices' links.
#include "base/policy.h"
#include "datapath/choice.h"
#include "policies_rig.h"

#include <gtest/gtest.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

// F91: also of the other policies the functions stay.
TEST_F(Policies, TheBurstFunctionsAreThePolicysAndStay) {
    up(2, "tx=balance,xmit_policy=l34,rx=active");
    const datapath::Choice choice =
        datapath::choose({.rx = RxPolicy::kActive, .tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL34});
    for (int i = 0; i < 3; i++) {
        const struct rte_eth_fp_ops &ops = rte_eth_fp_ops[port().id()];
        EXPECT_EQ(ops.tx_pkt_burst, choice.tx_burst);
        EXPECT_EQ(ops.rx_pkt_burst, choice.rx_burst);
        EXPECT_EQ(ops.tx_pkt_prepare, choice.tx_prepare);
        near(0).unplug();
        ASSERT_TRUE(eventually([&] { return port().state(0) == "absent"; }));
        near(0).plug();
        ASSERT_TRUE(eventually([&] { return port().joined(0); }));
    }
}

TEST_F(Policies, BalanceKeepsEachFlowOnItsLinkAndInOrder) {
    up(3, "tx=balance,xmit_policy=l2");
    std::map<unsigned, std::size_t> place;
    std::size_t got = 0;
    for (unsigned burst = 0; burst < 20; burst++) {
        ASSERT_EQ(send_all(flows(100, burst * 100)), 100U);
        for (std::size_t i = 0; i < 3; i++) {
            unsigned last = 0;
            for (const Far::Seen &s : far(i).receive()) {
                const auto [at, fresh] = place.emplace(s.flow, i);
                EXPECT_EQ(at->second, i) << "flow " << s.flow;
                EXPECT_GE(s.number, last);
                last = s.number;
                got++;
            }
        }
    }
    EXPECT_EQ(got, 2000U);
    EXPECT_EQ(place.size(), 50U);
}

TEST_F(Policies, BalanceMovesTheFlowsOfWhoLeavesAndNoOthers) {
    up(3, "tx=balance,xmit_policy=l34");
    const auto places = [&] {
        EXPECT_EQ(send_all(flows(50)), 50U);
        std::map<unsigned, std::size_t> out;
        for (std::size_t i = 0; i < 3; i++)
            for (const Far::Seen &s : far(i).receive())
                out[s.flow] = i;
        return out;
    };
    const auto before = places();
    EXPECT_EQ(before.size(), 50U);
    near(1).unplug(); // the next burst is without it, whatever the host thread does meanwhile
    const auto between = places();
    EXPECT_EQ(between.size(), 50U);
    for (const auto &[flow, sub] : before)
        EXPECT_TRUE(sub == 1 ? between.at(flow) != 1 : between.at(flow) == sub) << flow;
    near(1).plug();
    EXPECT_TRUE(eventually([&] { return places() == before; })) << "when its link is trusted";
    near(2).link(false);
    ASSERT_TRUE(eventually([&] { return std::ranges::none_of(places(), [](auto p) { return p.second == 2; }); }));
    near(2).link(true);
    ASSERT_TRUE(eventually([&] { return places() == before; }));
}

// F137
TEST_F(Policies, BalanceOverAFullRingLosesAndDoublesNothing) {
    make(2, "tx=balance");
    ASSERT_EQ(port().up(pool(), {.descriptors = 64, .conf = {}}), 0);
    ASSERT_TRUE(eventually([&] { return all_joined(port()); }));
    std::vector<bool> seen(3000);
    std::vector<rte_mbuf *> waiting;
    unsigned next = 0;
    std::size_t got = 0;
    while (got < seen.size()) {
        while (waiting.size() < 150 && next < seen.size())
            waiting.push_back(flows(1, next++)[0]);
        const std::uint16_t sent = port().tx(waiting.data(), static_cast<std::uint16_t>(waiting.size()));
        waiting.erase(waiting.begin(), waiting.begin() + sent);
        for (const rte_mbuf *m : waiting)
            ASSERT_EQ(rte_mbuf_refcnt_read(m), 1);
        for (std::size_t i = 0; i < 2; i++)
            if (sent < 5 || next % 3 != i) // now the one is emptied, now the other
                for (const Far::Seen &s : far(i).receive()) {
                    ASSERT_FALSE(seen.at(s.number)) << s.number << " came twice";
                    seen[s.number] = true;
                    got++;
                }
    }
    EXPECT_TRUE(waiting.empty());
}

TEST_F(Policies, RoundRobinSendsBurstByBurstInTurn) {
    up(3, "tx=round-robin");
    for (unsigned burst = 0; burst < 9; burst++) {
        ASSERT_EQ(send_all(flows(10, burst * 10)), 10U);
        for (std::size_t i = 0; i < 3; i++)
            EXPECT_EQ(far(i).receive().size(), i == burst % 3 ? 10U : 0U) << burst;
    }
    near(1).unplug();
    for (unsigned burst = 0; burst < 4; burst++)
        ASSERT_EQ(send_all(flows(10)), 10U);
    EXPECT_EQ(far(0).receive().size(), 20U);
    EXPECT_EQ(far(2).receive().size(), 20U);
}

// F138, F174
TEST_F(Policies, BroadcastSendsEachPacketOnEachLink) {
    up(3, "tx=broadcast");
    ASSERT_EQ(send_all(flows(100)), 100U);
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(far(i).receive().size(), 100U);
    near(0).unplug();
    std::vector<rte_mbuf *> p = flows(3);
    std::vector<rte_mbuf *> more = flows(3, 3);
    for (std::size_t i = 0; i < 3; i++)
        ASSERT_EQ(rte_pktmbuf_chain(p[i], more[i]), 0);
    ASSERT_EQ(send_all(p), 3U);
    EXPECT_EQ(far(1).receive().size(), 3U);
    EXPECT_EQ(far(2).receive().size(), 3U);
}

// F136: a packet that is sent several times must not be freed by the first who is through with it.
TEST_F(Policies, BroadcastDoesNotOfferFastFree) {
    for (const bool broadcast : {false, true}) {
        Mayfly a, b;
        Vport other(devargs_of({&a, &b}, broadcast ? "tx=broadcast" : "tx=balance"));
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(other.id(), &info), 0);
        const std::uint64_t offered = info.tx_offload_capa | info.tx_queue_offload_capa | info.default_txconf.offloads;
        EXPECT_EQ((offered & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0, !broadcast);
        if (broadcast) {
            EXPECT_EQ(other.configure({.conf = {.txmode = {.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE}}}), -EINVAL);
        }
    }
}

// F134
TEST_F(Policies, PacketsThatMayGoToAllArePreparedByAll) {
    up(3, "tx=balance");
    std::vector<rte_mbuf *> p = flows(4);
    EXPECT_EQ(rte_eth_tx_prepare(port().id(), 0, p.data(), 4), 4);
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(near(i).calls("tx_prepare"), 1) << i;
    near(1).fail("tx_prepare", EINVAL, 1);
    EXPECT_EQ(rte_eth_tx_prepare(port().id(), 0, p.data(), 4), 0);
    EXPECT_EQ(rte_errno, EINVAL);
    rte_pktmbuf_free_bulk(p.data(), 4);
}

TEST_F(Policies, RxActiveDeliversWhatTheActiveOneReceivesAndCountsTheRest) {
    up(2, "rx=active");
    for (unsigned i = 0; i < 10; i++) { // the network sends everything over both links
        ASSERT_EQ(far(0).send(flows(20, i * 20)), 20);
        ASSERT_EQ(far(1).send(flows(20, i * 20)), 20);
        std::array<rte_mbuf *, 64> p{};
        ASSERT_EQ(port().rx(p.data(), 64), 20);
        for (std::uint16_t k = 0; k < 20; k++) {
            EXPECT_EQ(Far::number_in(p.at(k)), i * 20 + k);
            EXPECT_EQ(p.at(k)->port, port().id());
        }
        rte_pktmbuf_free_bulk(p.data(), 20);
        ASSERT_EQ(port().rx(p.data(), 64), 0);
    }
    EXPECT_EQ(xstats().at("rx_stale_packets"), 200U);
    EXPECT_EQ(port().describe().stale, 200U);
}

TEST_F(Policies, RxActiveDeliversNothingOldAfterASwitch) {
    up(2, "rx=active");
    ASSERT_EQ(far(0).send(flows(10)), 10);
    EXPECT_EQ(receive(port()), 10);
    for (unsigned i = 0; i < 6; i++) {
        const std::size_t next = 1 - i % 2;
        ASSERT_EQ(far(next).send(flows(100)), 100); // and nobody polls
        if (i == 2) {
            near(0).link(false);
            ASSERT_TRUE(eventually([&] { return port().active() == 1; }));
        } else {
            ASSERT_TRUE(eventually([&] { return port().switch_to(static_cast<std::uint8_t>(next)).ok(); }));
        }
        for (int k = 0; k < 8; k++)
            EXPECT_EQ(receive(port()), 0) << "round " << i;
        ASSERT_EQ(far(next).send(flows(5)), 5);
        EXPECT_EQ(receive(port()), 5) << "round " << i;
        if (i == 2)
            near(0).link(true);
    }
}

/// The values of --vdev in the README's section on this, with these two devices.
std::vector<std::string> examples(const Mayfly &a, const Mayfly &b) {
    std::ifstream readme(std::string(std::getenv("HOLDFAST_SOURCE_DIR")) + "/README.md");
    std::vector<std::string> out;
    bool inside = false;
    for (std::string line; std::getline(readme, line);) {
        if (line.starts_with("## "))
            inside = line.starts_with("## Spreading traffic");
        constexpr std::string_view kOption = "--vdev '";
        if (!inside || !line.starts_with(kOption) || !line.ends_with("'"))
            continue;
        std::string devargs = line.substr(kOption.size(), line.size() - kOption.size() - 1);
        for (const auto &[address, mayfly] : {std::pair{"0000:01:00.0", &a}, {"0000:02:00.0", &b}})
            devargs.replace(devargs.find(address), std::string_view(address).size(), mayfly->name());
        out.push_back(devargs.substr(devargs.find(',') + 1));
    }
    return out;
}

TEST_F(Policies, TheExamplesInTheReadmeAreWhatTheySay) {
    const std::array<Policy, 6> expected{Policy{},
                                         {.rx = RxPolicy::kActive},
                                         {.tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL34},
                                         {.tx = TxPolicy::kRoundRobin},
                                         {.rx = RxPolicy::kActive, .tx = TxPolicy::kBroadcast},
                                         {.no_active = NoActive::kDrop}};
    const Mayfly a, b;
    const std::vector<std::string> all = examples(a, b);
    ASSERT_EQ(all.size(), expected.size());
    for (std::size_t i = 0; i < all.size(); i++) {
        SCOPED_TRACE(all[i]);
        const Vport example(all[i]);
        ASSERT_EQ(example.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return all_joined(example); }));
        EXPECT_EQ(rte_eth_fp_ops[example.id()].tx_pkt_burst, datapath::choose(expected[i]).tx_burst);
        EXPECT_EQ(rte_eth_fp_ops[example.id()].rx_pkt_burst, datapath::choose(expected[i]).rx_burst);
        EXPECT_EQ(send(example, 6), 6);
        a.unplug();
        b.unplug();
        EXPECT_EQ(send(example, 6), expected[i].no_active == NoActive::kDrop ? 6 : 0);
        a.plug();
        b.plug();
    }
}

} // namespace
} // namespace holdfast::test
