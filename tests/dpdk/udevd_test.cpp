// SPDX-License-Identifier: BSD-3-Clause
// With a udevd in this test's own namespaces: its events come after the kernel's and know more, and it renames.
#include "support/netdev.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <net/if.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>

namespace holdfast::test {
namespace {

constexpr const char *kUdevd = "/lib/systemd/systemd-udevd";
constexpr const char *kNoPoll = "hotplug_poll=3600000,";

/// Where udevd keeps what it knows: not the system's.
const bool g_own_run = [] {
    std::filesystem::create_directories("/run/udev");
    return ::mount("tmpfs", "/run/udev", "tmpfs", 0, nullptr) == 0;
}();

class Udevd : public WithPorts {
  protected:
    static void SetUpTestSuite() {
        WithPorts::SetUpTestSuite();
        if (!in_own_network() || !g_own_run)
            return;
        std::filesystem::create_directories("/run/udev/rules.d");
        std::ofstream("/run/udev/rules.d/99-test.rules")
            << "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"early*\", NAME=\"late$number\"\n";
        char *const argv[] = {const_cast<char *>(kUdevd), nullptr};
        ASSERT_EQ(::posix_spawn(&pid_, kUdevd, nullptr, nullptr, argv, environ), 0) << kUdevd;
        ASSERT_TRUE(eventually([] { return std::filesystem::exists("/run/udev/control"); }));
    }
    static void TearDownTestSuite() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGTERM);
        EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    }
    void SetUp() override {
        WithPorts::SetUp();
        if (!in_own_network() || !g_own_run)
            GTEST_SKIP() << "no namespaces can be made here: root is needed";
    }
    inline static pid_t pid_ = 0;
};

TEST_F(Udevd, APropertyThatOnlyUdevdKnowsIsWaitedFor) {
    Vport port(std::string(kNoPoll) + "udev(ID_NET_DRIVER=veth;kernel=prop0)");
    ASSERT_EQ(port.up(pool()), 0);
    for (std::uint64_t round = 1; round <= 5; round++) {
        ip("link add prop0 up type veth peer name prop1");
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(port.sub(0).plugins, round) << "the kernel's event and udevd's are one";
        ip("link del prop0");
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        EXPECT_TRUE(always([&] { return port.sub(0).plugins == round; }, 50ms));
    }
}

// FAULTS F101.
TEST_F(Udevd, AnInterfaceThatUdevdRenamesJoinsUnderItsLastName) {
    Vport port(std::string(kNoPoll) + "udev(subsystem=net;address=02:00:00:00:aa:01)");
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 5; round++) {
        ip("link add early7 address 02:00:00:00:aa:01 type veth peer name other7");
        ASSERT_TRUE(eventually([] { return ::if_nametoindex("late7") != 0; }));
        // It may have joined under the first name: the interface is the same one.
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        ip("link del late7");
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    }
}

// udevd takes its time: what it says of a device that is gone must not hit the next one.
TEST_F(Udevd, WhatUdevdTellsLateOfTheLastOneLeavesTheNextOneAlone) {
    Vport port(std::string(kNoPoll) + "udev(subsystem=net;address=02:00:00:00:aa:02)");
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 10; round++) {
        ip("link add again0 address 02:00:00:00:aa:02 up type veth peer name again1");
        ip("link del again0");
    }
    ip("link add again0 address 02:00:00:00:aa:02 up type veth peer name again1");
    const unsigned index = ::if_nametoindex("again0");
    const auto has_it = [&] {
        rte_eth_dev_info info{};
        const VirtualPort::SubInfo sub = port.sub(0);
        return sub.joined && sub.port.valid() && rte_eth_dev_info_get(sub.port.raw(), &info) == 0 &&
               info.if_index == index;
    };
    ASSERT_TRUE(eventually(has_it)) << port.sub(0).reason;
    EXPECT_TRUE(always(has_it, 500ms));
    ip("link del again0");
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
}

/// The values of --vdev in the README's section on hot-plug.
std::vector<std::string> examples() {
    std::ifstream readme(std::string(std::getenv("HOLDFAST_SOURCE_DIR")) + "/README.md");
    std::vector<std::string> out;
    bool inside = false;
    for (std::string line; std::getline(readme, line);) {
        if (line.starts_with("## "))
            inside = line.starts_with("## Hot-plug");
        constexpr std::string_view kOption = "--vdev '";
        if (inside && line.starts_with(kOption) && line.ends_with("'"))
            out.push_back(line.substr(kOption.size(), line.size() - kOption.size() - 1));
    }
    return out;
}

TEST_F(Udevd, TheExamplesInTheReadmeWorkAsTheyStandThere) {
    const std::vector<std::string> all = examples();
    ASSERT_EQ(all.size(), 5U);
    for (const char *nic :
         {"eth5 address 02:00:00:00:00:05", "vf0", "vf1", "eth7 address 02:00:00:00:00:07", "uplink3", "eth9"})
        ip("link add " + std::string(nic) + " type veth");
    ip("link set eth9 alias \"rack 7; left\"");
    const std::vector<std::vector<std::string>> expected{
        {"net_af_packet_eth5,iface=eth5", "net_tap0,iface=hftap0"},
        {"net_af_packet_vf0,iface=vf0", "net_af_packet_vf1,iface=vf1"},
        {"net_af_packet_eth7,iface=eth7"},
        {"net_af_packet_3,iface=uplink3,qpairs=1"},
        {"net_af_packet_i" + std::to_string(::if_nametoindex("eth9")) + ",iface=eth9"}};
    for (std::size_t i = 0; i < all.size(); i++) {
        SCOPED_TRACE(all[i]);
        const std::size_t comma = all[i].find(',');
        const Vport port(all[i].substr(comma + 1), all[i].substr(0, comma));
        ASSERT_EQ(port.rc(), 0);
        ASSERT_EQ(port.describe().subs.size(), expected[i].size());
        for (std::size_t sub = 0; sub < expected[i].size(); sub++) {
            EXPECT_TRUE(eventually([&] { return port.state(sub) == "probed"; })) << port.sub(sub).reason;
            EXPECT_EQ(port.sub(sub).devargs, expected[i][sub]);
        }
    }
    for (const char *nic : {"eth5", "vf0", "vf1", "eth7", "uplink3", "eth9"})
        ip("link del " + std::string(nic));
}

} // namespace
} // namespace holdfast::test
