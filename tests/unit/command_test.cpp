// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/command.h"

#include "port/answer.h"
#include "support/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using End = CommandResult::End;
using Clock = Command::Clock;
using testing::MatchesRegex;
using testing::StartsWith;

/// Drives a command as a loop does: it waits on what the command names, and for nothing else.
std::optional<CommandResult> drive(Command &command) {
    while (command.running()) {
        std::array<pollfd, 2> fds{};
        for (std::size_t i = 0; i < fds.size(); i++)
            fds[i] = {.fd = command.descriptors()[i], .events = POLLIN, .revents = 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(command.due() - Clock::now());
        (void)::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<long long>(left.count(), 0, 60'000)));
        if (std::optional<CommandResult> result = command.step())
            return result;
    }
    return {};
}

/// Until the process of the last run is gone.
void settle(Command &command) {
    const auto until = Clock::now() + 60s;
    while (!command.idle() && Clock::now() < until) {
        std::this_thread::sleep_until(std::min(command.due(), until));
        EXPECT_FALSE(command.step()) << "a second result";
    }
    EXPECT_TRUE(command.idle());
    EXPECT_EQ(command.due(), Clock::time_point::max());
}

CommandResult run(Command &command, const std::string &text, std::chrono::milliseconds limit = 60s) {
    command.start(text, limit);
    EXPECT_TRUE(command.running());
    std::optional<CommandResult> result = drive(command);
    EXPECT_TRUE(result.has_value());
    settle(command);
    return result.value_or(CommandResult{});
}

CommandResult run(const std::string &text, std::chrono::milliseconds limit = 60s) {
    Command command;
    return run(command, text, limit);
}

/// What a command that ends well prints.
std::string output_of(const std::string &text) {
    const CommandResult result = run(text);
    EXPECT_EQ(result.end, End::kExited) << text;
    EXPECT_EQ(result.status, 0) << text;
    return result.output;
}

int status_of(const std::string &text) {
    const CommandResult result = run(text);
    EXPECT_EQ(result.end, End::kExited) << text;
    return result.status;
}

TEST(Command, GivesWhatWasPrintedAndTheExitStatus) {
    EXPECT_EQ(output_of("echo net_null0"), "net_null0\n");
    EXPECT_EQ(output_of("printf 'a\\nb'"), "a\nb");
    EXPECT_EQ(output_of("true"), "");
    EXPECT_EQ(status_of("false"), 1);
    const CommandResult result = run("echo net_null0; exit 3");
    EXPECT_EQ(result.end, End::kExited);
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.output, "net_null0\n");
}

TEST(Command, IsAnOrdinaryShellCommand) {
    EXPECT_EQ(output_of("echo \"$#$1$*\""), "0\n") << "no arguments";
    EXPECT_EQ(output_of("set -- a b; echo $2 | tr b c"), "c\n");
    EXPECT_EQ(output_of("exec echo a"), "a\n");
    EXPECT_EQ(output_of("echo a # and a comment"), "a\n");
    EXPECT_EQ(output_of("echo a\necho b"), "a\nb\n");
    EXPECT_EQ(status_of("-n 2>/dev/null"), 127) << "not found";
    EXPECT_NE(status_of("echo 'a 2>/dev/null"), 0);
    EXPECT_NE(status_of(") 2>/dev/null"), 0);
    EXPECT_EQ(status_of("sh -c 'kill -9 $$'"), 128 + SIGKILL);
    ASSERT_EQ(::setenv("HOLDFAST_COMMAND_TEST", "seen", 1), 0);
    EXPECT_EQ(output_of("echo $HOLDFAST_COMMAND_TEST"), "seen\n");
    ASSERT_EQ(::unsetenv("HOLDFAST_COMMAND_TEST"), 0);
}

TEST(Command, HasAnEmptyInputAndNoDescriptorOfTheProcess) {
    EXPECT_EQ(output_of("cat; echo end"), "end\n");
    const int stray = ::open("/dev/null", O_RDONLY); // not close-on-exec, as those of an application
    ASSERT_GE(stray, 0);
    EXPECT_EQ(output_of("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ") << "3 is the folder that ls reads";
    EXPECT_EQ(::close(stray), 0);
}

TEST(Command, HasDefaultSignalHandling) {
    const test::SignalAction ignored(SIGCHLD, SIG_IGN);
    const test::SignalAction pipe(SIGPIPE, SIG_IGN);
    sigset_t all, before;
    sigfillset(&all);
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all, &before), 0); // as the thread has it that will run them
    EXPECT_THAT(output_of("grep -E 'Sig(Blk|Ign)' /proc/self/status"), "SigBlk:\t0000000000000000\n"
                                                                       "SigIgn:\t0000000000000000\n");
    EXPECT_EQ(status_of("yes | head -n 1 >/dev/null"), 0);
    ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(Command, HasAProcessGroupOfItsOwn) {
    EXPECT_EQ(output_of("test $$ = $(cut -d ' ' -f 5 /proc/$$/stat) && echo leader"), "leader\n");
}

TEST(Command, IsKilledWithAllThatItStartedWhenTheTimeIsOver) {
    const CommandResult result = run("sleep 1000 & echo $!; sleep 1000", 300ms);
    EXPECT_EQ(result.end, End::kTimedOut);
    ASSERT_THAT(result.output, MatchesRegex("[0-9]+\n")) << "a machine so slow that the shell did not come so far?";
    EXPECT_TRUE(test::goes(std::atoi(result.output.c_str())));
    EXPECT_EQ(run("trap '' TERM INT HUP QUIT; while :; do :; done", 100ms).end, End::kTimedOut) << "it ignores signals";
}

TEST(Command, IsKilledWhenItPrintsTooMuch) {
    EXPECT_EQ(run("yes").end, End::kTooLong);
    EXPECT_EQ(run("head -c 4097 /dev/zero").end, End::kTooLong);
    EXPECT_EQ(output_of("head -c 4096 /dev/zero").size(), 4096U);
}

TEST(Command, RunsOnWhenItClosesItsOutput) {
    EXPECT_EQ(status_of("echo a; exec >&-; sleep 0.2; exit 3"), 3);
    EXPECT_EQ(run("exec >&-; sleep 1000", 200ms).end, End::kTimedOut);
}

TEST(Command, HasEndedAlthoughSomethingInTheBackgroundKeepsItsOutputOpen) {
    const std::string pid = output_of("sleep 1000 & echo $!");
    ASSERT_GT(std::atoi(pid.c_str()), 1);
    EXPECT_EQ(::kill(std::atoi(pid.c_str()), 0), 0) << "left alone";
    EXPECT_EQ(::kill(std::atoi(pid.c_str()), SIGKILL), 0);
}

TEST(Command, WhoseShellIsKilledDidNotEndWell) {
    EXPECT_EQ(run("echo net_null0; kill -9 $$; sleep 1000").end, End::kKilled);
}

TEST(Command, ThatCannotBeStartedSaysWhy) {
    const CommandResult result = run(": " + std::string(1 << 20, 'x'));
    EXPECT_EQ(result.end, End::kNotStarted);
    EXPECT_EQ(result.status, E2BIG);
    EXPECT_EQ(output_of("echo a"), "a\n") << "and the next one runs";
}

TEST(Command, TellsItsEndWhateverTheApplicationDoesWithSigchld) {
    {
        const test::SignalAction ignored(SIGCHLD, SIG_IGN);
        EXPECT_EQ(status_of("exit 3"), 3);
        EXPECT_EQ(output_of("echo a"), "a\n");
        EXPECT_EQ(run("sleep 1000", 50ms).end, End::kTimedOut);
    }
    {
        const test::SignalAction handler(SIGCHLD, [](int) {
            const int saved = errno;
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
            errno = saved;
        });
        EXPECT_EQ(status_of("exit 3"), 3);
        EXPECT_EQ(output_of("echo a"), "a\n");
        EXPECT_EQ(run("sleep 1000", 50ms).end, End::kTimedOut);
    }
    std::atomic<bool> stop = false;
    std::thread collector([&] {
        while (!stop.load(std::memory_order_relaxed))
            if (::waitpid(-1, nullptr, 0) < 0)
                std::this_thread::sleep_for(1ms);
    });
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(status_of("exit 3"), 3);
        EXPECT_EQ(output_of("echo a"), "a\n");
    }
    EXPECT_EQ(run("sleep 1000", 50ms).end, End::kTimedOut);
    stop.store(true, std::memory_order_relaxed);
    collector.join();
}

