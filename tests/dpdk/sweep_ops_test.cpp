// SPDX-License-Identifier: BSD-3-Clause
// The fault sweep over the operations: whatever a call from above asks of a sub-device below, at each position, fails
// once and takes long once.
#include "sweep_rig.h"
#include "sweep_table.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

void PrintTo(const Row &row, std::ostream *out) {
    *out << row.slot;
}

namespace {

/// What an undisturbed call does.
struct Reference {
    std::vector<std::string> ops[kPositions]; ///< that were called below, at each position
    Facts after;                              ///< what is there afterwards
    Facts finished;                           ///< and when the port was brought up then
};

/// Operations that the host thread calls when it likes, and whose failure says nothing.
constexpr std::string_view kAlwaysSilent[] = {"link_update", "is_removed"};

class SweepOps : public WithPorts, public testing::WithParamInterface<Row> {
  protected:
    static void TearDownTestSuite() {
        std::printf(
            "fault sweep over the operations: %zu rows for %zu slots, %u pairs of a call and an operation below "
            "it over %zu positions; %u failures, %u delays\n",
            sweep_rows().size(), slots().size(), size().pairs, kPositions, size().failures, size().delays);
    }
    static std::set<std::string> slots() {
        std::set<std::string> out;
        for (const Row &row : sweep_rows())
            out.insert(row.slot);
        return out;
    }
    static SweepSize &size() {
        static SweepSize counts;
        return counts;
    }

    [[nodiscard]] std::unique_ptr<Bench> bench() const {
        auto out = std::make_unique<Bench>(pool(), GetParam().stage);
        EXPECT_EQ(out->rc(), 0);
        if (GetParam().prepare != nullptr) {
            EXPECT_EQ(GetParam().prepare(*out), 0);
        }
        return out;
    }

    /// The one without any disturbance.
    [[nodiscard]] Reference undisturbed() const {
        Reference out;
        const std::unique_ptr<Bench> b = bench();
        Counted before[kPositions];
        for (std::size_t i = 0; i < kPositions; i++)
            before[i] = counted(b->sub(i));
        EXPECT_EQ(GetParam().call(*b), 0);
        for (std::size_t i = 0; i < kPositions; i++)
            out.ops[i] = called_since(before[i], b->sub(i));
        out.after = b->facts();
        EXPECT_EQ(b->finish(), 0);
        out.finished = b->facts();
        return out;
    }

    [[nodiscard]] static bool silent(const std::string &op) {
        const auto names = [&](const auto &list) { return std::find(list.begin(), list.end(), op) != list.end(); };
        return names(std::to_array(kAlwaysSilent)) || names(GetParam().silent);
    }

    void fail_once(const Reference &reference, std::size_t position, const std::string &op, int error) const {
        const Row &row = GetParam();
        const std::unique_ptr<Bench> b = bench();
        const Facts before = b->facts();
        b->sub(position).fail(op.c_str(), error, 1);
        const int rc = row.call(*b);
        b->sub(position).clear();
        // What had no result cannot be known to have failed: that it is there still is no lie of ours.
        std::vector<std::string_view> unknown = row.loses;
        if (op == "mac_addr_remove" || (op == "dev_infos_get" && std::strcmp(row.slot, "mac_addr_remove") == 0))
            unknown.insert(unknown.end(), {"told", "view"});
        if (silent(op)) {
            EXPECT_EQ(rc, 0);
            EXPECT_EQ(without(b->facts(), unknown), without(reference.after, unknown));
        } else {
            EXPECT_EQ(rc, -error);
            EXPECT_EQ(without(b->facts(), row.loses), without(before, row.loses));
            EXPECT_EQ(row.call(*b), 0) << "the retry";
            EXPECT_EQ(without(b->facts(), row.loses), without(reference.after, row.loses)) << "the retry";
        }
        EXPECT_EQ(b->finish(), 0);
        EXPECT_EQ(without(b->facts(), unknown), without(reference.finished, unknown)) << "brought up";
        EXPECT_TRUE(b->all_joined());
    }

    void delay_once(const Reference &reference, std::size_t position, const std::string &op) const {
        const Row &row = GetParam();
        const std::unique_ptr<Bench> b = bench();
        b->sub(position).delay(op.c_str(), std::chrono::milliseconds(1));
        EXPECT_EQ(row.call(*b), 0);
        b->sub(position).clear();
        EXPECT_EQ(b->facts(), reference.after);
    }

    /// Packets have to come while the call waits below. A busy machine may need longer to run the lcore.
    void poll_meanwhile(std::size_t position, const std::string &op) const {
        using std::chrono::milliseconds;
        std::uint64_t packets = 0;
        for (const int patience : {20, 200, 2000, 5000}) {
            const std::unique_ptr<Bench> b = bench();
            const Traffic traffic(*b);
            b->sub(position).delay(op.c_str(), milliseconds(patience));
            const std::uint64_t before = traffic.packets();
            EXPECT_EQ(GetParam().call(*b), 0);
            packets = traffic.packets() - before;
            b->sub(position).clear();
            if (packets != 0)
                return;
        }
        ADD_FAILURE() << "nothing came while " << op << " took its time";
    }
};

TEST_P(SweepOps, FailsOnceAndTakesLongOnceAtEachPosition) {
    if (GetParam().call == nullptr)
        return; // GetParam().elsewhere says where it is tried
    const Reference reference = undisturbed();
    std::set<std::string> pairs;
    for (std::size_t position = 0; position < kPositions; position++) {
        for (const std::string &op : reference.ops[position]) {
            SCOPED_TRACE(op + " of sub-device " + std::to_string(position));
            pairs.insert(op);
            for (const int error : {ENOMEM, EIO}) {
                if (!can_fail(op))
                    break; // releases have no result
                SCOPED_TRACE(std::strerror(error));
                fail_once(reference, position, op, error);
                size().failures++;
            }
            delay_once(reference, position, op);
            size().delays++;
            if (GetParam().runs && position == 1)
                poll_meanwhile(position, op);
            if (HasFailure())
                return; // one of them is enough to read
        }
    }
    size().pairs += static_cast<unsigned>(pairs.size());
}

INSTANTIATE_TEST_SUITE_P(Rows, SweepOps, testing::ValuesIn(sweep_rows()),
                         [](const auto &row) { return std::to_string(row.index) + "_" + row.param.slot; });

using SweepTable = WithPorts;

// A slot that is filled is swept; a row is for a slot that is filled.
TEST_F(SweepTable, HasARowForEveryOperationOfTheDriver) {
    const Mayfly m;
    const Vport port(m.dev());
    const eth_dev_ops *ops = rte_eth_devices[port.id()].dev_ops;
    const auto filled = [&](std::size_t offset) {
        void *slot = nullptr;
        std::memcpy(&slot, reinterpret_cast<const unsigned char *>(ops) + offset, sizeof(slot));
        return slot != nullptr;
    };
    std::set<std::size_t> rows;
    for (const Row &row : sweep_rows()) {
        rows.insert(row.offset);
        EXPECT_TRUE(filled(row.offset)) << row.slot;
    }
    for (std::size_t offset = 0; offset < sizeof(eth_dev_ops); offset += sizeof(void *))
        if (filled(offset)) {
            EXPECT_TRUE(rows.contains(offset)) << "no row for the slot at offset " << offset << " of eth_dev_ops";
        }
}

} // namespace
} // namespace holdfast::test
