// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that commands name, with real probes. (FAULTS.md, sections 1 and 2, F108.)
#include "base/ids.h"
#include "devargs_sources_rig.h"
#include "hotplug/host_thread.h"
#include "port/virtual_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <sys/types.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(DevargsSources, ACommandNamesADeviceBeforeThePortSettlesItsMac) {
    const Port port("net_holdfast0", R"(exec(sleep 0.3; echo net_mayfly0\,mac=02:00:00:00:00:2a),dev(net_mayfly1))");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(mac_of("net_holdfast0"), "02:00:00:00:00:2A");
    EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
    EXPECT_EQ(about(port).devargs, "net_mayfly0,mac=02:00:00:00:00:2a");
    EXPECT_EQ(about(port).source, R"(exec(sleep 0.3; echo net_mayfly0,mac=02:00:00...))");
    EXPECT_EQ(about(port, 1).source, "");
    start(port.id());
    EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
}

// F7
TEST_F(DevargsSources, TheFirstLineOfACommandThatEndsWellCounts) {
    for (const char *command : {"printf 'net_mayfly0'", "echo net_mayfly0", "printf 'net_mayfly0\\nnet_mayfly1\\n'",
                                "echo,net_mayfly0", "echo 'net_mayfly0' # and no more"}) {
        SCOPED_TRACE(command);
        const Port port("net_holdfast0", "exec(" + std::string(command) + "),dev(net_mayfly2)");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
        EXPECT_FALSE(there("net_mayfly1"));
    }
}

// F7
TEST_F(DevargsSources, NoOutputOrABadStatusMeansAbsentAndIsSaidOnce) {
    const Folder folder;
    const struct {
        std::string command, said;
    } cases[] = {
        {"true", "its command names no device"},
        {"echo", "its command names no device"},
        {"printf '\\nnet_mayfly0\\n'", "its command names no device"},
        {"echo net_mayfly0; exit 3", "its command ended with status 3"},
        {"echo net_mayfly0 size=64", "(a comma in exec(...) is a blank; \\, is a comma)"},
        {"echo net_holdfast7", "cannot be a sub-device"},
        {"yes", "printed more than 4096 bytes"},
    };
    for (const auto &c : cases) {
        SCOPED_TRACE(c.command);
        folder.remove("runs");
        const CapturedLog log;
        const Port port("net_holdfast0", "exec(echo x >>" + folder.file("runs") + "; " + c.command +
                                             "),dev(net_mayfly1),hotplug_poll=5");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_TRUE(eventually([&] { return folder.size("runs") >= 10; })) << "five runs";
        EXPECT_EQ(owner_of("net_mayfly0"), "");
        EXPECT_EQ(owner_of("net_mayfly1"), "net_holdfast0");
        EXPECT_THAT(about(port).reason, HasSubstr(c.said));
        const bool shown = std::string_view(c.said) != "its command names no device"; // INFO is not, by default
        EXPECT_EQ(log.lines_with("no device for exec(", c.said), shown ? 1U : 0U) << log.text();
    }
}

// F7: no descriptor and no process is left, see TearDown().
TEST_F(DevargsSources, AHundredPolls) {
    const Folder folder;
    const Port port("net_holdfast0", "exec(echo x >>" + folder.file("runs") + "),dev(net_mayfly1),hotplug_poll=1");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_TRUE(eventually([&] { return folder.size("runs") >= 200; }, 120s));
}

