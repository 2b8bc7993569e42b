// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/mutex.h"
#include "base/result.h"
#include "mayfly/config.h"
#include "mayfly/doorbell.h"
#include "mayfly/faults.h"
#include "mayfly/settings.h"
#include "mayfly/spsc.h"
#include "mayfly/steering.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct rte_eth_dev;

namespace holdfast::mayfly {

/// Counts of one queue number over all lives, one line, written by the lcore of that queue only. They lie outside the
/// queue's own page, so they can be read at any time.
struct alignas(kCacheLine) QueueCounts {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> packets{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> sequence{0}; ///< Rx: number of the next generated packet
    std::atomic<std::uint64_t> no_mbuf{0};  ///< Rx
    std::atomic<std::uint64_t> no_peer{0};  ///< Tx, with the next two: accepted and dropped
    std::atomic<std::uint64_t> dead{0};
    std::atomic<std::uint64_t> no_link{0};

    static void add(std::atomic<std::uint64_t> &counter, std::uint64_t n) noexcept {
        // pairs: counter (its readers): one writer, so no locked instruction is needed.
        counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    static std::uint64_t read(const std::atomic<std::uint64_t> &counter) noexcept {
        return counter.load(std::memory_order_relaxed); // pairs: counter (QueueCounts::add)
    }
};
static_assert(sizeof(QueueCounts) == kCacheLine);

/// Where packets wait for one Rx queue in loop and pair mode. It lives as long as the process, so the writer, which may
/// be another device, needs not know whether the reader's port still exists: it only asks the gate. The reader opens
/// the gate when its queue starts; to stop, it closes it, waits until both ends are out, and frees what is left.
struct Inbox {
    using Ring = Spsc<rte_mbuf, kMostDescriptors>;

    alignas(kCacheLine) Gate gate;
    std::unique_ptr<Ring> ring; ///< written while the gate is closed, then kept
    std::uint32_t limit = 0;    ///< Rx descriptors; written while the gate is closed
    Doorbell *bell = nullptr;   ///< of the reader, if its queue interrupts; written while the gate is closed
    alignas(kCacheLine) Guard writer;
    alignas(kCacheLine) Guard reader;
};

/// A simulated NIC as the world outside of DPDK knows it: by name, also while no port exists. Never destroyed.
///
/// Lock: mutex_, held for a moment only and never while an event is raised or anything of DPDK is called.
class Device {
  public:
    enum class Presence : std::uint8_t { kPlugged, kLeaving, kUnplugged };
    /// Can a device that is there do its work?
    enum class Health : std::uint32_t {
        kGood,
        kRecovering, ///< busy with itself: bursts move nothing, operations answer -EBUSY
        kHung,       ///< wants a reset: bursts move nothing, operations but the reset answer -EIO
        kFailed,     ///< its recovery failed: the same, until it is probed anew
    };
    enum class Count : std::uint8_t {
        kLives,
        kCloses,
        kUnplugs,
        kRmvEvents,
        kLscEvents,
        kTrespasses,
        kLateCalls,
        kDrained
    };
    /// Ports of one device; nullptr behind the last one.
    using Ports = std::array<Device *, kMostPorts>;
    static constexpr std::size_t kCounts = static_cast<std::size_t>(Count::kDrained) + 1;

    Device(std::string name, std::uint32_t id);

    const std::string name;
    const std::uint32_t id;
    Faults faults;
    std::array<QueueCounts, kMostQueues> rx;
    std::array<QueueCounts, kMostQueues> tx;
    std::array<Inbox, kMostQueues> inboxes;
    std::array<Doorbell, kMostQueues> bells;
    Steering steering;
    /// IEEE 1588: is it on, and when the last such packet came and went (free-running clock, 0: none).
    std::atomic<std::uint32_t> timesync{0};
    std::atomic<std::uint64_t> ptp_received{0};
    std::atomic<std::uint64_t> ptp_sent{0};

    /// Is the hardware of this life still there? Any thread, also an lcore.
    [[nodiscard]] bool alive(std::uint32_t life) const noexcept {
        // pairs: live (Device::unplug): what a burst does after this load may come a moment too late, as with real
        // NICs.
        return live_.load(std::memory_order_acquire) == life;
    }
    [[nodiscard]] bool carrier() const noexcept {
        return carrier_.load(std::memory_order_acquire) != 0; // pairs: carrier (Device::set_carrier)
    }

    [[nodiscard]] Health health() const noexcept {
        // pairs: health (Device::set_health): a burst may come a moment too late, as with the removal.
        return health_.load(std::memory_order_acquire);
    }
    /// What an operation has to answer that needs the hardware of this life: 0 when it is there and well.
    [[nodiscard]] int hardware(std::uint32_t life, Op op) const noexcept;

