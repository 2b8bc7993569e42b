// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/state.h"
#include "port/queues.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

// Queues: set up, started and stopped on every sub-device or on none, then recorded for those that come later.

namespace holdfast {

Status VirtualPort::rx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket,
                                   const rte_eth_rxconf *conf, rte_mempool *pool) {
    if (conf->rx_nseg != 0 || conf->rx_nmempool != 0)
        return {-ENOTSUP, "set up an Rx queue with several mempools or split buffers"};
    const Locked held(mutex_);
    const QueueId id{queue};
    if (const int rc = queues_->make_rx(id_, id,
                                        {.descriptors = descriptors,
                                         .socket = socket,
                                         .conf = *conf,
                                         .pool = pool,
                                         .run = conf->rx_deferred_start == 0});
        rc != 0)
        return {rc, "make an Rx queue"};
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        sub->stale = sub->stale || sub->misses_out();
        if (!sub->usable() || sub->state() < State::kConfigured)
            continue;
        if (Status s = set_up_rx(held, *sub, id); !s.ok() && !sub->excused()) {
            queues_->free_rx(id);
            return s;
        }
    }
    dev_.data->rx_queues[queue] = queues_->rx(id).queue;
    publish(held);
    return {};
}

Status VirtualPort::tx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket,
                                   const rte_eth_txconf *conf) {
    const Locked held(mutex_);
    const QueueId id{queue};
    if (const int rc = queues_->make_tx(
            id, {.descriptors = descriptors, .socket = socket, .conf = *conf, .run = conf->tx_deferred_start == 0});
        rc != 0)
        return {rc, "make a Tx queue"};
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        sub->stale = sub->stale || sub->misses_out();
        if (!sub->usable() || sub->state() < State::kConfigured)
            continue;
        if (Status s = set_up_tx(held, *sub, id); !s.ok() && !sub->excused()) {
            queues_->free_tx(id);
            return s;
        }
    }
    dev_.data->tx_queues[queue] = queues_->tx(id).queue;
    publish(held);
    return {};
}

void VirtualPort::rx_queue_release(std::uint16_t queue) {
    const Locked held(mutex_);
    queues_->free_rx(QueueId{queue});
}

void VirtualPort::tx_queue_release(std::uint16_t queue) {
    const Locked held(mutex_);
    queues_->free_tx(QueueId{queue});
}

Status VirtualPort::run_queue(bool rx, QueueId queue, bool run) {
    const Locked held(mutex_);
    const auto call = [&](SubDevice &sub, bool on) {
        return rx ? ethdev_.rx_queue_run(sub.port(), queue, on) : ethdev_.tx_queue_run(sub.port(), queue, on);
    };
    std::vector<SubDevice *> done;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->present() && !sub->usable())
            sub->stale = true; // it gets this with its queues
        if (!sub->usable() || sub->state() != State::kStarted)
            continue;
        const int rc = call(*sub, run);
        const Outcome outcome = sub->judge(ethdev_, rc);
        if (outcome == Outcome::kDone)
            done.push_back(sub.get());
        else if (outcome != Outcome::kVanished) {
            for (SubDevice *other : done)
                if (const int back = call(*other, !run); back != 0 && !other->lost())
                    HOLDFAST_LOG(ERR, "%s: cannot take back on %s: start or stop a queue: %s", name(), other->name(),
                                 rte_strerror(-back));
            return {rc, "start or stop a queue of a sub-device"};
        }
    }
    (rx ? queues_->rx(queue).run : queues_->tx(queue).run) = run;
    (rx ? dev_.data->rx_queue_state : dev_.data->tx_queue_state)[queue.raw()] =
        run ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
    return {};
}

} // namespace holdfast
