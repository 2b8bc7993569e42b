// SPDX-License-Identifier: BSD-3-Clause
// Which device a udev(...) means, and what devargs it gives.
#include "hotplug/match.h"

#include "port/config.h"
#include "unit/devargs_rig.h"
#include "unit/fake_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

using namespace fake;
using testing::HasSubstr;

constexpr MacAddress kMac{2, 0, 0, 0, 0, 0x0a};

UdevSource source(const std::string &inner) {
    return std::get<UdevSource>(test::parsed("udev(" + inner + ")").devices.at(0));
}

Choice look(System &system, const std::string &inner, const std::vector<std::string> &passed_by = {},
            const std::optional<MacAddress> &mac = kMac) {
    return choose(system.all(), source(inner), mac, [&](const Device &device) {
        return std::find(passed_by.begin(), passed_by.end(), device.path()) != passed_by.end();
    });
}

std::string devargs(System &system, const std::string &inner) {
    return look(system, inner).answer.devargs;
}

std::string reason(System &system, const std::string &inner) {
    const Choice choice = look(system, inner);
    EXPECT_EQ(choice.answer.devargs, "");
    return choice.answer.reason;
}

TEST(Match, AllMatchesHaveToFit) {
    System system;
    system.add(netdev("eth0", "02:00:00:00:00:05"));
    system.add(netdev("eth1", "02:00:00:00:00:06"));
    EXPECT_EQ(devargs(system, "kernel=eth1"), "net_af_packet_eth1,iface=eth1");
    EXPECT_EQ(devargs(system, "kernel=eth*;address=02:00:00:00:00:06"), "net_af_packet_eth1,iface=eth1");
    EXPECT_EQ(reason(system, "kernel=eth0;address=02:00:00:00:00:06"), "no device matches");
    EXPECT_EQ(reason(system, "subsystem=pci;kernel=eth0"), "no device matches");
    EXPECT_EQ(reason(system, "no_such_file=*"), "no device matches");
    EXPECT_EQ(reason(system, "NO_SUCH_PROPERTY=*"), "no device matches");
}

TEST(Match, ValuesAreGlobsAndAMacAddressIsInEitherCase) {
    System system;
    DeviceData data = netdev("vf3", "02:00:00:00:00:ab");
    data.properties["ID_NET_NAME"] = "a*b";
    data.attributes["ifalias"] = "x;y";
    system.add(data);
    EXPECT_NE(devargs(system, "kernel=vf[0-9]"), "");
    EXPECT_NE(devargs(system, "address=02:00:00:00:00:AB"), "");
    EXPECT_NE(devargs(system, R"(ID_NET_NAME=a\*b)"), "");
    EXPECT_NE(devargs(system, R"(ifalias=x\;y)"), "");
    EXPECT_EQ(devargs(system, R"(kernel=vf\*)"), "");
    EXPECT_EQ(devargs(system, "kernel=VF3"), "") << "only MAC addresses are known in either case";
}

TEST(Match, ThePortsMacFindsTheInterfaceThatHasIt) {
    System system;
    system.add(netdev("eth0", "02:00:00:00:00:09"));
    system.add(netdev("eth1", "02:00:00:00:00:0a"));
    EXPECT_EQ(devargs(system, "mac=port"), "net_af_packet_eth1,iface=eth1");
    EXPECT_EQ(look(system, "mac=port", {}, std::nullopt).answer.devargs, "") << "the port has none yet";
}

TEST(Match, TheKindOfDeviceSaysWhatItsDevargsAre) {
    System system;
    system.add(pci("0000:01:00.0", "vfio-pci"));
    system.add(netdev_of("0000:02:00.0", "mlx5_core", "ml0"));
    system.add(netdev_of("0000:03:00.0", "mana", "ma0", "02:00:00:00:03:00"));
    system.add(netdev_of("0000:04:00.0", "e1000e", "e0"));
    system.add(pci("0000:05:00.0", "mlx5_core"));
    EXPECT_EQ(devargs(system, "kernel=0000:01:00.0"), "0000:01:00.0");
    EXPECT_EQ(devargs(system, "kernel=ml0"), "0000:02:00.0");
    EXPECT_EQ(devargs(system, "kernel=ma0"), "0000:03:00.0,mac=02:00:00:00:03:00");
    EXPECT_EQ(devargs(system, "kernel=e0"), "net_af_packet_e0,iface=e0");
    EXPECT_EQ(devargs(system, "kernel=0000:05:00.0"), "0000:05:00.0");
    EXPECT_EQ(devargs(system, "kernel=e0;bind=vfio-pci"), "0000:04:00.0");
}

TEST(Match, APciDeviceThatDpdkCannotHaveIsPassedByWithTheReason) {
    System system;
    system.add(pci("0000:01:00.0", ""));
    EXPECT_EQ(reason(system, "vendor=0x8086"), "0000:01:00.0 has no driver yet");
    system.add(pci("0000:01:00.0", "e1000e"));
    EXPECT_THAT(reason(system, "vendor=0x8086"), HasSubstr("is bound to e1000e"));
    EXPECT_EQ(devargs(system, "vendor=0x8086;bind=vfio-pci"), "0000:01:00.0");
    system.add(netdev_of("0000:01:00.0", "e1000e", "e0"));
    EXPECT_EQ(devargs(system, "kernel=*0*"), "net_af_packet_e0,iface=e0") << "its interface can be had";
    system.add(pci("0000:02:00.0", "vfio-pci"));
    EXPECT_EQ(devargs(system, "vendor=0x8086"), "0000:02:00.0");
    system.devices.erase("/devices/pci0000:00/0000:02:00.0");
    system.add(pci("0000:00:1f.0", "vfio-pci", "0x010802"));
    EXPECT_EQ(devargs(system, "vendor=0x8086"), "") << "a disk";
}

