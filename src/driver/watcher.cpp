// SPDX-License-Identifier: BSD-3-Clause
#include "driver/watcher.h"

#include "abi/log.h"
#include "abi/stale.h"
#include "base/ids.h"
#include "driver/onlooker.h"
#include "port/bell.h"
#include "port/shared.h"

#include <ethdev_driver.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr auto kAfterAttach = 1s;
constexpr auto kWatchLook = 100ms; ///< also looks without a ring: at the end of a port there is none
constexpr auto kBrief = 100ms;

/// This process's port of that id, if it is that device's.
rte_eth_dev *port_of(std::uint16_t id, const char *device) noexcept {
    rte_eth_dev *dev = id < RTE_MAX_ETHPORTS ? &rte_eth_devices[id] : nullptr;
    const bool ours = dev != nullptr && dev->state != RTE_ETH_DEV_UNUSED && dev->device != nullptr &&
                      std::strcmp(rte_dev_name(dev->device), device) == 0;
    return ours ? dev : nullptr;
}

} // namespace

Watcher &Watcher::get() noexcept {
    static Watcher *const watcher = new Watcher; // its thread may outlive the module's objects
    return *watcher;
}

void Watcher::begin() {
    from_.store(std::chrono::steady_clock::now() + kAfterAttach,
                std::memory_order_relaxed); // pairs: watcher-from (loop)
    if (bell() == nullptr)
        return;
    if (const Status s = run(); !s.ok())
        HOLDFAST_LOG(WARNING, "cannot %s: sub-devices that come later are not seen in this process", s.what());
}

void Watcher::end() noexcept {
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (Onlooker::of(p).attached()) {
            if (changing_.try_lock_for(kBrief))
                changing_.unlock();
            return;
        }
    stop();
}

void Watcher::loop() {
    while (!stopping() &&
           std::chrono::steady_clock::now() < from_.load(std::memory_order_relaxed)) // pairs: watcher-from (begin)
        std::this_thread::sleep_for(10ms);
    Bell &bell = *holdfast::bell();
    const auto who = static_cast<std::uint32_t>(::getpid());
    unsigned place = bell.join(who);
    while (!stopping()) {
        const Bell::Turn turn = bell.turn();
        settle();
        if (place == Bell::kListeners || bell.done(place, who, turn))
            bell.wait(turn, kWatchLook);
        else
            place = bell.join(who); // the primary gave us up: so we were not heard, and look again
    }
    if (place != Bell::kListeners)
        bell.leave(place, who);
}

void Watcher::settle() {
    const std::lock_guard held(changing_);
    for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS && !stopping(); p++) {
        Onlooker &port = Onlooker::of(p);
        if (!port.attached())
            continue;
        Snapshot s{};
        const bool there = port.there() && port.last(s);
        for (std::size_t i = 0; i < known_[p].size(); i++)
            settle(there && i < s.sub_count ? s.subs[i] : Snapshot::Sub{}, known_[p][i]);
        if (!port.there()) {
            port.end();
            abi::release_stale(port.dev(), port.name());
        }
    }
}

void Watcher::settle(Snapshot::Sub now, Known &known) {
    if (now == known.sub)
        return;
    if (known.sub.device[0] != '\0')
        detach(known);
    if (now.device[0] != '\0')
        attach(now, known);
    known.sub = now; // also if it could not be attached: once is enough
}

void Watcher::attach(const Snapshot::Sub &sub, Known &known) {
    const char *device = sub.device.data();
    if (port_of(sub.port.raw(), device) == nullptr) // else EAL has attached it when this process started
        if (const int rc = rte_vdev_init(device, nullptr); rc != 0 && rc != -EEXIST)
            HOLDFAST_LOG(INFO, "%s came, and cannot be attached in this process: %s", device, rte_strerror(-rc));
    if (const rte_eth_dev *dev = port_of(sub.port.raw(), device); dev != nullptr)
        known.ethdev = dev->data->name;
}

void Watcher::detach(Known &known) {
    const char *device = known.sub.device.data();
    rte_eth_dev *dev = port_of(known.sub.port.raw(), device);
    if (dev != nullptr && known.ethdev != dev->data->name) // too late: the primary has closed it
        abi::release_stale(*dev, known.ethdev.c_str());
    (void)rte_vdev_uninit(device);
    known.ethdev.clear();
}

} // namespace holdfast
