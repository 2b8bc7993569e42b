// SPDX-License-Identifier: BSD-3-Clause
// How a process ends that has open ports: each test runs this executable once more, with itself as the only test and a
// role in the environment, and looks how that child ended.
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

constexpr const char *kRole = "HOLDFAST_TEST_CHILD";

bool is_child() {
    return std::getenv(kRole) != nullptr;
}

struct Ended {
    int code = -1;
    std::string output;
};

/// Runs the current test in a process of its own. `tool`: what to run it under. `close_stdin`: without descriptor 0.
Ended run_again(std::vector<std::string> tool = {}, bool close_stdin = false) {
    const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string log = "/tmp/holdfast-" + std::string(test->name()) + "-" + std::to_string(::getpid()) + ".log";
    std::vector<std::string> words = std::move(tool);
    char self[4096] = {};
    if (::readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
        return {};
    words.emplace_back(self);
    words.push_back("--gtest_filter=" + std::string(test->test_suite_name()) + "." + test->name());
    std::vector<char *> argv;
    for (std::string &w : words)
        argv.push_back(w.data());
    argv.push_back(nullptr);
    (void)::setenv(kRole, "1", 1);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    if (close_stdin)
        ::posix_spawn_file_actions_addclose(&files, STDIN_FILENO);
    pid_t pid = 0;
    const int rc = ::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    (void)::unsetenv(kRole);
    Ended ended;
    if (rc == 0) {
        int status = 0;
        (void)::waitpid(pid, &status, 0);
        ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    ended.output = text.str();
    (void)::unlink(log.c_str());
    return ended;
}

/// A port over three sub-devices, with packets in it, left open for ever.
void leave_a_port_open(const std::string &name, const std::string &subs) {
    rte_mempool *pool =
        rte_pktmbuf_pool_create(("pool_" + name).c_str(), 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    Vport port(subs, name);
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool), 0);
    std::vector<rte_mbuf *> p(8);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool, p.data(), 8), 0);
    for (rte_mbuf *m : p)
        (void)rte_pktmbuf_append(m, 60);
    EXPECT_EQ(port.tx(p.data(), 8), 8);
    port.let_go();
}

void leave_ports_open() {
    leave_a_port_open("net_holdfast7",
                      "hotplug_poll=1,dev(net_mayfly70,mode=loop),dev(net_mayfly71),dev(net_mayfly72)");
    leave_a_port_open("net_holdfast8", "dev(net_mayfly80,mode=loop),dev(net_mayfly81)");
    leave_a_port_open("net_holdfast9", "dev(net_null90)");
}

/// valgrind's command, if it is here and this build can run under it.
std::vector<std::string> valgrind() {
    const char *preset = std::getenv("HOLDFAST_PRESET");
    if ((preset != nullptr && std::string_view(preset) != "release") || ::access("/usr/bin/valgrind", X_OK) != 0)
        return {};
    return {"/usr/bin/valgrind", "--error-exitcode=99", "--leak-check=no", "--quiet", "--num-callers=20"};
}

#define RUN_IN_A_CHILD(...)                                                                                            \
    if (!is_child()) {                                                                                                 \
        const Ended ended = run_again(__VA_ARGS__);                                                                    \
        EXPECT_EQ(ended.code, 0) << ended.output;                                                                      \
        return;                                                                                                        \
    }

TEST(Process, EndsCleanlyByAnEalCleanUpWithOpenPorts) {
    RUN_IN_A_CHILD();
    leave_ports_open(); // main() cleans up when the tests are over
}

TEST(Process, EndsCleanlyByAnEalCleanUpWithOpenPortsUnderValgrind) {
    RUN_IN_A_CHILD(valgrind());
    leave_ports_open();
}

TEST(Process, EndsCleanlyByExitWithOpenPorts) {
    RUN_IN_A_CHILD();
    leave_ports_open();
    rte_exit(EXIT_SUCCESS, "over");
}

TEST(Process, EndsCleanlyByPlainExitWithOpenPorts) {
    RUN_IN_A_CHILD();
    leave_ports_open();
    std::fflush(nullptr);
    std::exit(0); // no EAL clean-up at all: only the modules' destructors
}

