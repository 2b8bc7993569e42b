// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that are known by what they are, over real device events. The poll is set so high that only events help.
#include "hotplug/udev.h"

#include "support/captured_log.h"
#include "support/netdev.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

constexpr const char *kNoPoll = "hotplug_poll=3200000,";

std::string mac_of(unsigned number) {
    std::array<char, 18> out{};
    std::snprintf(out.data(), out.size(), "02:00:00:00:%02x:%02x", number >> 8U & 0xffU, number & 0xffU);
    return out.data();
}

class UdevPort : public WithPorts {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        if (!in_own_network())
            GTEST_SKIP() << "no network namespace can be made here: root is needed";
    }
    /// An interface with that MAC address, for one scope.
    struct Nic {
        explicit Nic(std::string mac_address,
                     std::string iface = unique("d")) // NOLINT(bugprone-easily-swappable-parameters)
            : name(std::move(iface)), mac(std::move(mac_address)) {
            make();
        }
        ~Nic() {
            if (::if_nametoindex(name.c_str()) != 0)
                remove();
        }
        Nic(const Nic &) = delete;
        Nic &operator=(const Nic &) = delete;
        /// As one batch says it, in one line.
        [[nodiscard]] std::string command() const {
            return "link add " + name + " address " + mac + " up type veth peer name " + name + "p";
        }
        void make() const {
            ip(command());
            ip("link set " + name + "p up"); // or there is no carrier
        }
        void remove() const { ip("link del " + name); }
        std::string name;
        std::string mac;
    };
};

TEST_F(UdevPort, AnInterfaceThatComesGoesAndComesAgainIsNoticedWithoutAPoll) {
    const Nic backup(mac_of(1));
    Vport port(std::string(kNoPoll) + "udev(subsystem=net;address=" + mac_of(2) + "),udev(address=" + mac_of(1) + ")");
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(port.sub(0).reason, "no device matches");
    EXPECT_EQ(port.active(), 1);
    const Nic main(mac_of(2));
    for (int round = 0; round < 10; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(port.sub(0).devargs, "net_af_packet_" + main.name + ",iface=" + main.name);
        main.remove();
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent" && port.active() == 1; }));
        main.make();
    }
}

// The port gives its MAC address to all of them, so by that alone each looks like the first.
TEST_F(UdevPort, AnInterfaceThatIsGoneIsNotReplacedByThatOfASibling) {
    const Nic first(mac_of(11)), second(mac_of(12));
    Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(11) + "),dev(" + unique("net_af_packet") +
               ",iface=" + second.name + ")");
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); })) << port.sub(0).reason;
    for (int round = 0; round < 3; round++) {
        first.remove();
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent" && port.active() == 1; }));
        EXPECT_TRUE(always([&] { return port.state(0) == "absent"; }, 100ms)) << port.sub(0).devargs;
        first.make();
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(port.sub(0).devargs, "net_af_packet_" + first.name + ",iface=" + first.name);
    }
}

TEST_F(UdevPort, AnInterfaceThatIsNotUpYetGetsItsTrafficWhenItIs) {
    const Nic backup(mac_of(14));
    Vport port(std::string(kNoPoll) + "udev(kernel=slowup),udev(address=" + mac_of(14) + ")");
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    for (int round = 0; round < 3; round++) {
        ip("link add slowup type veth peer name slowup1");
        ASSERT_TRUE(eventually([&] { return port.state(0) == "started"; }));
        EXPECT_EQ(port.active(), 1) << "it is down";
        ip("link set slowup1 up");
        ip("link set slowup up");
        EXPECT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
        ip("link del slowup");
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && port.active() == 1; }));
    }
    ip("link add slowup type veth peer name slowup1");
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << "that nobody sets up gets it after a while";
    ip("link del slowup");
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
}

TEST_F(UdevPort, ADeviceOfFixedDevargsIsLookedForWhenItsInterfaceComes) {
    Veth veth;
    Vport port(std::string(kNoPoll) + "dev(" + unique("net_af_packet") + ",iface=" + veth.name() + ")");
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 3; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        veth.remove();
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        veth.make();
    }
}

// FAULTS F101.
TEST_F(UdevPort, AnInterfaceThatIsRenamedTwiceAndGetsItsMacLateJoinsAtLast) {
    Vport port(std::string(kNoPoll) + "mac=" + mac_of(3) + ",udev(kernel=vf[0-9];mac=port)");
    ASSERT_EQ(port.up(pool()), 0);
    const CapturedLog log;
    ip("link add tmp0 address " + mac_of(9) + " type veth peer name tmp0p");
    ip("link set tmp0 name vf0");
    ip("link set vf0 name vf1");
    const char *late = std::getenv("HOLDFAST_LATE_MS"); // by hand: 30000
    std::this_thread::sleep_for(std::chrono::milliseconds(late != nullptr ? std::atoi(late) : 50));
    EXPECT_EQ(port.state(0), "absent");
    ip("link set vf1 address " + mac_of(3)); // no device event tells of this
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    EXPECT_EQ(port.sub(0).devargs, "net_af_packet_vf1,iface=vf1");
    EXPECT_LE(log.lines_with("", ""), 6U) << log.text();
    ip("link del vf1");
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
}