TEST_F(DevargsSources, ACommandIsAskedAgainUntilTheDeviceIsThereAndAfterItLeft) {
    const Folder folder;
    const Port port("net_holdfast0",
                    "exec(cat " + folder.file("vf") + " 2>/dev/null),dev(net_mayfly9),hotplug_poll=10");
    ASSERT_EQ(port.rc(), 0);
    start(port.id());
    EXPECT_THAT(about(port).reason, HasSubstr("status 1"));
    EXPECT_EQ(about(port).devargs, "");
    folder.write("vf", "net_mayfly0\n");
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");

    folder.write("vf", "");
    unplug("net_mayfly0");
    EXPECT_TRUE(eventually([&] { return about(port).reason == "its command names no device"; }));
    EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly0"), 0);
    EXPECT_TRUE(always([] { return !there("net_mayfly0"); }, 100ms)) << "it is there, but not meant";

    folder.write("vf", "net_mayfly1\n"); // as a VF that comes back at another address
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    EXPECT_EQ(about(port).devargs, "net_mayfly1");
    EXPECT_EQ(owner_of("net_mayfly1"), "net_holdfast0");
    rte_pmd_mayfly_settings settings{};
    EXPECT_EQ(rte_pmd_mayfly_get_settings("net_mayfly1", &settings), 0);
    EXPECT_EQ(settings.started, 1);

    folder.remove("vf");
    EXPECT_TRUE(always([&] { return joined(port); }, 100ms)) << "asked only while it is absent";
    EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
}

// F18
TEST_F(DevargsSources, ADeviceThatCannotJoinIsRefusedWithTheReasonAndLookedForAgain) {
    const Folder folder;
    const Port port("net_holdfast0",
                    "exec(cat " + folder.file("vf") + " 2>/dev/null),dev(net_mayfly9),hotplug_poll=10");
    ASSERT_EQ(port.rc(), 0);
    const CapturedLog log;
    folder.write("vf", "net_nosuchdriver0\n");
    EXPECT_TRUE(eventually([&] { return about(port).reason.starts_with("cannot find a bus for a device"); }))
        << about(port).reason;
    EXPECT_EQ(log.lines_with("net_nosuchdriver0 is not plugged in", "find a bus for a device"), 1U) << log.text();
    folder.write("vf", "net_mayfly0\n");
    EXPECT_TRUE(eventually([&] { return joined(port); }));
}

TEST_F(DevargsSources, ACommandThatTakesTooLongIsKilledAndItsPortComesUp) {
    const CapturedLog log;
    const Port port("net_holdfast0", "exec(sleep 1000),dev(net_mayfly1),exec_timeout=100,hotplug_poll=5");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(about(port).reason, "its command took longer than 100 ms and was killed");
    EXPECT_TRUE(joined(port, 1));
    std::this_thread::sleep_for(500ms); // some runs more
    EXPECT_EQ(log.lines_with("exec(sleep 1000)", "took longer than 100 ms"), 1U) << log.text();
}

TEST_F(DevargsSources, CommandsOfOnePortAreWaitedForAtTheSameTime) {
    const Folder folder;
    // Each of the two ends only when the other one runs.
    const auto command = [&](const char *mine, const char *other, const char *device) {
        return "exec(touch " + folder.file(mine) + "; until test -e " + folder.file(other) +
               "; do sleep 0.01; done; echo " + device + ")";
    };
    const Port port("net_holdfast0", command("a", "b", "net_mayfly0") + "," + command("b", "a", "net_mayfly1"));
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
    EXPECT_EQ(owner_of("net_mayfly1"), "net_holdfast0");
}

