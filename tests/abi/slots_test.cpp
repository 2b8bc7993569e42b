// SPDX-License-Identifier: BSD-3-Clause
// The order of the ops slots: each is called through DPDK's public API on a live port, and mayfly says which of its
// operations ran. A slot in the wrong place of our eth_dev_ops would run another one, or none.
#include "abi/slots.h"

#include <rte_pmd_mayfly.h>

#include <gmock/gmock.h>

#include <rte_bus_vdev.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

namespace holdfast::slots {
namespace {

using Calls = std::map<std::string, std::int64_t, std::less<>>;

Calls calls_of(const char *device) {
    Calls calls;
    for (unsigned i = 0;; i++) {
        const char *op = rte_pmd_mayfly_op_name(i);
        if (op == nullptr)
            return calls;
        calls[op] = rte_pmd_mayfly_calls(device, op);
    }
}

std::set<std::string, std::less<>> rose(const Calls &before, const Calls &after) {
    std::set<std::string, std::less<>> ops;
    for (const auto &[op, count] : after)
        if (count > before.at(op))
            ops.insert(op);
    return ops;
}

class Slots : public testing::Test {
  protected:
    void SetUp() override {
        subject_.pool = rte_pktmbuf_pool_create("slots", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        ASSERT_NE(subject_.pool, nullptr);
        subject_.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    }
    void TearDown() override { rte_mempool_free(subject_.pool); }

    Subject subject_;
};

TEST_F(Slots, EachPublicCallEndsInTheOperationOfItsName) {
    constexpr const char *kName = "net_mayfly_slots";
    ASSERT_EQ(rte_vdev_init(kName, ""), 0);
    subject_.rx_interrupts = true;
    ASSERT_EQ(rte_eth_dev_get_port_by_name(kName, &subject_.port), 0);

    std::set<std::string, std::less<>> proved;
    for (const Row &row : rows()) {
        const Calls before = calls_of(kName);
        const int rc = row.call(subject_);
        EXPECT_GE(rc, 0) << row.op;
        const auto ran = rose(before, calls_of(kName));
        EXPECT_TRUE(ran.contains(row.op)) << row.op << " did not run";
        for (const std::string &op : ran)
            EXPECT_TRUE(op == row.op || std::find(row.also.begin(), row.also.end(), op) != row.also.end())
                << op << " ran where " << row.op << " was called";
        proved.insert(std::string(row.op));
    }
    std::printf("%zu operations reached through the public API\n", proved.size());

    for (const auto &[op, count] : calls_of(kName)) {
        if (op != "probe" && op != "remove") { // the bus calls these
            EXPECT_TRUE(proved.contains(op)) << op << " has no row";
        }
    }
    EXPECT_EQ(rte_vdev_uninit(kName), 0);
}

/// What the virtual port does about a row. Its own slots must be in order too, so a call arrives at the sub-device as
/// the same operation and as no other that changes something; what it answers by itself it answers; and a slot that it
/// leaves empty is empty for ethdev.
enum class Does { kPassOn, kAnswer, kLack };

Does virtual_port_does(std::string_view op) {
    static const std::set<std::string, std::less<>> kAnswered{"dev_infos_get",
                                                              "link_update",
                                                              "stats_get",
                                                              "stats_reset",
                                                              "xstats_get",
                                                              "xstats_reset",
                                                              "xstats_get_names",
                                                              "rxq_info_get",
                                                              "txq_info_get",
                                                              "dev_supported_ptypes_get",
                                                              "dev_reset",
                                                              "xstats_get_by_id",
                                                              "xstats_get_names_by_id",
                                                              "rss_hash_conf_get"};
    static const std::set<std::string, std::less<>> kLacking{"rx_burst_mode_get",
                                                             "tx_burst_mode_get",
                                                             "fw_version_get",
                                                             "dev_ptypes_set",
                                                             "vlan_tpid_set",
                                                             "vlan_strip_queue_set",
                                                             "vlan_pvid_set",
                                                             "flow_ctrl_get",
                                                             "flow_ctrl_set",
                                                             "eth_dev_priv_dump",
                                                             "is_removed",
                                                             "rx_queue_intr_enable",
                                                             "rx_queue_intr_disable",
                                                             "read_clock",
                                                             "timesync_enable",
                                                             "timesync_disable",
                                                             "timesync_read_rx_timestamp",
                                                             "timesync_read_tx_timestamp",
                                                             "timesync_adjust_time",
                                                             "timesync_adjust_freq",
                                                             "timesync_read_time",
                                                             "timesync_write_time"};
    return kAnswered.contains(op) ? Does::kAnswer : kLacking.contains(op) ? Does::kLack : Does::kPassOn;
}

/// Asked of a sub-device at any time, also by the host thread.
bool only_reads(std::string_view op) {
    return op.find("_get") != op.npos || op == "link_update" || op == "is_removed" || op == "rx_queue_count" ||
           op == "reta_query";
}

TEST_F(Slots, EachPublicCallOnAVirtualPortEndsInTheSameOperationOfItsSubDevice) {
    constexpr const char *kName = "net_holdfast_slots";
    constexpr const char *kSub = "net_mayfly_below";
    // An announcement would be sent while something else is called.
    ASSERT_EQ(rte_vdev_init(kName, "announce=0,dev(net_mayfly_below)"), 0);
    ASSERT_EQ(rte_eth_dev_get_port_by_name(kName, &subject_.port), 0);
    ASSERT_GE(rte_pmd_mayfly_port(kSub), 0);

    std::size_t passed_on = 0;
    for (const Row &row : rows()) {
        const Calls before = calls_of(kSub);
        const int rc = row.call(subject_);
        const auto ran = rose(before, calls_of(kSub));
        switch (virtual_port_does(row.op)) {
        case Does::kLack:
            // For these two ethdev has an answer of its own.
            EXPECT_EQ(rc, row.op == "is_removed" || row.op == "dev_ptypes_set" ? 0 : -ENOTSUP) << row.op;
            EXPECT_FALSE(ran.contains(row.op) && !only_reads(row.op)) << row.op;
            continue;
        case Does::kAnswer:
            EXPECT_GE(rc, 0) << row.op;
            break;
        case Does::kPassOn:
            EXPECT_GE(rc, 0) << row.op;
            EXPECT_TRUE(ran.contains(row.op)) << row.op << " did not reach the sub-device";
            passed_on++;
            break;
        }
        // A life-cycle step of the virtual port brings the sub-device to where it belongs, with whatever that takes.
        if (row.op.starts_with("dev_") || row.op.ends_with("_setup") || row.op.ends_with("_release"))
            continue;
        for (const std::string &op : ran)
            EXPECT_TRUE(op == row.op || only_reads(op) || (row.op == "xstats_reset" && op == "stats_reset") ||
                        std::find(row.also.begin(), row.also.end(), op) != row.also.end())
                << op << " ran where " << row.op << " was called";
    }
    std::printf("%zu operations passed on by the virtual port\n", passed_on);
    EXPECT_EQ(rte_vdev_uninit(kName), 0);
}

} // namespace
} // namespace holdfast::slots