// The host thread may be anywhere when the process ends.
TEST(Process, EndsCleanlyWhileTheHostThreadIsAtWork) {
    RUN_IN_A_CHILD();
    ASSERT_EQ(rte_pmd_mayfly_delay("net_mayfly71", "probe", 50'000), 0);
    leave_a_port_open("net_holdfast7", "hotplug_poll=1,dev(net_mayfly70),dev(net_mayfly71),dev(net_mayfly72)");
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(rte_pmd_mayfly_unplug("net_mayfly71", RTE_PMD_MAYFLY_SYNC), 0);
        ASSERT_TRUE(eventually([] { return rte_pmd_mayfly_port("net_mayfly71") < 0; }));
        ASSERT_EQ(rte_pmd_mayfly_plug("net_mayfly71"), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

// The list of the bus: sub-devices before, between and behind the virtual ports in it.
TEST(Process, EndsCleanlyWhateverStandsWhereInTheListOfTheBus) {
    RUN_IN_A_CHILD();
    ASSERT_EQ(rte_vdev_init("net_mayfly60", ""), 0);
    ASSERT_EQ(rte_vdev_init("net_mayfly61", ""), 0);
    leave_a_port_open("net_holdfast7",
                      "hotplug_poll=10,dev(net_mayfly61,mode=loop),dev(net_mayfly62),dev(net_mayfly60)");
    ASSERT_EQ(rte_vdev_init("net_mayfly63", ""), 0);
    leave_a_port_open("net_holdfast8", "dev(net_mayfly63),dev(net_mayfly64)");
    ASSERT_EQ(rte_vdev_init("net_mayfly65", ""), 0);
    // One that came back stands at the end of the list.
    ASSERT_EQ(rte_pmd_mayfly_unplug("net_mayfly61", RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_TRUE(eventually([] { return rte_pmd_mayfly_port("net_mayfly61") < 0; }));
    ASSERT_EQ(rte_pmd_mayfly_plug("net_mayfly61"), 0);
    ASSERT_TRUE(eventually([] { return rte_pmd_mayfly_port("net_mayfly61") >= 0; }));
}

// The bus takes sub-devices off before the port that they belong to, and it does so on the thread that ends everything.
TEST(Process, EndsCleanlyWithSubDevicesThatStandBeforeTheirPortInTheListOfTheBusUnderValgrind) {
    RUN_IN_A_CHILD(valgrind());
    for (const char *name : {"net_mayfly60", "net_mayfly61", "net_null60"})
        ASSERT_EQ(rte_vdev_init(name, ""), 0);
    leave_a_port_open("net_holdfast7", "hotplug_poll=1,dev(net_mayfly61,mode=loop),dev(net_mayfly60),dev(net_null60)");
}

TEST(Process, EndsCleanlyAfterADetachBySomebodyElse) {
    RUN_IN_A_CHILD();
    leave_a_port_open("net_holdfast7",
                      "hotplug_poll=1,dev(net_mayfly70,mode=loop),dev(net_mayfly71),dev(net_mayfly72)");
    for (const char *name : {"net_mayfly70", "net_mayfly72"})
        ASSERT_EQ(rte_vdev_uninit(name), 0);
    ASSERT_EQ(rte_vdev_init("net_mayfly72", ""), 0); // his own now
}

// F26
TEST(Process, EndsCleanlyAfterAPortThatCouldNotBeProbed) {
    RUN_IN_A_CHILD();
    EXPECT_LT(rte_vdev_init("net_holdfast7", "dev(net_mayfly70),hotplug_poll=0"), 0);
    EXPECT_LT(rte_vdev_init("net_holdfast8", ""), 0);
}

// F25: descriptor 0 is a descriptor like any other.
TEST(Process, WorksWithoutStandardInput) {
    RUN_IN_A_CHILD({}, true);
    EalState before = EalState::now();
    {
        Mayfly a, b;
        Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
        ASSERT_EQ(port.rc(), 0);
        before = EalState::now();
        for (int i = 0; i < 10; i++) {
            a.unplug();
            ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
            a.plug();
            ASSERT_TRUE(eventually([&] { return port.sub(0).joined; }));
        }
        EXPECT_EQ(EalState::now().descriptors, before.descriptors);
    }
}

} // namespace
} // namespace holdfast::test
