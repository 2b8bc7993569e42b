// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/device.h"

#include "abi/log.h"
#include "mayfly/wait.h"

#include <ethdev_driver.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>

namespace holdfast::mayfly {
namespace {

/// Nested and parallel raisings of one device; more than a drill ever needs, and no allocation while raising.
constexpr std::size_t kMostBorrowers = 64;

constexpr std::chrono::seconds kPatience{10};

struct Registry {
    Mutex mutex;
    std::map<std::string, Device *, std::less<>> by_name HOLDFAST_TSA(guarded_by(mutex));
};

Registry &registry() {
    static Registry *const only = new Registry; // its devices outlive every port, thread and script
    return *only;
}

} // namespace

Device *find_device(std::string_view name) {
    if (!name.starts_with("net_mayfly") || name.size() >= RTE_ETH_NAME_MAX_LEN)
        return nullptr;
    Registry &known = registry();
    const Locked held(known.mutex);
    const auto at = known.by_name.find(name);
    if (at != known.by_name.end())
        return at->second;
    auto device = std::make_unique<Device>(std::string(name), static_cast<std::uint32_t>(known.by_name.size() + 1));
    known.by_name.emplace(device->name, device.get());
    return device.release();
}

std::vector<Device *> all_devices() {
    Registry &known = registry();
    std::vector<Device *> devices;
    {
        const Locked held(known.mutex);
        for (const auto &[name, device] : known.by_name)
            devices.push_back(device);
    }
    std::sort(devices.begin(), devices.end(), [](const Device *a, const Device *b) { return a->id < b->id; });
    return devices;
}

Device::Device(std::string its_name, std::uint32_t its_id) : name(std::move(its_name)), id(its_id) {
    borrowers_.reserve(kMostBorrowers);
}

std::uint32_t Device::begin_life(rte_eth_dev &port, const Settings &initial, bool lsc, bool rmv) {
    const Locked held(mutex_);
    if (presence_ != Presence::kPlugged)
        return 0;
    port_ = &port;
    settings_ = initial;
    lsc_ = lsc;
    rmv_ = rmv;
    rmv_raised_ = false;
    lives_++;
    health_.store(Health::kGood, std::memory_order_release); // pairs: health (Device::health)
    // pairs: live (Device::alive).
    live_.store(lives_, std::memory_order_release);
    count(Count::kLives);
    return lives_;
}

void Device::end_life() noexcept {
    const Locked held(mutex_);
    live_.store(0, std::memory_order_release); // pairs: live (Device::alive)
    port_ = nullptr;
    wait_for_borrowers();
    if (presence_ == Presence::kLeaving)
        presence_ = Presence::kUnplugged;
    count(Count::kCloses);
}

void Device::wait_for_borrowers() noexcept {
    // A callback may close the port it is told about: its own raising is not waited for.
    const auto others = [this]() HOLDFAST_TSA(requires_capability(mutex_)) {
        const auto self = std::this_thread::get_id();
        return std::any_of(borrowers_.begin(), borrowers_.end(),
                           [&](const std::thread::id &thread) { return thread != self; });
    };
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (others()) {
        if (returned_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
            HOLDFAST_LOG(ERR, "%s: closes while an event callback has been running for 10 s", name.c_str());
            count(Count::kTrespasses);
            return;
        }
    }
}

rte_eth_dev *Device::borrow() noexcept {
    const Locked held(mutex_);
    if (port_ == nullptr || borrowers_.size() == kMostBorrowers)
        return nullptr;
    borrowers_.push_back(std::this_thread::get_id());
    return port_;
}

void Device::give_back() noexcept {
    {
        const Locked held(mutex_);
        borrowers_.erase(std::find(borrowers_.begin(), borrowers_.end(), std::this_thread::get_id()));
    }
    returned_.notify_all();
}

int Device::enter(Op op) noexcept {
    faults.count(op);
    return faults.armed(op) ? disturb(op) : 0;
}

int Device::disturb(Op op) noexcept {
    const Ambush ambush = faults.take(op);
    for (int event = 0; ambush.events >> event != 0; event++)
        if ((ambush.events >> event & 1) != 0)
            (void)raise(event);
    if (ambush.unplug)
        (void)unplug();
    if (traits(op).fast)
        linger(ambush.delay_us);
    else
        nap(ambush.delay_us);
    return faults.take_failure(op);
}

void Device::open_inbox(std::uint16_t queue, std::uint32_t life, std::uint32_t limit) {
    Inbox &inbox = inboxes[queue];
    const Locked held(mutex_);
    if (!inbox.ring)
        inbox.ring = std::make_unique<Inbox::Ring>();
    inbox.limit = limit;
    if (alive(life)) // else unplug() has closed the gates for good
        inbox.gate.open();
}

void Device::close_inbox(std::uint16_t queue) noexcept {
    Inbox &inbox = inboxes[queue];
    inbox.gate.close();
    if (!wait_until([&] { return !inbox.writer.busy() && !inbox.reader.busy(); }, kPatience)) {
        HOLDFAST_LOG(ERR, "%s: somebody has been inside the ring of queue %u for 10 s", name.c_str(), queue);
        count(Count::kTrespasses);
        return;
    }
    if (!inbox.ring)
        return;
    rte_mbuf *left[64];
    while (const std::uint32_t n = inbox.ring->pop(left, 64)) {
        rte_pktmbuf_free_bulk(left, n);
        count(Count::kDrained, n);
    }
}

bool Device::claim_inboxes(const Device &writer) {
    const Locked held(mutex_);
    if (writer_ != nullptr && writer_ != &writer)
        return false;
    writer_ = &writer;
    return true;
}

void Device::unclaim_inboxes(const Device &writer) noexcept {
    const Locked held(mutex_);
    if (writer_ == &writer)
        writer_ = nullptr;
}

int Device::hardware(std::uint32_t life, Op op) const noexcept {
    if (!alive(life))
        return -EIO;
    switch (health()) {
    case Health::kGood:
        return 0;
    case Health::kRecovering:
        return -EBUSY;
    case Health::kHung:
        return op == Op::kReset ? 0 : -EIO;
    case Health::kFailed:
        break;
    }
    return -EIO;
}

int Device::hang_bells(std::uint16_t queues, Doorbell::Kind kind) {
    const Locked held(mutex_);
    int rc = 0;
    for (std::uint16_t i = 0; i < kMostQueues; i++) {
        if (i < queues && rc == 0)
            rc = bells[i].open(kind);
        else
            bells[i].close();
        inboxes[i].bell = i < queues && rc == 0 ? &bells[i] : nullptr;
    }
    return rc;
}

void Device::ring_all() noexcept {
    const Locked held(mutex_); // so that none is closed meanwhile
    for (Doorbell &bell : bells)
        if (bell.is_open())
            bell.ring();
}

void Device::share_hardware(const Ports &ports) noexcept {
    const Locked held(mutex_);
    ports_ = ports;
}

Device::Ports Device::hardware() const noexcept {
    const Locked held(mutex_);
    return ports_;
}

Device::Ports Device::each_port(bool (Device::*become)() noexcept) noexcept {
    Ports ports = hardware();
    const auto end =
        std::remove_if(ports.begin(), ports.end(), [&](Device *port) { return port == nullptr || !(port->*become)(); });
    std::fill(end, ports.end(), nullptr);
    return ports;
}

Device::Presence Device::presence() const noexcept {
    const Locked held(mutex_);
    return presence_;
}

bool Device::has_port() const noexcept {
    const Locked held(mutex_);
    return port_ != nullptr;
}

int Device::port_id() const noexcept {
    const Locked held(mutex_);
    return port_ == nullptr ? -ENODEV : port_->data->port_id;
}

std::uint64_t Device::calls(Op op) const noexcept {
    std::uint64_t sum = faults.calls(op);
    if (op == Op::kRxBurst || op == Op::kTxBurst)
        for (const QueueCounts &queue : op == Op::kRxBurst ? rx : tx)
            sum += QueueCounts::read(queue.calls);
    return sum;
}

bool Device::new_script(const std::string &text) {
    const Locked held(mutex_);
    if (script_ == text)
        return false;
    script_ = text;
    return true;
}

} // namespace holdfast::mayfly
