// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/sources.h"

#include "abi/log.h"
#include "base/result.h"
#include "hotplug/binding.h"
#include "hotplug/command.h"
#include "hotplug/line_reader.h"
#include "hotplug/match.h"
#include "hotplug/thread.h"
#include "hotplug/udev.h"
#include "port/answer.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/host.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <poll.h>

namespace holdfast {
namespace {

constexpr std::size_t kLongestName = 40;

/// A command for a log: short, and on one line.
std::string shortened(std::string_view command) {
    std::string out;
    for (const char c : command.substr(0, kLongestName))
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    return command.size() > kLongestName ? out + "..." : out;
}

} // namespace

/// One source. Members below `owner_` are under its mutex.
class Sources::Entry : public DeviceSource {
  public:
    Entry(Sources &owner, std::string name) : owner_(owner), name_(std::move(name)) {}

    [[nodiscard]] const std::string &name() const noexcept override { return name_; }
    void ask() override {
        {
            const std::lock_guard held(owner_.mutex_);
            answer_.reset();
            asked_ = true;
        }
        owner_.loop_.wake();
    }
    std::optional<Answer> answer() override {
        const std::lock_guard held(owner_.mutex_);
        return answer_;
    }
    void wait(Clock::time_point until) override {
        std::unique_lock held(owner_.mutex_);
        owner_.answered_.wait_until(held, until, [&] { return answer_.has_value(); });
    }
    bool has_news() override {
        const std::lock_guard held(owner_.mutex_);
        return std::exchange(news_, false);
    }

    // ---- with the mutex held
    virtual void add_to(std::vector<pollfd> &fds) const = 0;
    virtual Clock::time_point step() = 0;
    virtual void stop() {}
    virtual void changed(const Device &) {}
    virtual void changed_all() {}

  protected:
    [[nodiscard]] std::mutex &mutex() const noexcept { return owner_.mutex_; }
    [[nodiscard]] bool asked() const noexcept { return asked_; }
    void give(Answer answer) {
        answer_ = std::move(answer);
        asked_ = false;
        news_ = false;
        owner_.answered_.notify_all();
        owner_.host_.wake();
    }
    /// It has something new to say, and nobody asked.
    void report() {
        news_ = true;
        owner_.host_.wake();
    }
    /// The loop comes here no more. For the destructors of those who derive, for it uses their members.
    void leave() noexcept {
        const std::lock_guard held(owner_.mutex_);
        std::erase(owner_.entries_, this);
    }

  private:
    Sources &owner_;
    const std::string name_;
    bool asked_ = false;
    bool news_ = false;
    std::optional<Answer> answer_;
};

class Sources::CommandEntry final : public Entry {
  public:
    CommandEntry(Sources &owner, std::string command, std::chrono::milliseconds limit)
        : Entry(owner, "exec(" + shortened(command) + ")"), text_(std::move(command)), limit_(limit) {}
    ~CommandEntry() override { leave(); }

    void add_to(std::vector<pollfd> &fds) const override {
        for (const int fd : command_->descriptors())
            fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    Clock::time_point step() override {
        if (const std::optional<CommandResult> result = command_->step())
            give(answer_of(*result, limit_));
        if (asked() && command_->idle())
            command_->start(text_, limit_);
        return command_->due();
    }
    void stop() override { command_ = std::make_unique<Command>(); }

  private:
    const std::string text_;
    const std::chrono::milliseconds limit_;
    std::unique_ptr<Command> command_ = std::make_unique<Command>();
};

class Sources::DescriptorEntry final : public Entry {
  public:
    DescriptorEntry(Sources &owner, int fd, LineReader reader)
        : Entry(owner, "fd(" + std::to_string(fd) + ")"), reader_(std::move(reader)) {}
    ~DescriptorEntry() override { leave(); }

    void add_to(std::vector<pollfd> &fds) const override {
        fds.push_back({.fd = reader_.descriptor(), .events = POLLIN, .revents = 0});
    }
    Clock::time_point step() override {
        if (asked() || reader_.descriptor() >= 0 || reader_.due() <= Clock::now())
            reader_.look();
        if (reader_.unfinished())
            return reader_.due();
        Answer now = reader_.answer();
        if (asked()) {
            said_ = now;
            give(std::move(now));
        } else if (said_ && *said_ != now) {
            said_ = std::move(now);
            report();
        }
        return reader_.due();
    }

