// SPDX-License-Identifier: BSD-3-Clause
// Packets under each policy while sub-devices leave and come, and while there is none.
#include "policies_rig.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using PoliciesRemoval = Policies;

// F141
TEST_F(PoliciesRemoval, DropLetsAnApplicationGoOnThatSendsUntilAllIsSent) {
    for (const char *tx : {"active", "balance", "round-robin", "broadcast"}) {
        Mayfly m;
        Vport other(devargs_of({&m}, std::string("hotplug_poll=5,no_active=drop,tx=") + tx));
        ASSERT_EQ(other.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return other.joined(0); }));
        EXPECT_EQ(send(other, 5), 5);
        EXPECT_EQ(m.count(RTE_PMD_MAYFLY_TX_PACKETS), 5) << tx;
        m.unplug();
        EXPECT_EQ(send(other, 7), 7) << tx;
        EXPECT_EQ(other.describe().dropped, 7U) << tx;
        EXPECT_EQ(other.describe().refused, 0U) << tx;
        ASSERT_TRUE(eventually([&] { return other.state(0) == "absent"; }));
        // A queue that is set up anew does not forget what was counted.
        ASSERT_EQ(other.stop(), 0);
        ASSERT_EQ(other.up(pool()), 0);
        EXPECT_EQ(send(other, 1), 1) << tx;
        EXPECT_EQ(other.describe().dropped, 8U) << tx;
        m.plug();
        ASSERT_TRUE(eventually([&] { return other.joined(0); }));
        EXPECT_EQ(send(other, 5), 5) << tx;
        EXPECT_EQ(other.describe().dropped, 8U) << tx;
    }
}

// F163
TEST_F(PoliciesRemoval, SwitchesByHandLoseNothingSplitNoBurstAndKeepTheOrder) {
    constexpr unsigned kBurst = 16;
    up(2, "tx=active");
    std::atomic<unsigned> bursts{0}, wanted{0}; // their numbers have 16 bits
    std::thread lcore([&] {
        std::map<unsigned, std::size_t> link; // of each burst
        std::array<unsigned, 2> next{}, got{};
        while (bursts < 4000) {
            if (bursts == wanted) {
                std::this_thread::yield();
                continue;
            }
            std::vector<rte_mbuf *> p = flows(kBurst, bursts * kBurst);
            const std::uint16_t n = port().tx(p.data(), kBurst);
            EXPECT_EQ(n, kBurst) << "a switch is no reason to take less";
            rte_pktmbuf_free_bulk(p.data() + n, kBurst - n);
            bursts++;
            for (std::size_t i = 0; i < 2; i++)
                for (const Far::Seen &s : far(i).receive()) {
                    EXPECT_EQ(link.emplace(s.number / kBurst, i).first->second, i) << "burst " << s.number / kBurst;
                    EXPECT_GE(s.number, next.at(i));
                    next.at(i) = s.number + 1;
                    got.at(i)++;
                }
        }
        EXPECT_EQ(got[0] + got[1], bursts * kBurst);
        EXPECT_GT(got[0], kBurst);
        EXPECT_GT(got[1], kBurst);
    });
    for (unsigned i = 0; i < 200; i++) {
        wanted += 20;
        EXPECT_TRUE(eventually([&] { return bursts + 15 >= wanted; })) << "before switch " << i;
        EXPECT_TRUE(port().switch_to(static_cast<std::uint8_t>((i + 1) % 2)).ok());
    }
    lcore.join();
}

class PoliciesUnplug : public Policies, public testing::WithParamInterface<const char *> {};

/// F166: both sub-devices are pulled and put back under traffic; at the end of the test no mbuf may be missing, and no
/// simulated NIC may have seen anybody late.
TEST_P(PoliciesUnplug, UnderTrafficNothingIsLostButWhatTheDeadOneHeld) {
    up(2, GetParam());
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sent{0};
    std::thread lcore([&] {
        unsigned number = 0;
        while (!stop.load()) {
            std::vector<rte_mbuf *> p = flows(16, number);
            number += 16;
            const std::uint16_t n = port().tx(p.data(), 16);
            for (std::size_t i = n; i < p.size(); i++)
                EXPECT_EQ(rte_mbuf_refcnt_read(p[i]), 1);
            rte_pktmbuf_free_bulk(p.data() + n, 16U - n);
            sent += n;
            (void)receive(port());
            for (std::size_t i = 0; i < 2; i++) {
                (void)far(i).receive();
                (void)far(i).send(flows(4));
            }
        }
    });
    const auto goes_on = [&] {
        const std::uint64_t before = sent.load();
        return eventually([&] { return sent.load() > before + 16; });
    };
    for (std::size_t round = 0; round < 10; round++) {
        const std::size_t i = round % 2;
        EXPECT_TRUE(goes_on()) << "with both, round " << round;
        if (round % 3 == 0)
            near(i).unplug_planned();
        else
            near(i).unplug();
        EXPECT_TRUE(goes_on()) << "with one, round " << round;
        ASSERT_TRUE(eventually([&] { return port().state(i) == "absent"; }));
        near(i).plug();
        ASSERT_TRUE(eventually([&] { return port().joined(i); }));
    }
    stop = true;
    lcore.join();
}

INSTANTIATE_TEST_SUITE_P(All, PoliciesUnplug,
                         testing::Values("tx=active,rx=active", "tx=balance,xmit_policy=l34",
                                         "tx=balance,xmit_policy=l2,rx=active,no_active=drop", "tx=round-robin",
                                         "tx=broadcast,no_active=drop", "tx=broadcast,rx=active"));

} // namespace
} // namespace holdfast::test
