// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "base/ids.h"
#include "port/host.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {

class VirtualPort;

/// The Holdfast ports of the process, and which threads are at work on each: a port's owner can wait until none is, or
/// leave the object to the last of them. The mutex is held for look-ups only, never while anybody works on a port.
class Registry {
    struct Entry {
        VirtualPort *port;
        PortId id;
        std::vector<std::thread::id> users;
        bool listed = true;       ///< may it be found?
        bool handed_over = false; ///< its owner left it to take_gone()
    };

  public:
    /// Keeps a port from going, for one scope.
    class Pin {
      public:
        Pin() = default;
        Pin(Pin &&other) noexcept
            : registry_(std::exchange(other.registry_, nullptr)), entry_(std::exchange(other.entry_, nullptr)) {}
        Pin &operator=(Pin &&) = delete;
        ~Pin() {
            if (entry_ != nullptr)
                registry_->leave(*entry_);
        }
        explicit operator bool() const noexcept { return entry_ != nullptr; }
        VirtualPort &operator*() const noexcept { return *entry_->port; }
        VirtualPort *operator->() const noexcept { return entry_->port; }

      private:
        friend class Registry;
        Pin(Registry &registry, Entry &entry) noexcept : registry_(&registry), entry_(&entry) {}
        Registry *registry_ = nullptr;
        Entry *entry_ = nullptr;
    };

    /// `host` is woken when take_gone() has something.
    explicit Registry(Host &host) noexcept : host_(host) {}

    void add(VirtualPort &port);
    /// Nobody finds the port any more. Waits until no other thread is at work on it; with kBriefly only for a moment,
    /// for the caller may hold the bus's lock that such a thread is waiting for.
    void remove(VirtualPort &port, abi::Wait wait);
    /// After remove(), when the caller needs the port no more. True: a thread is still at work on it, and it goes to
    /// take_gone() after that. False: the caller deletes it.
    bool hand_over(VirtualPort &port);

    /// Empty: no such port.
    [[nodiscard]] Pin pin(PortId id);
    [[nodiscard]] std::vector<PortId> ids();
    /// The ports that were handed over and are free now.
    [[nodiscard]] std::vector<VirtualPort *> take_gone();

  private:
    std::list<Entry>::iterator find(const VirtualPort &port);
    void leave(Entry &entry) noexcept;

    Host &host_;
    std::mutex mutex_;
    std::condition_variable left_; ///< a thread left a port
    std::list<Entry> entries_;
};

} // namespace holdfast
