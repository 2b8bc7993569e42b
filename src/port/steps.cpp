// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/policy.h"
#include "base/result.h"
#include "base/scope.h"
#include "base/state.h"
#include "port/capabilities.h"
#include "port/queues.h"
#include "port/settings.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_ethdev.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <variant>

// One function per step of a sub-device, up or down. Each leaves the sub-device where it was if it fails.

namespace holdfast {

Status VirtualPort::answer(SubDevice &sub, int rc, const char *what) const {
    return sub.judge(ethdev_, rc) == Outcome::kDone ? Status{} : Status{rc, what};
}

bool VirtualPort::mixes_pools(const Locked &, QueueId queue) const {
    return config_.policy.announce > 0 && config_.policy.tx == TxPolicy::kActive && queue == QueueId{0};
}

Status VirtualPort::configure_sub(const Locked &held, SubDevice &sub) {
    Fit fitted = fit(configuration_.get(), configuration_.rx_queues, configuration_.tx_queues, sub.info());
    if (!fitted.status.ok())
        return fitted.status;
    if (!fitted.without.empty())
        HOLDFAST_LOG(INFO, "%s: %s does without: %s", name(), sub.name(), fitted.without.c_str());
    // A driver may take all mbufs of a queue for those of one pool then, and queue 0 sends frames of ours as well.
    // Other queues get it back one by one, where that can be.
    if (mixes_pools(held, QueueId{0}))
        fitted.conf.txmode.offloads &= ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    if (Status s =
            answer(sub, ethdev_.configure(sub.port(), configuration_.rx_queues, configuration_.tx_queues, fitted.conf),
                   "configure a sub-device");
        !s.ok())
        return s;
    // The configuration brings these; a change that is rolled back goes back to them.
    if (std::uint16_t mtu = 0; ethdev_.mtu(sub.port(), mtu) == 0)
        sub.note(Mtu{mtu});
    sub.forget_rss();
    sub.note(VlanOffload{vlan_offloads(configuration_.conf.rxmode.offloads)}); // as far as it can
    for (std::uint16_t q = 0; q < configuration_.rx_queues; q++)
        if (queues_->rx(QueueId{q}).queue != nullptr)
            if (Status s = set_up_rx(held, sub, QueueId{q}); !s.ok())
                return s;
    for (std::uint16_t q = 0; q < configuration_.tx_queues; q++)
        if (queues_->tx(QueueId{q}).queue != nullptr)
            if (Status s = set_up_tx(held, sub, QueueId{q}); !s.ok())
                return s;
    if (sub.state() == State::kProbed)
        sub.move_to(State::kConfigured);
    return {};
}

Status VirtualPort::set_up_rx(const Locked &, SubDevice &sub, QueueId queue) {
    const RxQueueRecord &asked = queues_->rx(queue);
    if (asked.conf.rx_deferred_start != 0 && !ethdev_.can_run_queues(sub.port()))
        return {-ENOTSUP, "defer the start of a queue of a sub-device"};
    rte_eth_rxconf conf = asked.conf;
    conf.offloads &= sub.info().rx_queue_offload_capa;
    return answer(sub,
                  ethdev_.rx_queue_setup(sub.port(), queue, fit_descriptors(asked.descriptors, sub.info().rx_desc_lim),
                                         asked.socket, conf, asked.pool),
                  "set up an Rx queue of a sub-device");
}

Status VirtualPort::set_up_tx(const Locked &held, SubDevice &sub, QueueId queue) {
    const TxQueueRecord &asked = queues_->tx(queue);
    if (asked.conf.tx_deferred_start != 0 && !ethdev_.can_run_queues(sub.port()))
        return {-ENOTSUP, "defer the start of a queue of a sub-device"};
    rte_eth_txconf conf = asked.conf;
    conf.offloads |= configuration_.conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    conf.offloads &= sub.info().tx_queue_offload_capa;
    if (mixes_pools(held, queue))
        conf.offloads &= ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    return answer(sub,
                  ethdev_.tx_queue_setup(sub.port(), queue, fit_descriptors(asked.descriptors, sub.info().tx_desc_lim),
                                         asked.socket, conf),
                  "set up a Tx queue of a sub-device");
}

Status VirtualPort::replay(const Locked &, SubDevice &sub, Phase phase) {
    // ethdev itself restores what a device had when that device starts, MAC lists too. So lists go to a device that
    // runs; what some devices take only while stopped goes first.
    // ethdev takes no filter while filtering is off: what is missing comes when it is turned on.
    const bool filtering = (configuration_.conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
    std::size_t lacking =
        std::variant_npos; // a kind of change that it cannot do at all: not asked again for each entry
    for (const Change &c : settings_.missing_from(sub.has())) {
        if (belongs_before_start(c) != (phase == Phase::kBeforeStart) || c.index() == lacking)
            continue;
        if (std::holds_alternative<VlanFilter>(c) && !filtering)
            continue;
        int rc = 0;
        switch (sub.apply(ethdev_, c, rc)) {
        case Outcome::kDone:
            break;
        case Outcome::kVanished:
            return {-ENODEV, holdfast::describe(c)};
        case Outcome::kLacking:
            if (const Mtu *mtu = std::get_if<Mtu>(&c); mtu != nullptr && mtu->mtu > sub.info().max_mtu)
                return {-EINVAL, holdfast::describe(c)};
            lacking = c.index();
            HOLDFAST_LOG(INFO, "%s: %s cannot %s and does without", name(), sub.name(), holdfast::describe(c));
            break;
        case Outcome::kRefused:
            if (rc != -ENOSPC)
                return {rc, holdfast::describe(c)};
            lacking = c.index();
            HOLDFAST_LOG(WARNING, "%s: %s has no room to %s; it gets no more of them", name(), sub.name(),
                         holdfast::describe(c));
            break;
        }
    }
    return {};
}

Status VirtualPort::run_queues(const Locked &, SubDevice &sub) {
    // A start runs the queues that are not deferred.
    for (std::uint16_t q = 0; q < configuration_.rx_queues; q++)
        if (const RxQueueRecord &r = queues_->rx(QueueId{q}); r.run != (r.conf.rx_deferred_start == 0))
            if (Status s =
                    answer(sub, ethdev_.rx_queue_run(sub.port(), QueueId{q}, r.run), "start or stop an Rx queue");
                !s.ok())
                return s;
    for (std::uint16_t q = 0; q < configuration_.tx_queues; q++)
        if (const TxQueueRecord &r = queues_->tx(QueueId{q}); r.run != (r.conf.tx_deferred_start == 0))
            if (Status s = answer(sub, ethdev_.tx_queue_run(sub.port(), QueueId{q}, r.run), "start or stop a Tx queue");
                !s.ok())
                return s;
    return {};
}

Status VirtualPort::start_sub(const Locked &held, SubDevice &sub, bool trusted) {
    if (sub.state() != State::kStarted) { // it may still run, if it refused to stop
        if (Status s = replay(held, sub, Phase::kBeforeStart); !s.ok())
            return s;
        if (Status s = answer(sub, ethdev_.start(sub.port()), "start a sub-device"); !s.ok())
            return s;
        sub.move_to(State::kStarted);
    }
    OnFailure stop([&]() noexcept {
        if (ethdev_.stop(sub.port()) == 0)
            sub.move_to(State::kConfigured);
    });
    if (Status s = replay(held, sub, Phase::kAfterStart); !s.ok())
        return s;
    if (Status s = run_queues(held, sub); !s.ok())
        return s;
    stop.success();
    queues_->put_in(sub.index(), sub.port());
    // Tx on an interface that is just coming up can get net_af_packet's ring out of step with the kernel's, for good.
    if (Clock::now() < sub.hold_until && !sub.link_is_ready())
        return {};
    sub.joined();
    sub.begin_link(ethdev_, Clock::now(), trusted);
    sub.open();
    return {};
}

Status VirtualPort::stop_sub(const Locked &held, SubDevice &sub, std::chrono::milliseconds limit) {
    if (!silence(held, sub, limit))
        return {-EBUSY, "stop a sub-device that an lcore is still inside"};
    queues_->take_out(sub.index());
    if (Status s = answer(sub, ethdev_.stop(sub.port()), "stop a sub-device"); !s.ok())
        return s;
    sub.move_to(State::kConfigured);
    return {};
}

} // namespace holdfast