TEST(Match, WhatIsNoPciDeviceCannotBeBoundToADriver) {
    System system;
    system.add(netdev("eth0"));
    EXPECT_THAT(reason(system, "kernel=*;bind=vfio-pci"), HasSubstr("eth0 is no PCI device"));
    EXPECT_THAT(reason(system, "kernel=*;bind=vfio-pci;devargs=net_x,a=%k"), HasSubstr("eth0 is no PCI device"));
    system.add(netdev_of("0000:01:00.0", "e1000e", "eth1"));
    EXPECT_EQ(devargs(system, "kernel=*;bind=vfio-pci"), "0000:01:00.0");
    EXPECT_EQ(devargs(system, "kernel=*;bind=vfio-pci;devargs=%p,a=1"), "0000:01:00.0,a=1");
}

TEST(Match, ATemplateIsFilledIn) {
    System system;
    DeviceData data = netdev_of("0000:01:00.0", "e1000e", "eth12");
    data.properties["ID_PATH"] = "pci-0000:01:00.0";
    system.add(data);
    EXPECT_EQ(devargs(system, "kernel=eth12;devargs=net_x%n,a=%k,b=%p,c=%{address},d=%{ID_PATH},e=1%%,f=;g"),
              "net_x12,a=eth12,b=0000:01:00.0,c=02:00:00:00:00:02,d=pci-0000:01:00.0,e=1%,f=;g");
    system.add(netdev("lo"));
    EXPECT_EQ(reason(system, "kernel=lo;devargs=net_x%n"), "lo has nothing for %n");
    EXPECT_EQ(reason(system, "kernel=lo;devargs=%p"), "lo has nothing for %p");
    EXPECT_EQ(reason(system, "kernel=lo;devargs=net_x,a=%{ID_PATH}"), "lo has nothing for %{ID_PATH}");
    EXPECT_EQ(reason(system, "kernel=lo;devargs=net_x,a=%{no/such}"), "lo has nothing for %{no/such}");
}

// A device must not be able to write devargs of its own.
TEST(Match, WhatADeviceSaysOfItselfIsNoSecondArgument) {
    System system;
    for (const char *alias : {"a,b=1", "a b", "a)", "a(", "a\nb", "a;b", "a\"", "\xc3\xa4"}) {
        DeviceData data = netdev("eth0");
        data.attributes["ifalias"] = alias;
        system.add(data);
        EXPECT_THAT(reason(system, "kernel=eth0;devargs=net_x,a=%{ifalias}"), HasSubstr("cannot stand in devargs"))
            << alias;
    }
    DeviceData data = netdev("eth0");
    data.attributes["ifalias"] = "net_holdfast1";
    system.add(data);
    EXPECT_THAT(reason(system, "kernel=eth0;devargs=%{ifalias}"), HasSubstr("cannot be a sub-device"));
    data.attributes["ifalias"] = std::string(64, 'a');
    system.add(data);
    EXPECT_THAT(reason(system, "kernel=eth0;devargs=%{ifalias}"), HasSubstr("63 characters"));
}

TEST(Match, OfSeveralTheFirstByPathIsChosenAndTheOthersAreCounted) {
    System system;
    for (const char *name : {"vf2", "vf0", "vf1"})
        system.add(netdev(name));
    const Choice choice = look(system, "kernel=vf*");
    EXPECT_EQ(choice.answer.devargs, "net_af_packet_vf0,iface=vf0");
    EXPECT_EQ(choice.path, "/devices/virtual/net/vf0");
    EXPECT_EQ(choice.others, 2U);
    EXPECT_EQ(look(system, "kernel=vf1").others, 0U);
}

TEST(Match, TheInterfaceOfTheChosenPciDeviceIsNoOtherDevice) {
    System system;
    system.add(pci("0000:05:00.0", "mlx5_core"));
    system.add(netdev_of("0000:05:00.0", "mlx5_core", "ml0"));
    const Choice choice = look(system, "kernel=*");
    EXPECT_EQ(choice.answer.devargs, "0000:05:00.0");
    EXPECT_EQ(choice.others, 0U);
}

TEST(Match, ADeviceThatIsASubDeviceIsPassedBy) {
    System system;
    system.add(netdev("vf0"));
    system.add(netdev("vf1"));
    EXPECT_EQ(look(system, "kernel=vf*", {"/devices/virtual/net/vf0"}).answer.devargs, "net_af_packet_vf1,iface=vf1");
    const Choice none = look(system, "kernel=vf0", {"/devices/virtual/net/vf0"});
    EXPECT_EQ(none.path, "");
    EXPECT_EQ(none.answer.reason, "vf0 is a sub-device already");
}

} // namespace
} // namespace holdfast
