// SPDX-License-Identifier: BSD-3-Clause
// What arguments that can be read bring about. (FAULTS.md, section 1, and what of the others devargs cause.)
#include "devargs_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_bus.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// F2
TEST_F(DevargsProbe, TheMacOfOneInstanceIsNotTheOthers) {
    const Port first("net_holdfast0", "mac=02:11:22:33:44:55,dev(net_mayfly0,mac=02:00:00:00:00:10)");
    const Port second("net_holdfast1", "dev(net_mayfly1,mac=02:00:00:00:00:11)");
    ASSERT_EQ(first.rc(), 0);
    ASSERT_EQ(second.rc(), 0);
    EXPECT_EQ(mac_of("net_holdfast0"), "02:11:22:33:44:55");
    EXPECT_EQ(mac_of("net_holdfast1"), "02:00:00:00:00:11");
    start(first.id());
    start(second.id());
    EXPECT_EQ(mac_of("net_mayfly0"), "02:11:22:33:44:55");
    EXPECT_EQ(mac_of("net_mayfly1"), "02:00:00:00:00:11");
    EXPECT_EQ(rte_eth_dev_stop(first.id()), 0);
    EXPECT_EQ(rte_eth_dev_stop(second.id()), 0);
}

// F3
TEST_F(DevargsProbe, ThePollIntervalOfOneInstanceIsNotTheOthers) {
    for (const bool slow_one_first : {false, true}) {
        for (const char *name : {"net_mayfly0", "net_mayfly1"})
            ASSERT_EQ(rte_pmd_mayfly_unplug(name, RTE_PMD_MAYFLY_SYNC), 0);
        const std::string slow = "dev(net_mayfly0),hotplug_poll=600000";
        const std::string fast = "dev(net_mayfly1),hotplug_poll=10";
        const Port first("net_holdfast0", slow_one_first ? slow : fast);
        const Port second("net_holdfast1", slow_one_first ? fast : slow);
        ASSERT_EQ(first.rc(), 0);
        ASSERT_EQ(second.rc(), 0);
        for (const char *name : {"net_mayfly0", "net_mayfly1"})
            ASSERT_EQ(rte_pmd_mayfly_plug(name), 0);
        EXPECT_TRUE(eventually([] { return there("net_mayfly1"); }));
        std::this_thread::sleep_for(300ms);
        EXPECT_FALSE(there("net_mayfly0"));
    }
}

// F6
TEST_F(DevargsProbe, KeysCountInAnyOrder) {
    std::vector<std::string> items{"dev(net_mayfly0)", "mac=02:11:22:33:44:55", "hotplug_poll=10"};
    std::sort(items.begin(), items.end());
    do {
        const std::string args = items[0] + "," + items[1] + "," + items[2];
        SCOPED_TRACE(args);
        const Port port("net_holdfast0", args);
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(mac_of("net_holdfast0"), "02:11:22:33:44:55");
        EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
        const std::int64_t lives = rte_pmd_mayfly_count("net_mayfly0", RTE_PMD_MAYFLY_LIVES);
        EXPECT_EQ(rte_pmd_mayfly_unplug("net_mayfly0", RTE_PMD_MAYFLY_SYNC), 0);
        EXPECT_TRUE(eventually([] { return !there("net_mayfly0"); }));
        EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly0"), 0);
        EXPECT_TRUE(eventually([&] { return rte_pmd_mayfly_count("net_mayfly0", RTE_PMD_MAYFLY_LIVES) == lives + 1; }));
    } while (std::next_permutation(items.begin(), items.end()));
}

// F13: on this machine without hugepages there can be no secondary process, so they go through whole.
TEST_F(DevargsProbe, LongArgumentsOfASubDeviceArriveWhole) {
    const std::string args =
        "net_mayfly0,mode=sink,size=128,queues=16,max_mtu=2000,max_macs=3,min_desc=64,max_desc=1024,"
        "desc_align=32,reta_size=512,hash_key_size=52,dead_tx=refuse,mac=02:00:00:00:00:2a";
    ASSERT_GT(args.size(), 128U + 30U) << "the last argument is beyond what a secondary process would get";
    const Port port("net_holdfast0", "dev(" + args + ")");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(mac_of("net_mayfly0"), "02:00:00:00:00:2A");
    EXPECT_EQ(mac_of("net_holdfast0"), "02:00:00:00:00:2A");
}

