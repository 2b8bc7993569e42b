// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/command.h"

#include "base/descriptor.h"
#include "port/answer.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// How soon to ask again whether a process that has ended can be waited for.
constexpr std::chrono::milliseconds kReapAgain = 10ms;
/// How long a destructor waits for what it killed.
constexpr std::chrono::milliseconds kLastWait = 1s;
/// Where the shell finds the pipe for the exit status. The command itself does not get it.
constexpr int kStatusInShell = 3;
/// $1 is the command. A subshell, so that "exit" and "exec" in it end there; the blank in front keeps a command that
/// begins with "-" from being taken for an option.
constexpr const char *kScript = "(c=$1; shift; eval \" $c\") 3>&-; echo $? >&3";

struct Pipe {
    Descriptor read;
    Descriptor write;
};

/// The end that is ours does not block; the other one is the command's, and commands do not expect that.
int make_pipe(Pipe &out) noexcept {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0)
        return errno;
    out.read = Descriptor::aside(Descriptor(fds[0]));
    out.write = Descriptor::aside(Descriptor(fds[1]));
    if (!out.read.open() || !out.write.open() || ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK) != 0)
        return errno;
    return 0;
}

class SpawnActions {
  public:
    SpawnActions() noexcept : rc_(::posix_spawn_file_actions_init(&actions_)) {}
    ~SpawnActions() { (void)::posix_spawn_file_actions_destroy(&actions_); }
    SpawnActions(const SpawnActions &) = delete;
    SpawnActions &operator=(const SpawnActions &) = delete;

    int set(int output, int status) noexcept {
        if (rc_ == 0)
            rc_ = ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
        if (rc_ == 0)
            rc_ = ::posix_spawn_file_actions_adddup2(&actions_, status, kStatusInShell);
        if (rc_ == 0)
            rc_ = ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        // Not every descriptor of the application's is close-on-exec.
        if (rc_ == 0)
            rc_ = ::posix_spawn_file_actions_addclosefrom_np(&actions_, kStatusInShell + 1);
        return rc_;
    }
    [[nodiscard]] const posix_spawn_file_actions_t *get() const noexcept { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
    int rc_;
};

class SpawnAttributes {
  public:
    SpawnAttributes() noexcept : rc_(::posix_spawnattr_init(&attributes_)) {}
    ~SpawnAttributes() { (void)::posix_spawnattr_destroy(&attributes_); }
    SpawnAttributes(const SpawnAttributes &) = delete;
    SpawnAttributes &operator=(const SpawnAttributes &) = delete;

