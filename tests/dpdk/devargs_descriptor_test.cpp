// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that descriptors name, with real probes. (FAULTS.md, section 1.)
#include "base/descriptor.h"
#include "devargs_sources_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A pipe as vdev_netvsc makes it.
struct Pipe {
    Descriptor read, write;

    Pipe() {
        std::array<int, 2> fds{};
        EXPECT_EQ(::pipe2(fds.data(), O_NONBLOCK), 0);
        read = Descriptor(fds[0]);
        write = Descriptor(fds[1]);
    }
    void say(std::string_view text) const {
        EXPECT_EQ(::write(write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    [[nodiscard]] std::string fd() const { return "fd(" + std::to_string(read.get()) + ")"; }
};

// F9: what vdev_netvsc does, with a line in the pipe before the port is made.
TEST_F(DevargsSources, ADescriptorNamesDevicesAsVdevNetvscDoes) {
    const Pipe pipe;
    pipe.say("net_mayfly5\nnet_mayfly0,mac=02:00:00:00:00:2b\n");
    const Port port("net_holdfast0", pipe.fd() + ",dev(net_mayfly9),hotplug_poll=10");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(mac_of("net_holdfast0"), "02:00:00:00:00:2B");
    EXPECT_EQ(about(port).source, pipe.fd());
    EXPECT_FALSE(there("net_mayfly5")) << "the last line wins";
    for (int i = 0; i < 10000; i++) // each second, for hours
        if (::write(pipe.write.get(), "net_mayfly0\n", 12) != 12)
            std::this_thread::sleep_for(1ms); // it would block: the writer is faster than any reader
    unplug("net_mayfly0");
    EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly0"), 0);
    EXPECT_TRUE(eventually([&] { return joined(port); })) << "the last line is still the last";
    unplug("net_mayfly0");
    pipe.say("net_mayfly1\n");
    EXPECT_TRUE(eventually([&] { return joined(port) && about(port).devargs == "net_mayfly1"; }));
    EXPECT_NE(::fcntl(pipe.read.get(), F_GETFD), -1) << "the giver's, and left open";
}

// F9
TEST_F(DevargsSources, ALineThatComesLaterIsActedUponAtOnce) {
    const Pipe pipe;
    const Port port("net_holdfast0", pipe.fd() + ",dev(net_mayfly9),hotplug_poll=86400000");
    ASSERT_EQ(port.rc(), 0) << "an empty pipe is not waited for";
    EXPECT_THAT(about(port).reason, HasSubstr("named no device yet"));
    pipe.say("net_mayfly0\n");
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    pipe.say("\n");
    unplug("net_mayfly0");
    EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly0"), 0);
    pipe.say("net_mayfly1"); // without a newline
    EXPECT_TRUE(eventually([&] { return joined(port); }));
    EXPECT_EQ(about(port).devargs, "net_mayfly1");
}

// F9
TEST_F(DevargsSources, DescriptorsThatCannotBeReadAreRefusedBeforeAnythingIsProbed) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    const Pipe pipe;
    const std::string wrong = std::to_string(pipe.write.get());
    EXPECT_THAT(
        refused("dev(net_mayfly0),fd(999)"),
        HasSubstr("net_holdfast9: cannot read the arguments: \"999\" at character 21: this descriptor is not open"));
    EXPECT_THAT(refused("fd(" + wrong + "),dev(net_mayfly0)"),
                HasSubstr("\"" + wrong + "\" at character 4: this descriptor is not open for reading"));
    for (const char *number : {"0", "1", "2"})
        EXPECT_THAT(refused("dev(net_mayfly0),fd(" + std::string(number) + ")"), HasSubstr("standard streams"));
    EXPECT_THAT(refused("dev(net_mayfly0),fd(abc)"), HasSubstr("\"abc\" at character 21"));
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
}

// F9, F25
TEST_F(DevargsSources, AStandardStreamIsReadOnlyWhenForced) {
    const Pipe pipe;
    const Descriptor saved = Descriptor::copy(STDIN_FILENO);
    ASSERT_EQ(::dup2(pipe.read.get(), STDIN_FILENO), STDIN_FILENO);
    {
        pipe.say("net_mayfly0\n");
        EXPECT_THAT(refused("fd(0)"), HasSubstr("fd(N,force)"));
        const Port port("net_holdfast0", "fd(0,force)");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_TRUE(joined(port));
    }
    if (saved.open())
        ASSERT_EQ(::dup2(saved.get(), STDIN_FILENO), STDIN_FILENO);
    else
        ASSERT_EQ(::close(STDIN_FILENO), 0);
}

} // namespace
} // namespace holdfast::test
