// SPDX-License-Identifier: BSD-3-Clause
#include "base/ids.h"
#include "base/mutex.h"
#include "port/bell.h"
#include "port/queues.h"
#include "port/shared.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

// What secondary processes get to see. The structs of ethdev hold pointers; those that are this process's own stay
// here.

namespace holdfast {
namespace {

rte_eth_rxconf without_pointers(rte_eth_rxconf conf) noexcept {
    conf.rx_seg = nullptr;
    conf.rx_mempools = nullptr;
    std::fill(std::begin(conf.reserved_ptrs), std::end(conf.reserved_ptrs), nullptr);
    return conf;
}

rte_eth_txconf without_pointers(rte_eth_txconf conf) noexcept {
    std::fill(std::begin(conf.reserved_ptrs), std::end(conf.reserved_ptrs), nullptr);
    return conf;
}

/// ethdev fills the device's, the driver's and the flags' pointer for the process that asks.
rte_eth_dev_info without_pointers(rte_eth_dev_info info) noexcept {
    info.device = nullptr;
    info.driver_name = nullptr;
    info.dev_flags = nullptr;
    info.switch_info.name = nullptr;
    info.default_rxconf = without_pointers(info.default_rxconf);
    info.default_txconf = without_pointers(info.default_txconf);
    std::fill(std::begin(info.reserved_ptrs), std::end(info.reserved_ptrs), nullptr);
    return info;
}

/// How long a device may be kept for secondaries to let go of it. Who takes longer is taken for dead: EAL's own way, to
/// ask each and wait for 5 s, would let a killed tool hold up every removal.
constexpr std::chrono::milliseconds kFarewell{500};

Snapshot::Sub seen_as(const SubDevice &sub) noexcept {
    Snapshot::Sub out{.device = {}, .life = sub.lives, .port = {}};
    const rte_device *device = sub.info().device;
    if (!sub.present() || device == nullptr || std::strcmp(rte_bus_name(rte_dev_bus(device)), "vdev") != 0)
        return out;
    out.port = sub.port();
    std::snprintf(out.device.data(), out.device.size(), "%s", rte_dev_name(device));
    return out;
}

} // namespace

void VirtualPort::publish(const Locked &held) {
    if (shared_ == nullptr || closing_)
        return;
    Snapshot &s = *snapshot_;
    rte_eth_dev_info info{};
    promise(held, info);
    s.info = without_pointers(info);
    s.stats = summed(held);
    s.port_counts = count_port(held);
    s.sub_count = static_cast<std::uint8_t>(count_subs(held, s.sub_counts).size());
    const std::array<Snapshot::Sub, kMaxSubDevices> before = s.subs;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        s.subs[sub->index().raw()] = seen_as(*sub);
    for (std::uint16_t q = 0; q < kMaxQueues; q++) {
        const RxQueueRecord &rx = queues_->rx(QueueId{q});
        s.rx_queues[q] = {.conf = without_pointers(rx.conf),
                          .pool = rx.pool,
                          .descriptors = rx.descriptors,
                          .scattered = dev_.data->scattered_rx};
        const TxQueueRecord &tx = queues_->tx(QueueId{q});
        s.tx_queues[q] = {.conf = without_pointers(tx.conf), .descriptors = tx.descriptors};
    }
    shared_->snapshot.publish(s);
    if (s.subs == before || bell() == nullptr)
        return;
    told_ = bell()->ring();
    told_until_ = Clock::now() + kFarewell;
}

void VirtualPort::tell_secondaries(const Locked &held) {
    if (shared_ == nullptr || closing_)
        return;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (!(snapshot_->subs[sub->index().raw()] == seen_as(*sub))) {
            publish(held);
            return;
        }
}

bool VirtualPort::secondaries_know() {
    const Locked held(mutex_);
    if (!told_ || bell()->heard(*told_)) {
        told_.reset();
        return true;
    }
    if (Clock::now() < told_until_)
        return false;
    bell()->give_up(*told_);
    told_.reset();
    return true;
}

void VirtualPort::answer_secondaries(const Locked &held) {
    if (shared_ == nullptr || closing_)
        return;
    const std::uint64_t asked = shared_->asked.load(std::memory_order_acquire); // pairs: ticket (Onlooker::ask)
    // pairs: answer (written here only)
    if (asked == shared_->answered.load(std::memory_order_relaxed))
        return;
    (void)read_stats(held); // who does not answer keeps its last numbers
    const std::vector<std::uint32_t> ptypes = common_ptypes(held);
    snapshot_->ptype_count = static_cast<std::uint16_t>(std::min(ptypes.size(), snapshot_->ptypes.size()));
    std::copy_n(ptypes.begin(), snapshot_->ptype_count, snapshot_->ptypes.begin());
    publish(held);
    shared_->answered.store(asked, std::memory_order_release); // pairs: answer (Onlooker::ask)
}

} // namespace holdfast
