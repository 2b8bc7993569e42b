// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that are known by what they are: udev(...).
#include "port/config.h"
#include "unit/devargs_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace holdfast::test;
using What = Match::What;

UdevSource udev(std::string_view inner) {
    const Config config = parsed("udev(" + std::string(inner) + ")");
    const auto *source = config.devices.size() == 1 ? std::get_if<UdevSource>(&config.devices[0]) : nullptr;
    EXPECT_NE(source, nullptr) << inner;
    return source != nullptr ? *source : UdevSource{};
}

Match match(What what, const char *key, const char *pattern) {
    return {.what = what, .key = key, .pattern = pattern};
}

TEST(DevargsUdev, AMatchIsByNameSubsystemPropertyAttributeOrThePortsMac) {
    const UdevSource s = udev("subsystem=net;kernel=eth[0-9]*;ID_PATH=pci-0000:01:00.0;address=02:00:00:00:00:05;"
                              "device/vendor=0x15b3;mac=port");
    EXPECT_THAT(s.matches,
                ElementsAre(match(What::kSubsystem, "", "net"), match(What::kKernel, "", "eth[0-9]*"),
                            match(What::kProperty, "ID_PATH", "pci-0000:01:00.0"),
                            match(What::kAttribute, "address", "02:00:00:00:00:05"),
                            match(What::kAttribute, "device/vendor", "0x15b3"), match(What::kPortMac, "", "")));
    EXPECT_EQ(s.devargs, "");
    EXPECT_EQ(s.driver, "");
    EXPECT_FALSE(s.force_bind);
}

TEST(DevargsUdev, TheTemplateIsTheRestWhateverItHolds) {
    const UdevSource s = udev("address=02:00:00:00:00:05;devargs=net_af_packet_%k,iface=%k,a=b;c=%{ifindex};bind=x");
    EXPECT_THAT(s.matches, ElementsAre(match(What::kAttribute, "address", "02:00:00:00:00:05")));
    EXPECT_EQ(s.devargs, "net_af_packet_%k,iface=%k,a=b;c=%{ifindex};bind=x");
    EXPECT_EQ(udev("kernel=a;devargs=net_x%n,p=%p,q=%{ID_PATH},r=100%%").devargs, "net_x%n,p=%p,q=%{ID_PATH},r=100%%");
}

TEST(DevargsUdev, ABackslashMakesACharacterPlain) {
    EXPECT_THAT(udev(R"(ifalias=a\;b;ID_X=\*\\)").matches,
                ElementsAre(match(What::kAttribute, "ifalias", R"(a\;b)"), match(What::kProperty, "ID_X", R"(\*\\)")));
}

TEST(DevargsUdev, ADriverToBindToMayBeForced) {
    EXPECT_EQ(udev("vendor=0x8086;bind=vfio-pci").driver, "vfio-pci");
    EXPECT_FALSE(udev("vendor=0x8086;bind=vfio-pci").force_bind);
    const UdevSource s = udev("bind=uio_pci_generic,force;kernel=0000:01:00.0");
    EXPECT_EQ(s.driver, "uio_pci_generic");
    EXPECT_TRUE(s.force_bind);
    EXPECT_THAT(s.matches, ElementsAre(match(What::kKernel, "", "0000:01:00.0")));
}

TEST(DevargsUdev, StandsBesideOtherSubDevicesAndMayBeThereTwice) {
    const Config config = parsed("dev(net_tap0),udev(kernel=vf*),udev(kernel=vf*),hotplug_poll=5");
    EXPECT_EQ(config.devices.size(), 3U) << "the same match twice: two of the devices that it fits";
    EXPECT_EQ(config.devices[1], config.devices[2]);
}

TEST(DevargsUdev, QuotesWhatIsWrong) {
    const struct {
        const char *text, *part;
        std::size_t at;
        const char *why;
    } cases[] = {
        {"udev()", "", 6, "is no match"},
        {"udev(kernel)", "kernel", 6, "is no match"},
        {"udev(=a)", "=a", 6, "is no match"},
        {"udev(kernel=)", "kernel=", 6, "has no value"},
        {"udev(kernel=a;)", "", 15, "is no match"},
        {"udev(;kernel=a)", "", 6, "is no match"},
        {"udev(kernel=a;kernel=a)", "kernel=a", 15, "given twice"},
        {"udev(mac=02:00:00:00:00:01)", "02:00:00:00:00:01", 10, "mac=port"},
        {"udev(subsystem=usb)", "usb", 16, "net and pci"},
        {"udev(../x=1)", "../x", 6, "no sysfs attribute"},
        {"udev(/x=1)", "/x", 6, "no sysfs attribute"},
        {"udev(a//b=1)", "a//b", 6, "no sysfs attribute"},
        {"udev(a b=1)", "a b", 6, "no sysfs attribute"},
        {"udev(ID_path=1)", "ID_path", 6, nullptr},
        {"udev(kernel=a\\)", "a\\", 13, "backslash"},
        {"udev(kernel=a\tb)", "kernel=a?b", 6, "control character"},
        {"udev(bind=vfio-pci)", "bind=vfio-pci", 6, "at least one match"},
        {"udev(kernel=a;bind=e1000e)", "e1000e", 20, "vfio-pci and uio_pci_generic"},
        {"udev(kernel=a;bind=vfio-pci,now)", "now", 29, "\"force\""},
        {"udev(kernel=a;bind=vfio-pci;bind=vfio-pci)", "bind=vfio-pci", 29, "given twice"},
        {"udev(kernel=a;devargs=)", "", 23, "names no device"},
        {"udev(kernel=a;devargs=net_x%)", "%", 28, "%% is one"},
        {"udev(kernel=a;devargs=net_x%z,a=1)", "%z", 28, "are known"},
        {"udev(kernel=a;devargs=net_x%{address,a=1)", "%{address,a=1", 28, "brace is not closed"},
        {"udev(kernel=a;devargs=net_x%{})", "", 30, "no sysfs attribute"},
        {"udev(kernel=a;devargs=net_x%{a b})", "a b", 30, "no sysfs attribute"},
        {"udev(kernel=a;devargs=net_holdfast_%k)", "net_holdfast_%k", 23, "cannot be a sub-device"},
        {"udev(kernel=a;devargs=a b)", "a b", 23, "no blanks"},
        {"udev(devargs=net_x)", "devargs=net_x", 6, "at least one match"},
        {"udev(kernel=a", "udev(kernel=a", 1, "not closed"},
    };
    for (const auto &c : cases) {
        if (c.why == nullptr) { // letters of both cases: an attribute like others
            EXPECT_EQ(parsed(c.text).devices.size(), 1U);
            continue;
        }
        const std::string sentence = refused(c.text);
        EXPECT_THAT(sentence, StartsWith(quote(c.part, c.at))) << c.text;
        EXPECT_THAT(sentence, HasSubstr(c.why)) << c.text;
    }
    std::string many = "udev(a0=1";
    for (int i = 1; i <= 16; i++)
        many += ";a" + std::to_string(i) + "=1";
    EXPECT_THAT(refused(many + ")"), HasSubstr("one match more than 16"));
}

} // namespace
} // namespace holdfast