// FAULTS F102.
TEST_F(UdevPort, RemovedAndMadeAgainWithinMillisecondsEndsWithTheNewOne) {
    const Nic nic(mac_of(4));
    Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(4) + ")");
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    {
        std::ofstream batch("/run/holdfast-batch");
        for (int i = 0; i < 10; i++)
            batch << "link del " << nic.name << "\n" << nic.command() << "\n";
    }
    for (int round = 0; round < 5; round++) {
        ip("-batch /run/holdfast-batch");
        const unsigned index = ::if_nametoindex(nic.name.c_str());
        ASSERT_TRUE(eventually([&] {
            rte_eth_dev_info info{};
            const VirtualPort::SubInfo sub = port.sub(0);
            return sub.joined && sub.port.valid() && rte_eth_dev_info_get(sub.port.raw(), &info) == 0 &&
                   info.if_index == index;
        })) << "round "
            << round << ": " << port.sub(0).reason;
    }
    std::filesystem::remove("/run/holdfast-batch");
}

TEST_F(UdevPort, OneOfAThousandDevicesThatComeAtOnceIsFound) {
    Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(777) + ")");
    ASSERT_EQ(port.up(pool()), 0);
    {
        std::ofstream batch("/run/holdfast-batch");
        for (unsigned i = 0; i < 1000; i += 2) // two interfaces each
            batch << "link add many" << i << " address " << mac_of(i) << " type veth peer name many" << i + 1
                  << " address " << mac_of(i + 1) << "\n";
    }
    ip("-batch /run/holdfast-batch");
    EXPECT_TRUE(eventually([&] { return port.joined(0); }, 60s)) << port.sub(0).reason;
    EXPECT_EQ(port.sub(0).devargs, "net_af_packet_many777,iface=many777");
    {
        std::ofstream batch("/run/holdfast-batch");
        for (unsigned i = 0; i < 1000; i += 2)
            batch << "link del many" << i << "\n";
    }
    ip("-batch /run/holdfast-batch");
    std::filesystem::remove("/run/holdfast-batch");
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }, 60s));
}

// FAULTS F106.
TEST_F(UdevPort, EightPortsWithOneMatchGetADeviceEach) {
    std::vector<std::unique_ptr<Vport>> ports;
    for (int i = 0; i < 8; i++) {
        ports.push_back(std::make_unique<Vport>(std::string(kNoPoll) + "udev(kernel=share*)"));
        ASSERT_EQ(ports.back()->up(pool()), 0);
    }
    std::vector<std::unique_ptr<Nic>> nics;
    for (unsigned i = 0; i < 8; i++)
        nics.push_back(std::make_unique<Nic>(mac_of(100 + i), "share" + std::to_string(i)));
    std::vector<std::string> names;
    for (const auto &port : ports) {
        EXPECT_TRUE(eventually([&] { return port->joined(0); })) << port->sub(0).reason;
        names.push_back(port->sub(0).devargs);
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
    ports.clear();
}

TEST_F(UdevPort, TwoSubDevicesOfAPortWithOneMatchGetOneEach) {
    const Nic a(mac_of(120), "twin0"), b(mac_of(121), "twin1");
    Vport port(std::string(kNoPoll) + "udev(kernel=twin*),udev(kernel=twin*)");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(port.state(0), "probed") << "with the port, not later";
    EXPECT_EQ(port.state(1), "probed");
    EXPECT_NE(port.sub(0).devargs, port.sub(1).devargs);
}

TEST_F(UdevPort, WhatCannotBeBoundToADriverIsNotTakenWithoutIt) {
    const Nic nic(mac_of(130));
    Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(130) + ";bind=vfio-pci)");
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.sub(0).reason, nic.name + " is no PCI device, so it cannot be bound to vfio-pci");
    EXPECT_EQ(port.state(0), "absent");
}

// ---- the monitor itself

/// Has it all been heard?
std::vector<std::string> heard_by(Udev &udev, Udev::Heard *how = nullptr) {
    std::vector<std::string> out;
    const Udev::Heard heard = udev.read([&](const DeviceEvent &event) {
        out.push_back((event.what == DeviceEvent::What::kWent ? "-" : "+") + event.device.kernel_name());
    });
    if (how != nullptr)
        *how = heard;
    return out;
}