// F13: one that waits on the bus is probed by EAL's general function, which sends it to secondary processes too.
TEST_F(DevargsProbe, ArgumentsThatWouldReachASecondaryProcessCutAreRefusedWithTheReason) {
    for (const bool fits : {true, false}) {
        const std::string waiting = "net_mayfly0," + std::string("mac=02:00:00:00:00:2a");
        ASSERT_EQ(rte_devargs_add(RTE_DEVTYPE_VIRTUAL, waiting.c_str()), 0);
        ASSERT_EQ(rte_bus_scan(), 0);
        const CapturedLog log;
        const std::string args = waiting + (fits ? "" : ",size=" + std::string(128, '0') + "64");
        const Port port("net_holdfast0", "dev(" + args + ")");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(there("net_mayfly0"), fits);
        EXPECT_EQ(log.lines_with("net_mayfly0 is not plugged in", "Argument list too long"), fits ? 0U : 1U)
            << log.text();
        if (!fits) { // only one that was probed can be taken off the bus
            EXPECT_EQ(rte_dev_probe(waiting.c_str()), 0);
            EXPECT_EQ(rte_eth_dev_close(port_of("net_mayfly0")), 0);
            EXPECT_EQ(rte_vdev_uninit("net_mayfly0"), 0);
        }
    }
}

// F14
TEST_F(DevargsProbe, OtherArgumentsOfADeviceThatIsThereAlreadyAreSaidToBeUnused) {
    for (const bool same : {false, true}) {
        ASSERT_EQ(rte_vdev_init("net_null0", "size=64"), 0);
        const CapturedLog log;
        const Port port("net_holdfast0", same ? "dev(net_null0,size=64)" : "dev(net_null0,size=512)");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(owner_of("net_null0"), "net_holdfast0") << "it is taken over all the same";
        EXPECT_EQ(log.lines_with("\"size=64\"", "\"size=512\" is not used"), same ? 0U : 1U) << log.text();
        EXPECT_EQ(log.lines_with("net_null0", "not used"), same ? 0U : 1U) << log.text();
    }
}

TEST_F(DevargsProbe, ADeviceThatIsThereAlreadyWithoutArgumentsIsTakenOver) {
    ASSERT_EQ(rte_vdev_init("net_null0", nullptr), 0);
    const CapturedLog log;
    const Port port("net_holdfast0", "dev(net_null0,size=512)");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(owner_of("net_null0"), "net_holdfast0");
    EXPECT_EQ(log.lines_with("\"size=512\"", "not used"), 1U) << log.text();
}

// F16: a socket of -1, or one that does not exist, is a wish that cannot be met and no index.
TEST_F(DevargsProbe, AnySocketMayBeNamed) {
    const Port port("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(port.rc(), 0);
    start(port.id());
    ASSERT_EQ(rte_eth_dev_stop(port.id()), 0);
    for (const int socket : {SOCKET_ID_ANY, 7}) {
        EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 128, static_cast<unsigned>(socket), nullptr, pool_.get()), 0)
            << socket;
        EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 128, static_cast<unsigned>(socket), nullptr), 0) << socket;
        EXPECT_EQ(rte_eth_dev_start(port.id()), 0);
        EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
    }
}

// F153
TEST_F(DevargsProbe, ASubDeviceOfAnotherInstanceIsWaitedForWithOneLine) {
    auto first = std::make_unique<Port>("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(first->rc(), 0);
    const CapturedLog log;
    const Port second("net_holdfast1", "dev(net_mayfly0),dev(net_mayfly1),hotplug_poll=5");
    ASSERT_EQ(second.rc(), 0);
    EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
    EXPECT_EQ(owner_of("net_mayfly1"), "net_holdfast1") << "it comes up with the rest";
    std::this_thread::sleep_for(300ms); // many attempts
    EXPECT_EQ(log.lines_with("net_holdfast1", "net_mayfly0"), 1U) << log.text();
    EXPECT_EQ(log.lines_with("net_mayfly0", "another port owns"), 1U) << log.text();
    first.reset();
    EXPECT_TRUE(eventually([] { return owner_of("net_mayfly0") == "net_holdfast1"; }))
        << "free now, and so it is taken";
}

} // namespace
} // namespace holdfast::test