// F23, F108, F162
TEST_F(DevargsSources, ASlowCommandOfOnePortDelaysNothingOfAnother) {
    static std::atomic<int> link_changes{0};
    const Folder folder;
    const std::string slow = "exec(test -e " + folder.file("gate") + " || exit 1; touch " + folder.file("runs") +
                             "; sleep 1000; touch " + folder.file("ended") + ")";
    const Port other("net_holdfast0", slow + ",hotplug_poll=5,exec_timeout=600000");
    ASSERT_EQ(other.rc(), 0);
    const Port port("net_holdfast1", "dev(net_mayfly1),hotplug_poll=5");
    ASSERT_EQ(port.rc(), 0);
    const rte_eth_dev_cb_fn count = [](std::uint16_t, rte_eth_event_type, void *, void *) {
        link_changes.fetch_add(1, std::memory_order_relaxed);
        return 0;
    };
    rte_eth_conf conf{};
    conf.intr_conf.lsc = 1;
    ASSERT_EQ(rte_eth_dev_callback_register(port.id(), RTE_ETH_EVENT_INTR_LSC, count, nullptr), 0);
    start(port.id(), conf);
    folder.write("gate", "");
    ASSERT_TRUE(eventually([&] { return folder.has("runs"); })) << "the slow one is under way from here";

    const std::int64_t lives = rte_pmd_mayfly_count("net_mayfly1", RTE_PMD_MAYFLY_LIVES);
    unplug("net_mayfly1");
    EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly1"), 0);
    EXPECT_TRUE(eventually([&] { return rte_pmd_mayfly_count("net_mayfly1", RTE_PMD_MAYFLY_LIVES) == lives + 1; }));
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    link_changes.store(0, std::memory_order_relaxed);
    EXPECT_EQ(rte_pmd_mayfly_link("net_mayfly1", 0, RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_TRUE(eventually([&] { return link_changes.load(std::memory_order_relaxed) > 0; }));
    EXPECT_EQ(rte_pmd_mayfly_link("net_mayfly1", 1, RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_FALSE(folder.has("ended"));
    EXPECT_EQ(rte_eth_dev_callback_unregister(port.id(), RTE_ETH_EVENT_INTR_LSC, count, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
}

TEST_F(DevargsSources, ClosingThePortKillsItsCommand) {
    const Folder folder;
    Port port("net_holdfast0", "exec(test -e " + folder.file("gate") + " || exit 1; echo $$ >" + folder.file("new") +
                                   "; mv " + folder.file("new") + " " + folder.file("pid") +
                                   "; sleep 1000),hotplug_poll=5,exec_timeout=600000");
    ASSERT_EQ(port.rc(), 0);
    folder.write("gate", "");
    ASSERT_TRUE(eventually([&] { return folder.has("pid"); }));
    pid_t pid = -1;
    std::ifstream(folder.file("pid")) >> pid;
    ASSERT_GT(pid, 1);
    EXPECT_EQ(::kill(pid, 0), 0);
    port.close();
    EXPECT_EQ(::kill(pid, 0), -1) << "and waited for";
}

// F15
TEST_F(DevargsSources, ADeviceThatAnotherSubDeviceIsAlreadyIsNotTakenTwice) {
    const CapturedLog log;
    const Port port("net_holdfast0", "dev(net_mayfly0),exec(echo vdev:net_mayfly0),exec(echo net_mayfly1),"
                                     "exec(echo net_mayfly1),hotplug_poll=5");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_TRUE(joined(port, 0));
    EXPECT_THAT(about(port, 1).reason, HasSubstr("is another sub-device of this port"));
    EXPECT_TRUE(joined(port, 2));
    EXPECT_THAT(about(port, 3).reason, HasSubstr("is another sub-device of this port"));
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(log.lines_with("net_holdfast0", "is another sub-device"), 2U) << log.text();
}

TEST_F(DevargsSources, RemovedByHandItIsNotAskedUntilItIsPlugged) {
    const Folder folder;
    const Port port("net_holdfast0",
                    "exec(echo x >>" + folder.file("runs") + "; echo net_mayfly0),dev(net_mayfly1),hotplug_poll=5");
    ASSERT_EQ(port.rc(), 0);
    const auto with = [&](auto f) { EXPECT_TRUE(HostThread::get().with(PortId{port.id()}, f)); };
    with([](VirtualPort &p) { EXPECT_TRUE(p.remove_by_hand(SubIndex{0}).ok()); });
    EXPECT_TRUE(eventually([&] { return !there("net_mayfly0"); }));
    const auto runs = folder.size("runs");
    EXPECT_TRUE(always([&] { return folder.size("runs") == runs; }, 200ms));
    with([](VirtualPort &p) { EXPECT_TRUE(p.plug_by_hand(SubIndex{0}).ok()); });
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    EXPECT_GT(folder.size("runs"), runs);
}

} // namespace
} // namespace holdfast::test