    /// A group of its own, and signals as a new process expects them: ours is a thread that blocks them all.
    int set() noexcept {
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        if (rc_ == 0)
            rc_ = ::posix_spawnattr_setpgroup(&attributes_, 0);
        if (rc_ == 0)
            rc_ = ::posix_spawnattr_setsigmask(&attributes_, &none);
        if (rc_ == 0)
            rc_ = ::posix_spawnattr_setsigdefault(&attributes_, &all);
        if (rc_ == 0)
            rc_ = ::posix_spawnattr_setflags(&attributes_,
                                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        return rc_;
    }
    [[nodiscard]] const posix_spawnattr_t *get() const noexcept { return &attributes_; }

  private:
    posix_spawnattr_t attributes_{};
    int rc_;
};

/// read() that is not interrupted. 0: the end; -1: nothing there now.
ssize_t read_some(int fd, char *to, std::size_t size) noexcept {
    for (;;) {
        const ssize_t n = ::read(fd, to, size);
        if (n >= 0)
            return n;
        if (errno == EAGAIN)
            return -1;
        if (errno != EINTR)
            return 0;
    }
}

} // namespace

Answer answer_of(const CommandResult &result, std::chrono::milliseconds limit) {
    using Kind = Answer::Kind;
    using End = CommandResult::End;
    const auto without = [](std::string reason, Kind kind) {
        return Answer{.devargs = {}, .reason = "its command " + std::move(reason), .kind = kind};
    };
    switch (result.end) {
    case End::kExited:
        if (result.status != 0)
            return without("ended with status " + std::to_string(result.status), Kind::kFailed);
        return answer_of_command(result.output);
    case End::kKilled:
        return without("was killed", Kind::kBroken);
    case End::kTimedOut:
        return without("took longer than " + std::to_string(limit.count()) + " ms and was killed", Kind::kBroken);
    case End::kTooLong:
        return without("printed more than " + std::to_string(kLongestAnswer) + " bytes and was killed", Kind::kBroken);
    case End::kNotStarted:
        break;
    }
    return without("cannot be started: " + std::generic_category().message(result.status), Kind::kBroken);
}

Command::~Command() {
    if (running_)
        kill_group();
    const auto until = Clock::now() + kLastWait;
    while (!reap() && Clock::now() < until)
        std::this_thread::sleep_for(1ms);
}

int Command::spawn(const std::string &command) {
    Pipe output;
    Pipe status;
    if (const int rc = make_pipe(output); rc != 0)
        return rc;
    if (const int rc = make_pipe(status); rc != 0)
        return rc;
    SpawnActions actions;
    if (const int rc = actions.set(output.write.get(), status.write.get()); rc != 0)
        return rc;
    SpawnAttributes attributes;
    if (const int rc = attributes.set(); rc != 0)
        return rc;
    // posix_spawn() only reads them.
    const std::array<char *, 6> arguments{const_cast<char *>("sh"),
                                          const_cast<char *>("-c"),
                                          const_cast<char *>(kScript),
                                          const_cast<char *>("sh"),
                                          const_cast<char *>(command.c_str()),
                                          nullptr};
    pid_t pid = -1;
    if (const int rc = ::posix_spawn(&pid, "/bin/sh", actions.get(), attributes.get(), arguments.data(), ::environ);
        rc != 0)
        return rc;
    pid_ = pid;
    output_ = std::move(output.read);
    status_ = std::move(status.read);
    return 0;
}

void Command::start(const std::string &command, std::chrono::milliseconds limit) {
    if (!idle())
        return;
    running_ = true;
    result_ = {};
    status_text_.clear();
    const auto now = Clock::now();
    limit_ = now + limit;
    due_ = limit_;
    if (const int rc = spawn(command); rc != 0) {
        result_ = {.end = CommandResult::End::kNotStarted, .status = rc, .output = {}};
        due_ = now;
    }
}

bool Command::read_status() {
    std::array<char, 16> part{};
    const ssize_t n = read_some(status_.get(), part.data(), part.size());
    if (n < 0)
        return false;
    status_text_.append(part.data(), static_cast<std::size_t>(n));
    if (n > 0 && status_text_.back() != '\n')
        return false;
    const char *end = status_text_.data() + status_text_.size();
    const auto [stop, ec] = std::from_chars(status_text_.data(), end, result_.status);
    result_.end = ec == std::errc{} ? CommandResult::End::kExited : CommandResult::End::kKilled;
    return true;
}

bool Command::read_output() {
    std::array<char, 1024> part{};
    while (output_.open()) {
        const ssize_t n = read_some(output_.get(), part.data(), part.size());
        if (n < 0)
            break;
        if (n == 0)
            output_.reset(); // it may run on all the same
        result_.output.append(part.data(), static_cast<std::size_t>(n));
        if (result_.output.size() > kLongestAnswer)
            return false;
    }
    return true;
}

void Command::end(CommandResult::End how) noexcept {
    running_ = false;
    result_.end = how;
    output_.reset();
    status_.reset();
    (void)reap();
}

void Command::kill_group() const noexcept {
    // The shell holds its end of the status pipe, so it is alive, and the number of its group is its own.
    if (pid_ > 0)
        (void)::kill(-pid_, SIGKILL);
}

bool Command::reap() noexcept {
    due_ = Clock::time_point::max();
    if (pid_ < 0)
        return true;
    const pid_t rc = ::waitpid(pid_, nullptr, WNOHANG);
    if (rc == pid_ || (rc < 0 && errno == ECHILD)) { // ECHILD: somebody else, or the kernel, was faster
        pid_ = -1;
        return true;
    }
    due_ = Clock::now() + kReapAgain;
    return false;
}

std::optional<CommandResult> Command::step() {
    if (!running_) {
        (void)reap();
        return {};
    }
    if (result_.end == CommandResult::End::kNotStarted) {
        end(result_.end);
        return std::move(result_);
    }
    // In this order: what a command printed is there before it has ended.
    const bool ended = read_status();
    if (!read_output()) {
        kill_group();
        end(CommandResult::End::kTooLong);
        return std::move(result_);
    }
    if (ended) {
        if (result_.end == CommandResult::End::kKilled)
            kill_group(); // the shell is gone, but what it ran may live
        end(result_.end);
        return std::move(result_);
    }
    if (Clock::now() >= limit_) {
        kill_group();
        end(CommandResult::End::kTimedOut);
        return std::move(result_);
    }
    return {};
}

} // namespace holdfast