TEST(Command, LeavesTheApplicationsChildrenAlone) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(7);
    ASSERT_GT(child, 0);
    EXPECT_EQ(output_of("echo a"), "a\n");
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Command, TakesNoStandardStreamsPlace) {
    const test::ClosedStream input(STDIN_FILENO);
    const test::ClosedStream output(STDOUT_FILENO);
    Command command;
    command.start("echo a", 60s);
    for (const int fd : command.descriptors())
        EXPECT_GT(fd, STDERR_FILENO);
    const std::optional<CommandResult> result = drive(command);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->output, "a\n");
    EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1);
    EXPECT_EQ(::fcntl(STDOUT_FILENO, F_GETFD), -1);
}

// FAULTS F7.
TEST(Command, AHundredRunsLeaveNoDescriptorAndNoProcess) {
    const auto before = test::open_descriptors();
    Command command;
    for (int i = 0; i < 25; i++) {
        EXPECT_EQ(run(command, "echo a").output, "a\n");
        EXPECT_EQ(run(command, "exit 1").status, 1);
        EXPECT_EQ(run(command, "yes").end, End::kTooLong);
        EXPECT_EQ(run(command, "sleep 1000", 1ms).end, End::kTimedOut);
    }
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
}

TEST(Command, IsKilledWithItsObject) {
    const auto before = test::open_descriptors();
    for (const char *text : {"sleep 1000", "yes", "true", "echo a; exec >&-; sleep 1000"}) {
        Command command;
        command.start(text, 60s);
        std::this_thread::sleep_for(20ms);
    }
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Command, AtOnceGoOnSideBySide) {
    Command slow, quick;
    slow.start("sleep 1000", 60s);
    EXPECT_FALSE(slow.step());
    EXPECT_EQ(run(quick, "echo a").output, "a\n");
    EXPECT_TRUE(slow.running());
    slow.start("echo never", 60s);
    EXPECT_FALSE(slow.step()) << "one at a time";
}

