// SPDX-License-Identifier: BSD-3-Clause
// Arguments that are refused, with the part that cannot be, before anything is probed. (FAULTS.md, section 1.)
#include "devargs_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
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

// F4, F5, F20
TEST_F(DevargsProbe, ABadValueIsNamedBeforeAnythingIsProbed) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    for (const std::string value : {"10x", "0", "-1", "18446744073709551615", "abc"})
        EXPECT_THAT(refused("dev(net_mayfly0),hotplug_poll=" + value),
                    AllOf(HasSubstr("net_holdfast9: "), HasSubstr("hotplug_poll="), HasSubstr("\"" + value + "\""),
                          HasSubstr("at character 31")));
    EXPECT_THAT(refused("dev(net_mayfly0),mac=02:00:00:00:00:01,mac=02:00:00:00:00:02"),
                AllOf(HasSubstr("\"mac=02:00:00:00:00:02\""), HasSubstr("twice")));
    for (const std::string mac : {"ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "01:00:5e:00:00:01"})
        EXPECT_THAT(refused("dev(net_mayfly0),mac=" + mac), HasSubstr("\"" + mac + "\""));
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
    // And so the device is free for its next user.
    ASSERT_EQ(rte_vdev_init("net_mayfly0", ""), 0);
    EXPECT_EQ(owner_of("net_mayfly0"), "");
    EXPECT_EQ(rte_eth_dev_close(port_of("net_mayfly0")), 0);
    EXPECT_EQ(rte_vdev_uninit("net_mayfly0"), 0);
}

// F10
TEST_F(DevargsProbe, WithoutASubDeviceThereIsNoPort) {
    EXPECT_THAT(refused("dev()"), HasSubstr("\"dev()\" at character 1"));
    EXPECT_THAT(refused(""), HasSubstr("no sub-device"));
    EXPECT_THAT(refused("hotplug_poll=100"), HasSubstr("no sub-device"));
}

// F11
TEST_F(DevargsProbe, SixteenSubDevicesWorkAndSeventeenAreRefused) {
    std::string args;
    for (int i = 0; i < 16; i++)
        args += (i == 0 ? "dev(net_mayfly" : ",dev(net_mayfly") + std::to_string(i) + ")";
    EXPECT_THAT(refused(args + ",dev(net_mayfly16)"),
                AllOf(HasSubstr("\"dev(net_mayfly16)\""), HasSubstr("16, the most")));
    for (int i = 0; i <= 16; i++)
        EXPECT_FALSE(there("net_mayfly" + std::to_string(i)));
    const Port port("net_holdfast0", args);
    ASSERT_EQ(port.rc(), 0);
    for (int i = 0; i < 16; i++)
        EXPECT_EQ(owner_of("net_mayfly" + std::to_string(i)), "net_holdfast0") << i;
    start(port.id());
    for (int i = 0; i < 16; i++) {
        rte_pmd_mayfly_settings settings{};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(("net_mayfly" + std::to_string(i)).c_str(), &settings), 0);
        EXPECT_EQ(settings.started, 1) << i;
    }
    EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
}

