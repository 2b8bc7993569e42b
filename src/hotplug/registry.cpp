// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/registry.h"

#include "base/ids.h"
#include "port/virtual_port.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds kBrief{500};

} // namespace

void Registry::add(VirtualPort &port) {
    const std::lock_guard held(mutex_);
    entries_.push_back({.port = &port, .id = port.id(), .users = {}});
}

std::list<Registry::Entry>::iterator Registry::find(const VirtualPort &port) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry &e) { return e.port == &port; });
}

void Registry::remove(VirtualPort &port, abi::Wait wait) {
    std::unique_lock held(mutex_);
    const auto entry = find(port);
    if (entry == entries_.end())
        return; // it failed before it was added
    entry->listed = false;
    // The application may close the port in a callback that we called: that thread cannot wait for itself.
    const auto done = [&, self = std::this_thread::get_id()] {
        return std::all_of(entry->users.begin(), entry->users.end(), [&](std::thread::id id) { return id == self; });
    };
    if (wait == abi::Wait::kForever)
        left_.wait(held, done);
    else
        left_.wait_for(held, kBrief, done);
}

bool Registry::hand_over(VirtualPort &port) {
    const std::lock_guard held(mutex_);
    const auto entry = find(port);
    if (entry == entries_.end())
        return false;
    entry->handed_over = !entry->users.empty();
    if (entry->handed_over)
        return true;
    entries_.erase(entry);
    return false;
}

Registry::Pin Registry::pin(PortId id) {
    const std::lock_guard held(mutex_);
    for (Entry &entry : entries_)
        if (entry.listed && entry.id == id) {
            entry.users.push_back(std::this_thread::get_id());
            return {*this, entry};
        }
    return {};
}

std::vector<PortId> Registry::ids() {
    const std::lock_guard held(mutex_);
    std::vector<PortId> out;
    for (const Entry &entry : entries_)
        if (entry.listed)
            out.push_back(entry.id);
    return out;
}

std::vector<VirtualPort *> Registry::take_gone() {
    const std::lock_guard held(mutex_);
    std::vector<VirtualPort *> out;
    for (const Entry &entry : entries_)
        if (entry.handed_over && entry.users.empty())
            out.push_back(entry.port);
    std::erase_if(entries_, [](const Entry &entry) { return entry.handed_over && entry.users.empty(); });
    return out;
}

void Registry::leave(Entry &entry) noexcept {
    {
        const std::lock_guard held(mutex_);
        entry.users.erase(std::find(entry.users.begin(), entry.users.end(), std::this_thread::get_id()));
        if (entry.handed_over && entry.users.empty())
            host_.wake();
    }
    left_.notify_all();
}

} // namespace holdfast
