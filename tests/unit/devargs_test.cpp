// SPDX-License-Identifier: BSD-3-Clause
#include "driver/devargs.h"

#include "base/ids.h"
#include "fuzz/devargs_text.h"
#include "port/config.h"
#include "unit/devargs_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace holdfast::test;

TEST(Devargs, OneSubDeviceIsEnough) {
    const Config config = parsed("dev(net_null0)");
    EXPECT_THAT(config.devices, ElementsAre(fixed("net_null0")));
    EXPECT_FALSE(config.mac);
    EXPECT_EQ(config.hotplug_poll, 2000ms);
}

TEST(Devargs, KeepsTheOrderOfSubDevicesAndTheirArguments) {
    const Config config =
        parsed("dev(0000:00:04.0,rxq_cqe_comp_en=0),dev(net_tap0,iface=x,mac=fixed),dev(vdev:net_null3)");
    EXPECT_THAT(config.devices, ElementsAre(fixed("0000:00:04.0,rxq_cqe_comp_en=0"),
                                            fixed("net_tap0,iface=x,mac=fixed"), fixed("vdev:net_null3")));
}

TEST(Devargs, ArgumentsHoldNestedParenthesesAndOurOwnKeys) {
    const Config config =
        parsed("dev(net_failsafe0,dev(net_null0,size=64),dev(net_null1),mac=02:00:00:00:00:07),hotplug_poll=9");
    EXPECT_THAT(config.devices,
                ElementsAre(fixed("net_failsafe0,dev(net_null0,size=64),dev(net_null1),mac=02:00:00:00:00:07")));
    EXPECT_FALSE(config.mac) << "that mac= is the inner device's";
    EXPECT_EQ(config.hotplug_poll, 9ms);
}

// FAULTS F6.
TEST(Devargs, KeysCountInAnyOrder) {
    std::vector<std::string> items{"dev(net_null0,size=64)", "dev(net_null1)", "hotplug_poll=50",
                                   "mac=02:11:22:aa:BB:fF"};
    std::sort(items.begin(), items.end());
    int orders = 0;
    do {
        std::string text;
        for (const std::string &item : items)
            text += (text.empty() ? "" : ",") + item;
        const Config config = parsed(text);
        EXPECT_EQ(config.devices.size(), 2U) << text;
        EXPECT_EQ(config.hotplug_poll, 50ms) << text;
        EXPECT_EQ(config.mac, (std::array<std::uint8_t, 6>{0x02, 0x11, 0x22, 0xaa, 0xbb, 0xff})) << text;
        orders++;
    } while (std::next_permutation(items.begin(), items.end()));
    EXPECT_EQ(orders, 24);
}

// FAULTS F11.
TEST(Devargs, SixteenSubDevicesAreTheMost) {
    std::string text;
    for (int i = 0; i < kMaxSubDevices; i++)
        text += (i == 0 ? "dev(net_null" : ",dev(net_null") + std::to_string(i) + ")";
    EXPECT_EQ(parsed(text).devices.size(), 16U);
    const std::size_t at = text.size() + 2; // behind the comma, from 1
    EXPECT_THAT(refused(text + ",dev(net_null16)"), AllOf(StartsWith(quote("dev(net_null16)", at)), HasSubstr("16")));
}

// FAULTS F10.
TEST(Devargs, WithoutASubDeviceThereIsNoPort) {
    EXPECT_THAT(refused(""), HasSubstr("no sub-device"));
    EXPECT_THAT(refused("hotplug_poll=100,mac=02:00:00:00:00:01"), HasSubstr("no sub-device"));
    EXPECT_THAT(refused("dev()"), StartsWith(quote("dev()", 1)));
    EXPECT_THAT(refused("dev(net_null0),dev(,size=64)"), StartsWith(quote("dev(,size=64)", 16)));
}

