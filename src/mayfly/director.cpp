// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/director.h"

#include "abi/log.h"

#include <algorithm>
#include <new>

namespace holdfast::mayfly {
namespace {
constexpr std::chrono::seconds kFarewell{2};
}

Director &director() {
    static Director *const only = new Director;
    return *only;
}

int Director::start_thread() {
    if (running_)
        return 0;
    stop_ = false;
    ended_ = false;
    // A control thread in EAL's sense: it stays away from the lcores.
    if (const int rc = rte_thread_create_control(&thread_, "mayfly", &Director::main, this); rc != 0)
        return rc > 0 ? -rc : rc;
    running_ = true;
    return 0;
}

int Director::post(Device &device, const Command &command) {
    const Locked held(mutex_);
    if (const int rc = start_thread(); rc != 0)
        return rc;
    tasks_.emplace(Clock::now(), Task{&device, command, false});
    changed_.notify_all();
    return 0;
}

int Director::play(Device &device, const std::vector<Step> &steps) {
    const Locked held(mutex_);
    if (const int rc = start_thread(); rc != 0)
        return rc;
    std::erase_if(tasks_, [&](const auto &task) { return task.second.scripted && task.second.device == &device; });
    const auto now = Clock::now();
    for (const Step &step : steps)
        tasks_.emplace(now + step.at, Task{&device, step.command, true});
    changed_.notify_all();
    return 0;
}

bool Director::busy_with(const Device &device) const {
    return current_ == &device || std::any_of(tasks_.begin(), tasks_.end(), [&](const auto &task) {
               return task.second.device == &device && !task.second.scripted;
           });
}

bool Director::wait(const Device &device, std::chrono::milliseconds patience) {
    const Locked held(mutex_);
    const auto deadline = Clock::now() + patience;
    while (busy_with(device))
        if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout)
            return !busy_with(device);
    return true;
}

void Director::stop() noexcept {
    rte_thread_t thread = {};
    bool ended = false;
    {
        const Locked held(mutex_);
        if (!running_)
            return;
        running_ = false;
        stop_ = true;
        thread = thread_;
        changed_.notify_all();
        // exit() called by an event callback runs in the thread itself, which cannot wait for its own end.
        const auto deadline = Clock::now() + kFarewell;
        while (!ended_ && rte_thread_equal(thread, rte_thread_self()) == 0)
            if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout)
                break;
        ended = ended_;
    }
    if (ended)
        (void)rte_thread_join(thread, nullptr);
    else
        (void)rte_thread_detach(thread);
}

std::uint32_t Director::main(void *self) noexcept {
    static_cast<Director *>(self)->run();
    return 0;
}

void Director::run() noexcept {
    mutex_.lock();
    while (!stop_) {
        if (tasks_.empty()) {
            changed_.wait(mutex_);
            continue;
        }
        const auto due = tasks_.begin()->first;
        if (due > Clock::now()) {
            changed_.wait_until(mutex_, due);
            continue;
        }
        const Task task = tasks_.begin()->second;
        tasks_.erase(tasks_.begin());
        current_ = task.scripted ? nullptr : task.device;
        mutex_.unlock();
        if (const Status s = task.device->execute(task.command); !s.ok())
            HOLDFAST_LOG(INFO, "%s: cannot %s", task.device->name.c_str(), s.what());
        mutex_.lock();
        current_ = nullptr;
        changed_.notify_all();
    }
    ended_ = true;
    changed_.notify_all();
    mutex_.unlock();
}

} // namespace holdfast::mayfly
