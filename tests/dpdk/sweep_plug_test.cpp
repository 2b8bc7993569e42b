// SPDX-License-Identifier: BSD-3-Clause
// The fault sweep over hot-plug: whatever is asked of a sub-device while it joins, leaves or is closed, at each
// position, fails once and takes long once.
#include "support/captured_log.h"
#include "sweep_rig.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {
namespace {

using std::chrono::milliseconds;

bool one_of(const std::vector<std::string_view> &list, const std::string &op) {
    return std::find(list.begin(), list.end(), op) != list.end();
}

class SweepPlug : public WithPorts {
  protected:
    static void TearDownTestSuite() {
        std::printf("fault sweep over hot-plug: %u pairs of a step and an operation below it over %zu positions; %u "
                    "failures, %u delays\n",
                    size().pairs, kPositions, size().failures, size().delays);
    }
    static SweepSize &size() {
        static SweepSize counts;
        return counts;
    }

    /// A running port with something of each kind set, and all joined.
    [[nodiscard]] std::unique_ptr<Bench> bench() const {
        auto out = std::make_unique<Bench>(pool(), Bench::Stage::kStarted);
        EXPECT_EQ(out->rc(), 0);
        EXPECT_EQ(rte_eth_promiscuous_enable(out->id()), 0);
        EXPECT_EQ(rte_eth_allmulticast_enable(out->id()), 0);
        EXPECT_EQ(rte_eth_dev_rx_queue_stop(out->id(), 1), 0);
        EXPECT_EQ(rte_eth_dev_tx_queue_stop(out->id(), 1), 0);
        EXPECT_EQ(rte_eth_dev_set_link_down(out->id()), 0);
        EXPECT_TRUE(out->all_joined());
        return out;
    }
    static void take_off(const Bench &b, std::size_t position) {
        ASSERT_TRUE(b.port().remove_by_hand(static_cast<std::uint8_t>(position)).ok());
        ASSERT_TRUE(eventually([&] { return b.port().state(position) == "absent" && !b.sub(position).there(); }));
    }
    static void plug(const Bench &b, std::size_t position) {
        ASSERT_TRUE(b.port().plug_by_hand(static_cast<std::uint8_t>(position)).ok());
    }
    [[nodiscard]] static bool joins(const Bench &b, std::size_t position) {
        return eventually([&] { return b.port().joined(position); });
    }
    /// All facts but the counters, and but for who is active: that moved when somebody left.
    [[nodiscard]] static Facts facts(const Bench &b) { return without(b.facts(), {"stats", "states"}); }