// FAULTS F7.
TEST(AnswerOf, WhatFailedNamesNoDeviceWhateverItPrinted) {
    const struct {
        CommandResult result;
        const char *reason;
        Answer::Kind kind;
    } cases[] = {
        {{End::kExited, 0, ""}, "its command names no device", Answer::Kind::kSaid},
        {{End::kExited, 3, "net_null0\n"}, "its command ended with status 3", Answer::Kind::kFailed},
        {{End::kExited, 0, "a b\n"}, "\"a b\": ", Answer::Kind::kBroken},
        {{End::kKilled, 0, "net_null0\n"}, "its command was killed", Answer::Kind::kBroken},
        {{End::kTimedOut, 0, "net_null0\n"}, "its command took longer than 250 ms", Answer::Kind::kBroken},
        {{End::kTooLong, 0, "net_null0\n"}, "its command printed more than 4096 bytes", Answer::Kind::kBroken},
        {{End::kNotStarted, E2BIG, ""}, "its command cannot be started: Argument list too long", Answer::Kind::kBroken},
    };
    for (const auto &c : cases) {
        const Answer answer = answer_of(c.result, 250ms);
        EXPECT_EQ(answer.devargs, "");
        EXPECT_THAT(answer.reason, StartsWith(c.reason));
        EXPECT_EQ(answer.kind, c.kind) << c.reason;
    }
    EXPECT_EQ(answer_of({End::kExited, 0, "net_null0\n"}, 250ms).devargs, "net_null0");
}

} // namespace
} // namespace holdfast