TEST(Devargs, QuotesThePartItCannotReadAndItsPosition) {
    const struct {
        const char *text, *part;
        std::size_t at;
    } cases[] = {
        {"dev", "dev", 1},
        {"dev(", "dev(", 1},
        {"dev(net_null0", "dev(net_null0", 1},
        {"dev(net_null0))", "dev(net_null0))", 1},
        {"dev(net_null0),)", ")", 16},
        {"dev(net_null0", "dev(net_null0", 1},
        {"hotplug_poll=5,dev((net_null0)", "dev((net_null0)", 16},
        {"(dev(net_null0))", "(dev(net_null0))", 1},
        {"dev(net_null0)x", "dev(net_null0)x", 1},
        {"dev(net_null0)(x)", "dev(net_null0)(x)", 1},
        {"dev(net_null0)dev(net_null1)", "dev(net_null0)dev(net_null1)", 1},
        {"dev (net_null0)", "dev (net_null0)", 1},
        {"Dev(net_null0)", "Dev(net_null0)", 1},
        {"dev(net_null0),", "", 16},
        {",dev(net_null0)", "", 1},
        {"dev(net_null0),,dev(net_null1)", "", 16},
        {"dev(net_null0),colour=red", "colour=red", 16},
        {"dev(net_null0),mac", "mac", 16},
        {"dev(net_null0),hotplug_poll", "hotplug_poll", 16},
        {"dev(net_null0), mac=02:00:00:00:00:01", " mac=02:00:00:00:00:01", 16},
        {"dev(net_null0),dev( net_null1)", " net_null1", 20},
        {"dev(net_null0),dev(net_null1,a b)", "net_null1,a b", 20},
        {"dev(net_null0),dev(net_null1\n)", "net_null1?", 20},
        {"dev(net_null0),dev(bus=vdev,name=net_null1)", "bus=vdev,name=net_null1", 20},
        {"dev(net_null0),dev(class=eth)", "class=eth", 20},
    };
    for (const auto &c : cases)
        EXPECT_THAT(refused(c.text), StartsWith(quote(c.part, c.at))) << c.text;
}

TEST(Devargs, ShortensALongQuotation) {
    const std::string error = refused("x" + std::string(5000, 'y'));
    EXPECT_THAT(error, StartsWith("\"xyyy"));
    EXPECT_THAT(error, HasSubstr("...\" at character 1: "));
    EXPECT_LT(error.size(), 200U);
}

// FAULTS F4.
TEST(Devargs, TakesOnlyAnExactNumberForThePollInterval) {
    EXPECT_EQ(parsed("dev(net_null0),hotplug_poll=1").hotplug_poll, 1ms);
    EXPECT_EQ(parsed("dev(net_null0),hotplug_poll=86400000").hotplug_poll, 24h);
    for (const std::string value : {"10x", "0", "-1", "18446744073709551615", "18446744073709551616", "abc", "", " 10",
                                    "10 ", "+10", "0x10", "1e3", "1.5", "86400001", "99999999999999999999999999999"}) {
        const std::string text = "dev(net_null0),hotplug_poll=" + value;
        const std::string error = refused(text);
        EXPECT_THAT(error, AllOf(StartsWith(quote(value, 29)), HasSubstr("hotplug_poll="))) << text;
    }
    EXPECT_THAT(refused("hotplug_poll=5,dev(net_null0),hotplug_poll=5"), StartsWith(quote("hotplug_poll=5", 31)));
}

TEST(Devargs, HoldsThePoliciesToWhatTheyCanBe) {
    const Policy given = parsed("switch_on=removal,dev(net_null0),reselect=better,lsc_poll=60000,down_delay=0,"
                                "up_delay=600000,announce=100,announce_vlans=yes,rx=active,tx=round-robin,"
                                "xmit_policy=l34,no_active=drop")
                             .policy;
    EXPECT_EQ(given, (Policy{.switch_on = SwitchOn::kRemoval,
                             .reselect = Reselect::kBetter,
                             .lsc_poll = 60s,
                             .down_delay = 0ms,
                             .up_delay = 600s,
                             .announce = 100,
                             .announce_vlans = true,
                             .rx = RxPolicy::kActive,
                             .tx = TxPolicy::kRoundRobin,
                             .xmit = XmitPolicy::kL34,
                             .no_active = NoActive::kDrop}));
    EXPECT_EQ(parsed("dev(net_null0)").policy, Policy{});
    for (const std::string bad :
         {"switch_on=", "switch_on=Link", "switch_on=linkx", "switch_on=lin", "reselect=never", "lsc_poll=0",
          "lsc_poll=60001", "lsc_poll=-1", "down_delay=600001", "up_delay=x", "announce=101", "announce=-1",
          "announce=", "announce_vlans=1", "rx=none", "tx=802.3ad", "xmit_policy=l3", "no_active=spin"}) {
        const std::size_t value = bad.find('=') + 1;
        EXPECT_THAT(refused("dev(net_null0)," + bad), AllOf(StartsWith(quote(bad.substr(value), 16 + value)),
                                                            HasSubstr(bad.substr(0, value) + " takes ")))
            << bad;
    }
    EXPECT_THAT(refused("dev(net_null0),rx=all,rx=all"), AllOf(StartsWith(quote("rx=all", 23)), HasSubstr("twice")));
}