    /// Packets of the others come while `act` makes a sub-device wait. A busy machine may need longer for that.
    template <class F> static void expect_traffic(F act) {
        for (const int patience : {50, 500, 5000})
            if (act(milliseconds(patience)) != 0)
                return;
        ADD_FAILURE() << "nothing came meanwhile";
    }
};

TEST_F(SweepPlug, EachStepOfAPlugInFailsOnceAndTakesLongOnce) {
    // It is there all the same: ethdev keeps these failures to itself, or they say nothing of what the port needs.
    const std::vector<std::string_view> silent{"stats_get", "link_update", "is_removed"};
    const std::unique_ptr<Bench> b = bench();
    const Facts before = facts(*b);
    for (std::size_t position = 0; position < kPositions; position++) {
        const Mayfly &m = b->sub(position);
        ASSERT_NO_FATAL_FAILURE(take_off(*b, position));
        const Counted counts = counted(m);
        plug(*b, position);
        ASSERT_TRUE(joins(*b, position));
        const std::vector<std::string> ops = called_since(counts, m);
        ASSERT_EQ(facts(*b), before);
        for (const std::string &op : ops) {
            SCOPED_TRACE(op + " of sub-device " + std::to_string(position));
            size().pairs += position == 0 ? 1 : 0;
            for (const int error : {ENOMEM, EIO}) {
                if (!can_fail(op))
                    break;
                SCOPED_TRACE(std::strerror(error));
                ASSERT_NO_FATAL_FAILURE(take_off(*b, position));
                const std::uint64_t plugins = b->port().sub(position).plugins;
                const CapturedLog log;
                m.fail(op.c_str(), error, 1);
                plug(*b, position);
                EXPECT_TRUE(joins(*b, position)) << b->port().sub(position).reason;
                m.clear();
                const std::string refusal = std::string(": ") + std::strerror(error) + "; trying again later";
                EXPECT_EQ(log.lines_with(m.name() + " is not plugged in: cannot ", refusal),
                          one_of(silent, op) ? 0U : 1U)
                    << log.text();
                EXPECT_LE(b->port().sub(position).plugins, plugins + 2);
                EXPECT_EQ(facts(*b), before);
                size().failures++;
            }
            expect_traffic([&](milliseconds patience) {
                take_off(*b, position);
                m.delay(op.c_str(), patience);
                const Traffic traffic(*b);
                plug(*b, position);
                EXPECT_TRUE(joins(*b, position));
                m.clear();
                return traffic.packets();
            });
            EXPECT_EQ(facts(*b), before);
            size().delays++;
            if (HasFailure())
                return;
        }
    }
    expect_no_late_access(Bench::subs());
}

TEST_F(SweepPlug, EachStepOfARemovalFailsOnceAndTakesLongOnce) {
    const std::unique_ptr<Bench> b = bench();
    const Facts before = facts(*b);
    for (const bool by_hand : {true, false}) {
        SCOPED_TRACE(by_hand ? "removed by hand" : "asked for by the device");
        const auto leave = [&](std::size_t position) {
            if (by_hand) {
                take_off(*b, position);
                return;
            }
            b->sub(position).unplug_planned();
            ASSERT_TRUE(eventually([&] { return !b->sub(position).there(); }));
        };
        const auto come_back = [&](std::size_t position) {
            if (by_hand)
                plug(*b, position);
            else
                b->sub(position).plug();
            EXPECT_TRUE(joins(*b, position)) << b->port().sub(position).reason;
        };
        for (std::size_t position = 0; position < kPositions; position++) {
            const Mayfly &m = b->sub(position);
            const Counted counts = counted(m);
            ASSERT_NO_FATAL_FAILURE(leave(position));
            const std::vector<std::string> ops = called_since(counts, m);
            come_back(position);
            for (const std::string &op : ops) {
                SCOPED_TRACE(op + " of sub-device " + std::to_string(position));
                size().pairs += position == 0 ? 1 : 0;
                const std::uint64_t removals = b->port().sub(position).removals;
                for (const int error : {ENOMEM, EIO}) {
                    if (!can_fail(op))
                        break;
                    SCOPED_TRACE(std::strerror(error));
                    m.fail(op.c_str(), error, 1);
                    ASSERT_NO_FATAL_FAILURE(leave(position)); // whatever refuses, it leaves
                    m.clear();
                    come_back(position);
                    EXPECT_EQ(facts(*b), before);
                    size().failures++;
                }
                expect_traffic([&](milliseconds patience) {
                    m.delay(op.c_str(), patience);
                    const Traffic traffic(*b);
                    leave(position);
                    m.clear();
                    const std::uint64_t packets = traffic.packets();
                    come_back(position);
                    return packets;
                });
                EXPECT_GT(b->port().sub(position).removals, removals);
                EXPECT_EQ(facts(*b), before);
                size().delays++;
                if (HasFailure())
                    return;
            }
        }
    }
    expect_no_late_access(Bench::subs());
}

TEST_F(SweepPlug, EachStepOfACloseFailsOnceAndTakesLongOnce) {
    // What the port could do without on its way out.
    const std::vector<std::string_view> silent{
        "stats_get",           "mac_addr_set",         "dev_infos_get",   "link_update", "is_removed",
        "promiscuous_disable", "allmulticast_disable", "dev_set_link_up", "mtu_set"};
    std::vector<std::string> ops[kPositions];
    {
        const std::unique_ptr<Bench> b = bench();
        ASSERT_EQ(b->port().stop(), 0);
        Counted counts[kPositions];
        for (std::size_t i = 0; i < kPositions; i++)
            counts[i] = counted(b->sub(i));
        EXPECT_EQ(b->port().close(), 0);
        for (std::size_t i = 0; i < kPositions; i++)
            ops[i] = called_since(counts[i], b->sub(i));
    }
    for (std::size_t position = 0; position < kPositions; position++)
        for (const std::string &op : ops[position]) {
            SCOPED_TRACE(op + " of sub-device " + std::to_string(position));
            size().pairs += position == 0 ? 1 : 0;
            const Mayfly &m = Bench::sub(position);
            for (const int error : {ENOMEM, EIO, 0}) { // 0: it takes long
                if (error != 0 && !can_fail(op))
                    continue;
                SCOPED_TRACE(error != 0 ? std::strerror(error) : "takes long");
                const std::unique_ptr<Bench> b = bench();
                ASSERT_EQ(b->port().stop(), 0);
                if (error != 0)
                    m.fail(op.c_str(), error, 1);
                else
                    m.delay(op.c_str(), milliseconds(5));
                EXPECT_EQ(b->port().close(), one_of(silent, op) ? 0 : -error);
                m.clear();
                for (const Mayfly *sub : Bench::subs())
                    EXPECT_FALSE(sub->there()) << "the port is gone, and with it the sub-devices";
                (error != 0 ? size().failures : size().delays)++;
            }
            if (HasFailure())
                return;
        }
    const std::unique_ptr<Bench> again = bench();
    expect_no_late_access(Bench::subs());
}

} // namespace
} // namespace holdfast::test