void write_uevent(const std::string &what, unsigned times = 1) {
    const int fd = ::open("/sys/class/net/lo/uevent", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    for (unsigned i = 0; i < times; i++)
        ASSERT_EQ(::write(fd, what.data(), what.size()), static_cast<ssize_t>(what.size()));
    ::close(fd);
}

// FAULTS F107.
TEST_F(UdevPort, MoreEventsThanTheSocketHoldsAreSaidToBeMissed) {
    Udev udev;
    ASSERT_TRUE(udev.open());
    write_uevent("change");
    EXPECT_EQ(heard_by(udev), std::vector<std::string>{"+lo"});
    write_uevent("change", 20000);
    Udev::Heard how = Udev::Heard::kAll;
    const std::size_t n = heard_by(udev, &how).size();
    EXPECT_EQ(how, Udev::Heard::kMissed) << n;
    EXPECT_LT(n, 20000U);
    write_uevent("change");
    EXPECT_EQ(heard_by(udev, &how), std::vector<std::string>{"+lo"});
    EXPECT_EQ(how, Udev::Heard::kAll);
}

// The same, through a port: what was missed is found by a look at everything.
TEST_F(UdevPort, ADeviceWhoseEventWasLostInAFloodIsFound) {
    Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(5) + ")");
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 2; round++) {
        std::thread flood([] { write_uevent("change", 20000); });
        const Nic nic(mac_of(5));
        flood.join();
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        nic.remove();
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    }
}

// FAULTS F98.
TEST_F(UdevPort, MalformedMessagesAreIgnored) {
    Udev udev;
    ASSERT_TRUE(udev.open());
    const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
    ASSERT_GE(fd, 0);
    const auto pad = [](std::string text, std::size_t size) {
        text.resize(size, 'x');
        return text;
    };
    constexpr char kGood[] = "change@/devices/virtual/net/lo\0ACTION=change\0DEVPATH=/devices/virtual/net/lo\0"
                             "SUBSYSTEM=net\0SEQNUM=1\0INTERFACE=lo\0";
    const std::string good(kGood, sizeof(kGood) - 1);
    const std::vector<std::string> messages{"",
                                            std::string(1, '\0'),
                                            "remove@/devices/virtual/net/lo",
                                            good, // by its form; but it is not the kernel that says it
                                            pad("add@/x", 4095),
                                            pad("add@/x", 4096),
                                            pad("add@/x", 10000),
                                            pad("libudev", 40),
                                            pad(std::string("libudev\0\xfe\xed\xca\xfe\xff\xff\xff\xff", 16), 64)};
    unsigned sent = 0;
    for (const unsigned group : {1U, 2U})
        for (const std::string &message : messages) {
            if (group == 2 && message == good)
                continue; // udevd's: root may say so
            sockaddr_nl to{};
            to.nl_family = AF_NETLINK;
            to.nl_groups = group;
            if (::sendto(fd, message.data(), message.size(), 0, reinterpret_cast<const sockaddr *>(&to), sizeof(to)) >=
                0)
                sent++;
        }
    ::close(fd);
    EXPECT_GE(sent, 10U) << "the kernel took too few of them to try anything";
    Udev::Heard how = Udev::Heard::kAll;
    EXPECT_EQ(heard_by(udev, &how), std::vector<std::string>{});
    EXPECT_EQ(how, Udev::Heard::kAll);
    write_uevent("change");
    EXPECT_EQ(heard_by(udev), std::vector<std::string>{"+lo"}) << "what came after them is heard";
}

// ---- beside the application's own use of EAL's events

struct Count {
    std::atomic<int> calls{0};
    static void call(const char *, rte_dev_event_type, void *arg) { static_cast<Count *>(arg)->calls++; }
};

// FAULTS F99, F100.
TEST_F(UdevPort, TheApplicationsOwnDeviceEventCallbacksGoOnToWork) {
    Count mine;
    ASSERT_EQ(rte_dev_event_callback_register(nullptr, Count::call, &mine), 0);
    const Nic nic(mac_of(6));
    for (int round = 0; round < 3; round++) {
        Vport port(std::string(kNoPoll) + "udev(address=" + mac_of(6) + ")");
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_EQ(rte_dev_event_monitor_start(), 0);
        EXPECT_TRUE(eventually([&] { return port.joined(0); }));
        EXPECT_EQ(rte_dev_event_monitor_stop(), 0);
        nic.remove();
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; })) << "our events do not hang on EAL's monitor";
        nic.make();
        EXPECT_TRUE(eventually([&] { return port.joined(0); }));
    }
    rte_dev_event_callback_process("0000:ff:1f.7", RTE_DEV_EVENT_ADD);
    EXPECT_EQ(mine.calls.load(), 1);
    EXPECT_EQ(rte_dev_event_callback_unregister(nullptr, Count::call, &mine), 1);
}

} // namespace
} // namespace holdfast::test
