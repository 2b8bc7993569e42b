// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/line_reader.h"

#include "base/descriptor.h"
#include "port/answer.h"
#include "support/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using Clock = LineReader::Clock;
using testing::HasSubstr;
using testing::StrEq;

/// Two connected descriptors, blocking as they come.
struct Link {
    Descriptor read, write;

    static Link pipe() {
        std::array<int, 2> fds{};
        EXPECT_EQ(::pipe(fds.data()), 0);
        return {Descriptor(fds[0]), Descriptor(fds[1])};
    }
    static Link socket() {
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
        return {Descriptor(fds[0]), Descriptor(fds[1])};
    }
    void say(std::string_view text) const {
        EXPECT_EQ(::write(write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
};

/// A file that is deleted when it is closed.
Descriptor file_with(std::string_view text) {
    std::string path = "/tmp/holdfast-lines-XXXXXX";
    Descriptor file(::mkstemp(path.data()));
    EXPECT_TRUE(file.open());
    EXPECT_EQ(::unlink(path.c_str()), 0);
    EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    return file;
}

std::string device_of(LineReader &reader) {
    reader.look();
    return reader.answer().devargs;
}

/// Looks as a loop does, until the answer is that one.
bool comes_to(LineReader &reader, const std::string &devargs) {
    const auto until = Clock::now() + 60s;
    while (Clock::now() < until) {
        if (device_of(reader) == devargs)
            return true;
        pollfd ready{.fd = reader.descriptor(), .events = POLLIN, .revents = 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(reader.due(), until) - Clock::now());
        (void)::poll(&ready, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
    }
    return false;
}

class LineReaderOver : public testing::TestWithParam<bool> {
  protected:
    static Link link() { return GetParam() ? Link::socket() : Link::pipe(); }
};
INSTANTIATE_TEST_SUITE_P(APipeOrASocket, LineReaderOver, testing::Bool());

// FAULTS F9.
TEST_P(LineReaderOver, TheLastLineCountsAndStays) {
    const Link link = LineReaderOver::link();
    LineReader reader;
    ASSERT_EQ(reader.open(link.read.get()), 0);
    reader.look();
    EXPECT_THAT(reader.answer().reason, HasSubstr("yet")) << "and it did not wait";
    link.say("0002:00:02.0\n");
    EXPECT_EQ(device_of(reader), "0002:00:02.0");
    EXPECT_EQ(device_of(reader), "0002:00:02.0") << "nothing new";
    link.say("net_null0\nnet_null1\n");
    EXPECT_EQ(device_of(reader), "net_null1");
    link.say("\n");
    EXPECT_EQ(device_of(reader), "");
    link.say("net_null2\n");
    EXPECT_EQ(device_of(reader), "net_null2");
}

TEST_P(LineReaderOver, AnUnfinishedLineCountsAfterAPause) {
    const Link link = LineReaderOver::link();
    LineReader reader;
    ASSERT_EQ(reader.open(link.read.get()), 0);
    link.say("net_null0");
    reader.look();
    EXPECT_TRUE(reader.unfinished());
    EXPECT_NE(reader.due(), Clock::time_point::max());
    EXPECT_TRUE(comes_to(reader, "net_null0"));
    EXPECT_EQ(reader.due(), Clock::time_point::max());
    link.say("net_null1\nnet_");
    EXPECT_EQ(device_of(reader), "net_null1");
    link.say("null2\n");
    EXPECT_EQ(device_of(reader), "net_null2");
}

TEST_P(LineReaderOver, AfterTheEndTheLastLineStaysAndNothingIsWaitedFor) {
    Link link = LineReaderOver::link();
    LineReader reader;
    ASSERT_EQ(reader.open(link.read.get()), 0);
    link.say("net_null0\nnet_null1");
    link.write.reset();
    EXPECT_EQ(device_of(reader), "net_null1") << "nothing can follow, so it is whole";
    EXPECT_EQ(reader.descriptor(), -1) << "a loop would turn for ever";
    EXPECT_EQ(reader.due(), Clock::time_point::max());
    EXPECT_EQ(device_of(reader), "net_null1");
}

TEST_P(LineReaderOver, TheGiversDescriptorStaysAsItIs) {
    Link link = LineReaderOver::link();
    const int flags = ::fcntl(link.read.get(), F_GETFL);
    {
        LineReader reader;
        ASSERT_EQ(reader.open(link.read.get()), 0);
        link.say("net_null0\n");
        EXPECT_EQ(device_of(reader), "net_null0");
        EXPECT_EQ(::fcntl(link.read.get(), F_GETFL), flags);
        EXPECT_NE(::fcntl(reader.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_EQ(::fcntl(link.read.get(), F_GETFL), flags) << "still open";
}

TEST_P(LineReaderOver, ANumberThatIsUsedAnewIsNotRead) {
    Link link = LineReaderOver::link();
    LineReader reader;
    const int number = link.read.get();
    ASSERT_EQ(reader.open(number), 0);
    link.say("net_null0\n");
    link.read.reset();
    const Link other = Link::pipe();
    Descriptor again(::dup2(other.read.get(), number));
    other.say("secret\n");
    EXPECT_EQ(device_of(reader), "net_null0");
    std::array<char, 8> text{};
    EXPECT_EQ(::read(number, text.data(), text.size()), 7) << "somebody else's data was taken";
    if (again.get() == other.read.get())
        again = Descriptor();
}

TEST(LineReader, DrainsWhatAWriterLeftInAFullPipe) {
    const Link link = Link::pipe();
    ASSERT_EQ(::fcntl(link.write.get(), F_SETFL, O_NONBLOCK), 0); // as vdev_netvsc has it
    std::size_t lines = 0;
    while (::write(link.write.get(), "0002:00:02.0\n", 13) == 13)
        lines++;
    ASSERT_GT(lines, 1000U);
    LineReader reader;
    ASSERT_EQ(reader.open(link.read.get()), 0);
    EXPECT_EQ(device_of(reader), "0002:00:02.0");
    link.say("0003:00:02.0\n");
    EXPECT_EQ(device_of(reader), "0003:00:02.0");
}

TEST(LineReader, ReadsAFileFromWhereItStandsAndLeavesItThere) {
    const Descriptor file = file_with("net_null0\nnet_null1\n");
    LineReader reader, second;
    ASSERT_EQ(reader.open(file.get()), 0);
    ASSERT_EQ(second.open(file.get()), 0);
    EXPECT_EQ(device_of(reader), "net_null1");
    EXPECT_EQ(reader.descriptor(), -1);
    EXPECT_EQ(device_of(second), "net_null1") << "one does not take it from the other";
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 0);

    ASSERT_EQ(::lseek(file.get(), 0, SEEK_END), 20);
    LineReader late;
    ASSERT_EQ(late.open(file.get()), 0);
    EXPECT_EQ(device_of(late), "") << "only what is appended is meant for it";
    ASSERT_EQ(::write(file.get(), "net_null2", 9), 9);
    EXPECT_EQ(device_of(late), "net_null2");
    EXPECT_EQ(device_of(reader), "net_null2");

    ASSERT_EQ(::ftruncate(file.get(), 0), 0);
    EXPECT_EQ(device_of(reader), "");
    ASSERT_EQ(::pwrite(file.get(), "net_null3\n", 10, 0), 10);
    EXPECT_EQ(device_of(reader), "net_null3");
    EXPECT_EQ(device_of(late), "net_null3") << "it was written anew";
}

TEST(LineReader, FindsTheEndOfALongFile) {
    std::string text;
    for (int i = 0; i < 100000; i++)
        text += "0002:00:02.0\n";
    const Descriptor file = file_with(text + "net_null7\n");
    LineReader reader;
    ASSERT_EQ(reader.open(file.get()), 0);
    EXPECT_EQ(device_of(reader), "net_null7");
    const std::string longest = "net_null0,x=" + std::string(kLongestAnswer - 12, 'x');
    const Descriptor just = file_with("a\n" + longest + "\n");
    ASSERT_EQ(reader.open(just.get()), 0);
    EXPECT_EQ(device_of(reader), longest);
    const Descriptor over = file_with("a\n" + longest + "x\n");
    ASSERT_EQ(reader.open(over.get()), 0);
    EXPECT_EQ(device_of(reader), "");
    EXPECT_THAT(reader.answer().reason, HasSubstr("more than 4096"));
}

TEST(LineReader, TakesOtherKindsOfDescriptorsWithoutHarm) {
    Descriptor zero(::open("/dev/zero", O_RDONLY));
    LineReader reader;
    ASSERT_EQ(reader.open(zero.get()), 0);
    reader.look(); // without end
    EXPECT_EQ(reader.descriptor(), -1) << "it would be ready at once, for ever";
    EXPECT_THAT(reader.answer().reason, HasSubstr("more than 4096"));
    Descriptor null(::open("/dev/null", O_RDONLY));
    ASSERT_EQ(reader.open(null.get()), 0);
    EXPECT_EQ(device_of(reader), "");
    EXPECT_EQ(reader.descriptor(), -1);
    Descriptor event(::eventfd(0, 0)); // blocks when read, and cannot be opened again
    ASSERT_EQ(reader.open(event.get()), 0);
    EXPECT_EQ(device_of(reader), "");
    EXPECT_GE(reader.descriptor(), 0);
}

// FAULTS F9.
TEST(LineReader, SaysWhyADescriptorCannotBeRead) {
    const Link link = Link::pipe();
    EXPECT_EQ(LineReader::fault_in(link.read.get()), nullptr);
    EXPECT_THAT(LineReader::fault_in(link.write.get()), HasSubstr("for reading"));
    EXPECT_THAT(LineReader::fault_in(999), HasSubstr("not open"));
    EXPECT_THAT(LineReader::fault_in(2147483647), StrEq("this descriptor is not open"));
    const Descriptor folder(::open("/", O_RDONLY | O_DIRECTORY));
    EXPECT_THAT(LineReader::fault_in(folder.get()), HasSubstr("directory"));
    const Descriptor path(::open("/dev/null", O_PATH));
    EXPECT_THAT(LineReader::fault_in(path.get()), HasSubstr("for reading"));
    LineReader reader;
    EXPECT_NE(reader.open(999), 0);
    reader.look();
    EXPECT_THAT(reader.answer().reason, HasSubstr("yet"));
}

TEST(LineReader, TakesNoStandardStreamsPlace) {
    const Link link = Link::pipe();
    const auto before = test::open_descriptors();
    {
        const test::ClosedStream closed(STDIN_FILENO);
        LineReader reader;
        ASSERT_EQ(reader.open(link.read.get()), 0);
        EXPECT_GT(reader.descriptor(), STDERR_FILENO);
        EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1);
    }
    EXPECT_EQ(test::open_descriptors(), before);
}

} // namespace
} // namespace holdfast