// F12
TEST_F(DevargsProbe, AProbeThatFailedLeavesNothingArmed) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    const Port other("net_holdfast0", "dev(net_mayfly1),hotplug_poll=10"); // so that the host thread runs
    ASSERT_EQ(other.rc(), 0);
    (void)refused("dev(net_mayfly0),hotplug_poll=10,mac=02:00:00:00:00:zz");
    {
        // Fails late, with the arguments read: the name has a port already.
        const CapturedLog log;
        EXPECT_LT(rte_vdev_init("net_holdfast0", "dev(net_mayfly0),hotplug_poll=10"), 0);
    }
    // The host thread has been round some times when it brought this one back.
    ASSERT_EQ(rte_pmd_mayfly_unplug("net_mayfly1", RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_TRUE(eventually([] { return !there("net_mayfly1"); }));
    ASSERT_EQ(rte_pmd_mayfly_plug("net_mayfly1"), 0);
    ASSERT_TRUE(eventually([] { return there("net_mayfly1"); }));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
    EXPECT_FALSE(there("net_mayfly0"));
}

// F15
TEST_F(DevargsProbe, TheSameSubDeviceByTwoNamesIsRefused) {
    EXPECT_THAT(refused("dev(net_mayfly0),dev(vdev:net_mayfly0)"),
                AllOf(HasSubstr("\"vdev:net_mayfly0\""), HasSubstr("twice")));
    EXPECT_THAT(refused("dev(0000:00:04.0),dev(00:04.0)"), HasSubstr("twice"));
    EXPECT_THAT(refused("dev(net_mayfly0),dev(bus=vdev,name=net_mayfly0)"), HasSubstr("\"bus=vdev,name=net_mayfly0\""));
}

// F16
TEST_F(DevargsProbe, MalformedArgumentsAreRefusedWithoutAnyTrace) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    const std::vector<std::string> malformed{",",
                                             ",,",
                                             "(",
                                             ")",
                                             "()",
                                             "dev",
                                             "dev(",
                                             "dev)",
                                             "dev()",
                                             "dev(()",
                                             "dev(net_mayfly0",
                                             "dev(net_mayfly0))",
                                             "dev(net_mayfly0)x",
                                             "dev(net_mayfly0)(",
                                             "dev(net_mayfly0)(x)",
                                             "dev(net_mayfly0),",
                                             ",dev(net_mayfly0)",
                                             "dev(net_mayfly0),,dev(net_mayfly1)",
                                             "dev(net_mayfly0)dev(net_mayfly1)",
                                             "dev(net_mayfly0) ,dev(net_mayfly1)",
                                             "dev(net_mayfly0),dev(net_mayfly0)",
                                             "dev( net_mayfly0)",
                                             "DEV(net_mayfly0)",
                                             "dev[net_mayfly0]",
                                             "dev=net_mayfly0",
                                             "dev(net_mayfly0),mac",
                                             "dev(net_mayfly0),mac=",
                                             "dev(net_mayfly0),mac=1",
                                             "dev(net_mayfly0),mac=02:00:00:00:00:01:02",
                                             "dev(net_mayfly0),=1",
                                             "dev(net_mayfly0),hotplug_poll",
                                             "dev(net_mayfly0),hotplug_poll=",
                                             "dev(net_mayfly0),hotplug_poll=1=2",
                                             "dev(net_mayfly0),hotplug_poll=5,hotplug_poll=5",
                                             "dev(net_mayfly0),colour=red",
                                             "dev(net_mayfly0),exec(",
                                             "dev(net_mayfly0),exec()",
                                             "dev(net_mayfly0),fd(0)",
                                             "dev(net_mayfly0),mac=%s%s%s%n",
                                             "dev(net_mayfly0),%n",
                                             "dev(net_mayfly0)\n",
                                             "dev(net_mayfly0,x\x01)",
                                             "\xff\xfe",
                                             "dev(" + std::string(70, 'n') + ")",
                                             std::string(5000, '('),
                                             std::string(5000, 'x'),
                                             "dev(net_mayfly0)," + std::string(5000, ','),
                                             "dev(vdev:)" + std::string(1, ')')};
    ASSERT_GE(malformed.size(), 40U);
    for (const std::string &args : malformed)
        EXPECT_THAT(refused(args), HasSubstr("net_holdfast9: cannot read the arguments: ")) << args;
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
}

// F156
TEST_F(DevargsProbe, LoopsAreRefused) {
    EXPECT_THAT(refused("dev(net_holdfast9)"),
                AllOf(HasSubstr("\"net_holdfast9\""), HasSubstr("cannot be a sub-device")));
    const Port port("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(port.rc(), 0);
    for (const char *name :
         {"net_holdfast0", "vdev:net_holdfast0", "vdev_net_holdfast0", "bus=vdev,name=net_holdfast0"})
        (void)refused(std::string("dev(") + name + ")");
    EXPECT_EQ(owner_of("net_holdfast0"), "");
}

} // namespace
} // namespace holdfast::test