  private:
    LineReader reader_;
    std::optional<Answer> said_;
};

/// Looks when it is asked, at all devices. Between, each device that changes is looked at alone.
class Sources::UdevEntry final : public Entry {
  public:
    UdevEntry(Sources &owner, const UdevSource &source)
        : Entry(owner, "udev(" + shortened(to_text(source.matches)) + ")"), source_(source), catalog_(owner.catalog_),
          in_use_(owner.in_use_) {}
    ~UdevEntry() override { leave(); }

    void pair_with(const MacAddress &mac) override {
        const std::lock_guard held(mutex());
        port_mac_ = mac;
    }
    bool taken() override {
        const std::lock_guard held(mutex());
        if (choice_.answer.devargs.empty())
            return false;
        passed_by_.push_back(choice_.path);
        return true;
    }

    bool prepare(std::shared_ptr<void> &lease, std::string &why) override {
        if (source_.driver.empty())
            return true;
        std::string pci;
        {
            const std::lock_guard held(mutex());
            pci = choice_.pci;
        }
        std::shared_ptr<Binding> binding = binding_.lock(); // there may be one to go on with
        if (binding == nullptr)
            binding_ = binding = std::make_shared<Binding>();
        if (!binding->bind(pci, source_.driver, source_.force_bind, why).ok())
            return false;
        lease = binding;
        return true;
    }

    void add_to(std::vector<pollfd> &) const override {}
    Clock::time_point step() override {
        if (!asked())
            return Clock::time_point::max();
        // The port gives its MAC address to its sub-devices, so they match what one of them is known by.
        choice_ = choose(catalog_.all(), source_, port_mac_, [this](const Device &device) {
            return std::find(passed_by_.begin(), passed_by_.end(), device.path()) != passed_by_.end() ||
                   in_use_(device);
        });
        if (choice_.answer.devargs.empty())
            passed_by_.clear(); // next time they may be free
        if (choice_.others > 0 && !std::exchange(said_ambiguous_, true))
            HOLDFAST_LOG(NOTICE, "%s: more devices match (%u); the first by path is taken: %s", name().c_str(),
                         choice_.others, choice_.path.c_str());
        give(choice_.answer);
        return Clock::time_point::max();
    }
    void changed(const Device &device) override {
        if (matches(device, source_.matches, port_mac_))
            report();
    }
    void changed_all() override { report(); }

  private:
    const UdevSource source_;
    Catalog &catalog_;
    const std::function<bool(const Device &)> &in_use_;
    std::optional<MacAddress> port_mac_;
    Choice choice_;
    std::vector<std::string> passed_by_; ///< devices that belong to other ports
    std::weak_ptr<Binding> binding_;     ///< prepare()'s alone
    bool said_ambiguous_ = false;
};

Status Sources::make(const Source &source, std::chrono::milliseconds limit, std::unique_ptr<DeviceSource> &out) {
    std::unique_ptr<Entry> made;
    if (const auto *command = std::get_if<CommandSource>(&source)) {
        made = std::make_unique<CommandEntry>(*this, command->command, limit);
    } else if (const auto *udev = std::get_if<UdevSource>(&source)) {
        made = std::make_unique<UdevEntry>(*this, *udev);
    } else if (const auto *descriptor = std::get_if<DescriptorSource>(&source)) {
        LineReader reader;
        if (const int rc = reader.open(descriptor->fd); rc != 0)
            return {rc, "read a descriptor"};
        made = std::make_unique<DescriptorEntry>(*this, descriptor->fd, std::move(reader));
    }
    if (made != nullptr) {
        const std::lock_guard held(mutex_);
        entries_.push_back(made.get());
    }
    out = std::move(made);
    return {};
}

void Sources::add_to(std::vector<pollfd> &fds) {
    const std::lock_guard held(mutex_);
    for (const Entry *entry : entries_)
        entry->add_to(fds);
}

Clock::time_point Sources::step() {
    const std::lock_guard held(mutex_);
    auto next = Clock::time_point::max();
    for (Entry *entry : entries_)
        next = std::min(next, entry->step());
    return next;
}

void Sources::changed(const Device &device) {
    const std::lock_guard held(mutex_);
    for (Entry *entry : entries_)
        entry->changed(device);
}

void Sources::changed_all() {
    const std::lock_guard held(mutex_);
    for (Entry *entry : entries_)
        entry->changed_all();
}

void Sources::stop() {
    const std::lock_guard held(mutex_);
    for (Entry *entry : entries_)
        entry->stop();
}

} // namespace holdfast