// FAULTS F5.
TEST(Devargs, TakesOnlyAWholeUnicastMacAddress) {
    for (const std::string value : {"ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "01:00:5e:00:00:01", "02:00:00:00:00",
                                    "02:00:00:00:00:01:02", "02:00:00:00:00:1", "2:0:0:0:0:1", "02-00-00-00-00-01",
                                    "0200.0000.0001", "02:00:00:00:00:0g", "02:00:00:00:00:-1", "02:00:00:00:00:0x",
                                    "02:00:00:00:00: 1", "02:00:00:00:00;01", "", "net_null0", "02:00:00:00:00:01 "})
        EXPECT_THAT(refused("dev(net_null0),mac=" + value), StartsWith(quote(value, 20)));
    EXPECT_THAT(refused("mac=02:00:00:00:00:01,dev(net_null0),mac=02:00:00:00:00:02"),
                AllOf(StartsWith(quote("mac=02:00:00:00:00:02", 38)), HasSubstr("twice")));
    EXPECT_THAT(refused("mac=02:00:00:00:00:01,dev(net_null0),mac=02:00:00:00:00:01"), HasSubstr("twice"));
}

// FAULTS F15.
TEST(Devargs, RefusesADeviceThatIsNamedTwice) {
    for (const auto &[first, second] : std::vector<std::pair<std::string, std::string>>{
             {"net_null0", "net_null0"},
             {"net_null0", "net_null0,size=64"},
             {"net_null0,size=64", "vdev:net_null0"},
             {"vdev:net_null0", "net_null0"},
             {"0000:00:04.0", "0000:00:04.0,x=1"},
             {"0000:00:04.0", "00:04.0"},
             {"pci:00:04.0", "0000:00:04.0"},
             {"0000:0a:04.0", "0A:04.0"},
         })
        EXPECT_THAT(refused("dev(" + first + "),dev(" + second + ")"),
                    AllOf(StartsWith(quote(second, first.size() + 11)), HasSubstr("twice")));
    EXPECT_EQ(
        parsed("dev(net_null0),dev(net_null00),dev(net_null1),dev(0000:00:04.0),dev(0001:00:04.0)").devices.size(), 5U);
}

// FAULTS F156.
TEST(Devargs, RefusesHoldfastPortsBelowAHoldfastPort) {
    for (const char *name : {"net_holdfast0", "net_holdfast", "net_holdfast1,dev(net_null0)", "vdev:net_holdfast0",
                             "vdev,net_holdfast0", "vdev_net_holdfast0"})
        EXPECT_THAT(refused(std::string("dev(") + name + ")"), StartsWith(quote(name, 5))) << name;
}

TEST(Devargs, RefusesANameThatIsTooLongForEal) {
    const std::string name = "net_null" + std::string(55, '1');
    EXPECT_THAT(parsed("dev(" + name + ",size=64)").devices, ElementsAre(fixed((name + ",size=64").c_str())));
    EXPECT_THAT(refused("dev(" + name + "1,size=64)"), HasSubstr("63"));
}

TEST(Devargs, ArgumentsMayBeLong) { // F13: how long is the bus's matter
    const std::string device = "net_null0,x=" + std::string(4000, 'x');
    EXPECT_THAT(parsed("dev(" + device + ")").devices, ElementsAre(fixed(device.c_str())));
}

// FAULTS F16.
TEST(Devargs, ReadsNothingBeyondWhatItWasGiven) {
    const std::string good = "hotplug_poll=50,dev(net_null0,size=64),mac=02:11:22:33:44:55,dev(a(b(c),d))";
    for (std::size_t n = 0; n <= good.size(); n++) {
        Config config;
        (void)parse(std::string_view(good).substr(0, n), config);
        (void)parse(std::string_view(good).substr(n), config);
    }
    EXPECT_EQ(parsed(good).devices.size(), 2U);
}

/// Whatever comes: accepted as something that can be written anew, or refused with a part that really stands there.
TEST(Devargs, AnyTextIsAcceptedWholeOrRefusedWithAPlace) {
    std::mt19937 random(4711);
    const std::vector<std::string> words{
        "dev(",  ")", "(",  ",", "mac=", "02:00:00:00:00:01",  "hotplug_poll=", "50", "exec(", "fd(", "net_null", "0",
        "vdev:", "=", "\n", " ", "x",    std::string(1, '\0'), "\xff",          "'",  "\\",    "\"",  "force",    "7"};
    int accepted = 0, refusals = 0;
    for (int round = 0; round < 60000; round++) {
        std::string text;
        for (std::size_t n = random() % 12; n > 0; n--)
            text += words[random() % words.size()];
        EXPECT_EQ(fault_in_parse(text), "") << text;
        Config config;
        (parse(text, config) ? refusals : accepted)++;
    }
    EXPECT_GT(accepted, 10);
    EXPECT_GT(refusals, 1000);
}

} // namespace
} // namespace holdfast