    // --- what a port does ---
    /// A probe. Gives the number of the new life, or 0 when the device is not plugged.
    [[nodiscard]] std::uint32_t begin_life(rte_eth_dev &port, const Settings &initial, bool lsc, bool rmv);
    /// A close: waits until nobody raises an event for the port, but for the calling thread itself.
    void end_life() noexcept;
    /// Every operation but a burst begins here: counts it and springs what is armed. Gives a negative errno or 0.
    [[nodiscard]] int enter(Op op) noexcept;
    /// The same, without counting. Bursts come here when something is armed.
    [[nodiscard]] int disturb(Op op) noexcept;
    /// Opens the inbox of a queue that starts, unless this life is over.
    void open_inbox(std::uint16_t queue, std::uint32_t life, std::uint32_t limit);
    void close_inbox(std::uint16_t queue) noexcept;
    /// Opens the doorbells of the first so many Rx queues; 0 closes all. Their port is stopped.
    [[nodiscard]] int hang_bells(std::uint16_t queues, Doorbell::Kind kind);
    /// Packets may have come to be there without anybody bringing them: wakes all who sleep.
    void ring_all() noexcept;
    /// The reset that a hung device waits for was done.
    void reset_done() noexcept;
    /// Names all ports of the same hardware, this one included.
    void share_hardware(const Ports &ports) noexcept;
    [[nodiscard]] Ports hardware() const noexcept;
    /// Makes `writer` the only one that fills the inboxes. False: another one does already.
    [[nodiscard]] bool claim_inboxes(const Device &writer);
    void unclaim_inboxes(const Device &writer) noexcept;
    /// Runs a change of the settings, or a look at them.
    template <class F> auto settings(F &&f) {
        const Locked held(mutex_);
        return f(settings_);
    }
    void count(Count what, std::uint64_t n = 1) noexcept {
        // pairs: counter (Device::counted).
        counts_[static_cast<std::size_t>(what)].fetch_add(n, std::memory_order_relaxed);
    }

    // --- what can be done to a device ---
    Status unplug() noexcept;
    Status plan_unplug() noexcept;
    Status plug() noexcept;
    Status set_carrier(bool up) noexcept;
    Status raise(int event) noexcept;
    /// It found an error and begins to recover; it ended well or badly. Each raises its event.
    Status begin_recovery() noexcept;
    Status end_recovery(bool well) noexcept;
    /// It hangs and asks for a reset.
    Status ask_for_reset() noexcept;
    Status execute(const Command &command) noexcept;
    /// What execute() does to something that needs no thread: the faults.
    void arm(const Command &command) noexcept;

    // --- what can be seen of it ---
    [[nodiscard]] Presence presence() const noexcept;
    [[nodiscard]] bool has_port() const noexcept;
    [[nodiscard]] int port_id() const noexcept;
    [[nodiscard]] std::uint64_t counted(Count what) const noexcept {
        return counts_[static_cast<std::size_t>(what)].load(
            std::memory_order_relaxed); // pairs: counter (Device::count)
    }
    [[nodiscard]] std::uint64_t calls(Op op) const noexcept;
    /// Runs `f(rte_eth_dev &)` with the port held open. False: there is none.
    template <class F> bool with_port(F &&f) {
        rte_eth_dev *port = borrow();
        if (port == nullptr)
            return false;
        f(*port);
        give_back();
        return true;
    }
    /// Is this the text of the script that runs or ran? If not, it is from now on.
    [[nodiscard]] bool new_script(const std::string &text);

  private:
    [[nodiscard]] rte_eth_dev *borrow() noexcept;
    void give_back() noexcept;
    /// Those ports of this hardware for which `become` says that it is news.
    [[nodiscard]] Ports each_port(bool (Device::*become)() noexcept) noexcept;
    [[nodiscard]] bool become_unplugged() noexcept;
    [[nodiscard]] bool become_leaving() noexcept;
    [[nodiscard]] bool become_plugged() noexcept;
    [[nodiscard]] Status set_health(Health from, Health to, const char *what) noexcept;
    [[nodiscard]] bool take_rmv() noexcept;
    void raise_rmv() noexcept;
    void wait_for_borrowers() noexcept HOLDFAST_TSA(requires_capability(mutex_));

    std::atomic<std::uint32_t> live_{0};
    std::atomic<std::uint32_t> carrier_{1};
    std::atomic<Health> health_{Health::kGood};
    std::array<std::atomic<std::uint64_t>, kCounts> counts_{};

    mutable Mutex mutex_;
    std::condition_variable_any returned_;
    Presence presence_ HOLDFAST_TSA(guarded_by(mutex_)) = Presence::kPlugged;
    Settings settings_ HOLDFAST_TSA(guarded_by(mutex_));
    std::string script_ HOLDFAST_TSA(guarded_by(mutex_));
    Ports ports_ HOLDFAST_TSA(guarded_by(mutex_)){this}; ///< of the same hardware
    rte_eth_dev *port_ HOLDFAST_TSA(guarded_by(mutex_)) = nullptr;
    std::vector<std::thread::id> borrowers_ HOLDFAST_TSA(guarded_by(mutex_));
    std::uint32_t lives_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;
    bool lsc_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    bool rmv_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    bool rmv_raised_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    const Device *writer_ HOLDFAST_TSA(guarded_by(mutex_)) = nullptr;
};

/// Finds or makes the device of a name. nullptr: not a mayfly's name.
[[nodiscard]] Device *find_device(std::string_view name);
/// All devices ever named, in order of their ids.
[[nodiscard]] std::vector<Device *> all_devices();

} // namespace holdfast::mayfly
