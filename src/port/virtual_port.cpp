// SPDX-License-Identifier: BSD-3-Clause
#include "port/virtual_port.h"

#include "abi/bus.h"
#include "abi/link.h"
#include "abi/log.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/policy.h"
#include "base/result.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/capabilities.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/queues.h"
#include "port/sub_device.h"

#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// How long a call of the application waits for lcores to leave. Longer means that one is stuck inside a driver.
constexpr std::chrono::milliseconds kApplicationWaits = 5s;
/// How long closing waits for secondary processes to let go of sub-devices, if there are any; and where the bus's lock
/// may be held.
constexpr std::chrono::milliseconds kSecondariesMayTake = 500ms;
constexpr std::chrono::milliseconds kBrief = 100ms;
/// How long a new port waits for another port's hot-plug. A secondary process that asked for it waits 5 s.
constexpr std::chrono::milliseconds kBeginWaits = 2s;
/// A command is killed in time, but a busy machine may tell us later.
constexpr std::chrono::milliseconds kAnswersLate = 2s;

} // namespace

VirtualPort::VirtualPort(rte_eth_dev &dev, Config config, abi::Ethdev &ethdev, abi::Bus &bus, Host &host,
                         std::vector<std::unique_ptr<DeviceSource>> sources)
    : dev_(dev), name_(dev.data->name), id_(dev.data->port_id), config_(std::move(config)), ethdev_(ethdev), bus_(bus),
      host_(host), shared_(static_cast<SharedPort *>(dev.data->dev_private)), snapshot_(std::make_unique<Snapshot>()) {
    const LinkRules links{.counts = config_.policy.switch_on == SwitchOn::kLink,
                          .delays = {.down_delay = config_.policy.down_delay, .up_delay = config_.policy.up_delay}};
    std::vector<Door *> doors;
    used_ = config_.devices.size();
    sources.resize(kMaxSubDevices);
    for (std::uint8_t i = 0; i < kMaxSubDevices; i++) {
        const auto *fixed = i < used_ ? std::get_if<FixedDevice>(&config_.devices[i]) : nullptr;
        subs_.push_back(std::make_unique<SubDevice>(SubIndex{i}, fixed != nullptr ? fixed->devargs : std::string(),
                                                    selection_, host_, std::move(sources[i]), this, links));
        subs_.back()->vacant = i >= used_;
        doors.push_back(&subs_.back()->door());
    }
    queues_ = std::make_unique<Queues>(selection_, doors, config_.policy.no_active);
}

VirtualPort::~VirtualPort() = default;

rte_eth_conf VirtualPort::Configuration::get() const noexcept {
    rte_eth_conf out = conf;
    if (out.rx_adv_conf.rss_conf.rss_key != nullptr)
        out.rx_adv_conf.rss_conf.rss_key = const_cast<std::uint8_t *>(rss_key.data()); // ethdev only reads it
    return out;
}

VirtualPort::Configuration VirtualPort::copy_of(const rte_eth_dev &dev) noexcept {
    Configuration out;
    out.conf = dev.data->dev_conf;
    out.rx_queues = dev.data->nb_rx_queues;
    out.tx_queues = dev.data->nb_tx_queues;
    const rte_eth_rss_conf &rss = out.conf.rx_adv_conf.rss_conf;
    if (rss.rss_key != nullptr) // the application's memory may be gone when a late sub-device wants it
        std::memcpy(out.rss_key.data(), rss.rss_key, std::min<std::size_t>(rss.rss_key_len, out.rss_key.size()));
    return out;
}

Status VirtualPort::begin() {
    owner_ = std::make_shared<const abi::Owner>();
    if (owner_->rc() != 0)
        return {owner_->rc(), "get an owner id"};
    rte_ether_addr mac{};
    if (config_.mac) {
        std::copy(config_.mac->begin(), config_.mac->end(), mac.addr_bytes);
        const Locked held(mutex_);
        settings_.default_mac = mac; // sources may go by it
    }
    // Sources are all asked first, then they look at the same time. Another port's hot-plug may be under way, and what
    // joins later brings no MAC address and no limits. Still bounded: the caller may hold the bus's lock that the other
    // one wants.
    probe_absent(Clock::now(), abi::Wait::kBriefly);
    const auto answers_until = Clock::now() + config_.exec_timeout + kAnswersLate;
    const auto turns_until = Clock::now() + kBeginWaits;
    const auto is_missing = [&](const std::unique_ptr<SubDevice> &sub) {
        return (sub->missed_turn && Clock::now() < turns_until) || (sub->asked && Clock::now() < answers_until);
    };
    do {
        for (const std::unique_ptr<SubDevice> &sub : subs_)
            if (sub->asked)
                sub->source()->wait(answers_until);
        probe_absent(Clock::now(), abi::Wait::kBriefly);
    } while (std::any_of(subs_.begin(), subs_.end(), is_missing));
    const Locked held(mutex_);
    if (!config_.mac) {
        // A sub-device may have none (net_ring): then the port makes one up rather than come up without.
        each_usable([&](const SubDevice &sub) {
            if (rte_is_valid_assigned_ether_addr(&mac) == 0)
                mac = sub.own_mac();
        });
        if (rte_is_valid_assigned_ether_addr(&mac) == 0)
            rte_eth_random_addr(mac.addr_bytes);
    }
    settings_.default_mac = mac;
    dev_.data->mac_addrs[0] = mac;
    if (config_.policy.announce > 0 && !ethdev_.prepare_to_send())
        HOLDFAST_LOG(WARNING, "%s: no memory for announcements; there will be none", name());
    raise(held, Clock::now());
    publish(held);
    return {};
}

Status VirtualPort::close(abi::Wait wait, const rte_vdev_device *keep, std::vector<Orphan> &orphans) {
    Status status;
    listeners_.end();
    {
        const Locked held(mutex_);
        wanted_ = State::kAbsent;
        for (const std::unique_ptr<SubDevice> &sub : subs_)
            sub->shut(); // all at once, so that the waits below overlap
        for (const std::unique_ptr<SubDevice> &sub : subs_) {
            if (sub->state() == State::kAbsent || sub->leaving || sub->halting) // the host thread finishes that
                continue;
            if (!tear_down(held, *sub, kApplicationWaits) && status.ok())
                status = {-EBUSY, "close a sub-device that an lcore is still inside"};
        }
        closing_ = true;
    }
    const auto until = Clock::now() + (wait == abi::Wait::kForever ? kSecondariesMayTake : kBrief);
    while (!secondaries_know() && Clock::now() < until)
        std::this_thread::sleep_for(1ms);
    const Status closed = close_leaving(wait, keep, &orphans);
    end_leases();
    return status.ok() ? closed : status;
}

bool VirtualPort::stuck() {
    const Locked held(mutex_);
    return std::any_of(subs_.begin(), subs_.end(), [](const auto &sub) { return sub->state() != State::kAbsent; });
}

Status VirtualPort::configure() {
    const Locked held(mutex_);
    if (dev_.data->dev_conf.intr_conf.rxq != 0)
        return {-ENOTSUP, "use Rx interrupts"};
    const Configuration before = configuration_;
    configuration_ = copy_of(dev_);
    std::vector<Before> touched;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        sub->stale = sub->stale || sub->misses_out(); // it gets the configuration when it is well
        if (!sub->usable())
            continue;
        touched.push_back({sub.get(), sub->has()});
        Status s;
        if (sub->state() == State::kStarted) // it refused to stop
            s = stop_sub(held, *sub, kApplicationWaits);
        if (s.ok())
            s = configure_sub(held, *sub);
        sub->stale = sub->stale || sub->excused();
        if (s.ok() || sub->excused())
            continue;
        configuration_ = before; // ethdev keeps the old one, so they all do
        take_back(held, touched);
        return s;
    }
    wanted_ = State::kConfigured;
    settings_.mtu.reset(); // the configuration brings its own
    settings_.vlan_offload.reset();
    settings_.rss.reset();
    settings_.reta.clear();
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        if (sub->state() == State::kAbsent)
            sub->retry_now(); // what was refused for the old configuration may fit the new one
    publish(held);
    host_.wake();
    return {};
}

Status VirtualPort::start() {
    const Locked held(mutex_);
    for (std::uint16_t q = 0; q < configuration_.rx_queues; q++) {
        RxQueueRecord &r = queues_->rx(QueueId{q});
        if (r.queue == nullptr)
            return {-EINVAL, "start with an Rx queue that is not set up"};
        r.run = r.conf.rx_deferred_start == 0;
    }
    for (std::uint16_t q = 0; q < configuration_.tx_queues; q++) {
        TxQueueRecord &r = queues_->tx(QueueId{q});
        if (r.queue == nullptr)
            return {-EINVAL, "start with a Tx queue that is not set up"};
        r.run = r.conf.tx_deferred_start == 0;
    }
    std::vector<Before> touched;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (!sub->usable() || wanted(*sub) == State::kAbsent) // it is leaving, by hand
            continue;
        touched.push_back({sub.get(), sub->has()});
        sub->hold_until = {}; // the application's own start waits for nothing
        Status s;
        if (sub->state() == State::kProbed)
            s = configure_sub(held, *sub);
        if (s.ok())
            s = start_sub(held, *sub, true);
        sub->stale = sub->stale || sub->excused();
        if (s.ok() || sub->excused())
            continue;
        for (const std::unique_ptr<SubDevice> &other : subs_)
            if (other->state() == State::kStarted && other->touchable())
                if (const Status back = stop_sub(held, *other, kApplicationWaits); !back.ok())
                    report(back);
        for (const Before &other : touched) // starting told them what they lacked
            roll_back(held, *other.sub, other.had.missing_from(other.sub->has()));
        return s;
    }
    wanted_ = State::kStarted;
    starts_++;
    fast_path_due_ = {};
    fast_path_doubts_ = 0;
    for (std::uint16_t q = 0; q < configuration_.rx_queues; q++)
        dev_.data->rx_queue_state[q] =
            queues_->rx(QueueId{q}).run ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
    for (std::uint16_t q = 0; q < configuration_.tx_queues; q++)
        dev_.data->tx_queue_state[q] =
            queues_->tx(QueueId{q}).run ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
    note_own_switch(held);
    choose(held);
    note_own_switch(held);
    const SubIndex active = selection_.view().active;
    if (const SubIndex before = std::exchange(told_active_, active); active != before && starts_ > 1) {
        // They know of another one, from before the stop: who listens, and the network.
        untold_.push_back({.from = before, .to = active, .why = SwitchWhy::kBetter});
        plan_announcement(held, active);
    }
    (void)settle(held, Clock::now()); // valid from the first moment
    announced_ = abi::load_link(dev_);
    publish(held);
    host_.wake();
    return {};
}

Status VirtualPort::stop() {
    const Locked held(mutex_);
    if (wanted_ == State::kStarted)
        wanted_ = State::kConfigured;
    for (const std::unique_ptr<SubDevice> &sub : subs_)
        sub->shut();
    Status first;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (sub->present() && !sub->usable() && sub->state() == State::kStarted) {
            // Its driver answers nothing now. It is left alone by the lcores; the host thread stops it when it is well.
            if (silence(held, *sub, kApplicationWaits))
                queues_->take_out(sub->index());
            else if (first.ok())
                first = {-EBUSY, "stop a sub-device that an lcore is still inside"};
            continue;
        }
        if (!sub->usable() || sub->state() != State::kStarted)
            continue; // one that is lost is taken down by the host thread, from whatever step it stands on
        if (const Status s = stop_sub(held, *sub, kApplicationWaits); !s.ok() && !sub->excused() && first.ok())
            first = s; // the others are stopped all the same; a second stop tries this one again
    }
    if (!first.ok())
        return first;
    std::fill_n(dev_.data->rx_queue_state, configuration_.rx_queues, std::uint8_t{RTE_ETH_QUEUE_STATE_STOPPED});
    std::fill_n(dev_.data->tx_queue_state, configuration_.tx_queues, std::uint8_t{RTE_ETH_QUEUE_STATE_STOPPED});
    note_own_switch(held);
    settle_link(held);
    return {};
}

Status VirtualPort::reset() {
    const Locked held(mutex_);
    Status first;
    std::vector<Before> done;
    bool lacking = false;
    for (const std::unique_ptr<SubDevice> &sub : subs_) {
        if (!sub->usable())
            continue;
        const int rc = ethdev_.reset(sub->port());
        const Outcome outcome = sub->judge(ethdev_, rc);
        if (outcome == Outcome::kRefused) {
            first = {rc, "reset a sub-device"};
            break;
        }
        lacking = lacking || outcome == Outcome::kLacking;
        if (outcome != Outcome::kDone)
            continue;
        done.push_back({sub.get(), sub->has()});
        sub->forget(ethdev_);
        if (sub->state() == State::kConfigured)
            sub->move_to(State::kProbed); // the application has to configure the port again, and that configures it
    }
    if (done.empty() && lacking && first.ok())
        return {-ENOTSUP, "reset a sub-device"};
    if (first.ok())
        wanted_ = State::kProbed;
    else
        take_back(held, done); // the port goes on with what it was told
    return first;
}

void VirtualPort::take_back(const Locked &held, const std::vector<Before> &subs) {
    for (const auto &[sub, had] : subs) {
        if (!sub->usable() || sub->state() == State::kStarted)
            continue;
        if (wanted_ >= State::kConfigured) {
            if (const Status s = configure_sub(held, *sub); !s.ok())
                report(s);
        } else if (sub->state() == State::kConfigured) {
            sub->move_to(State::kProbed);
        }
        roll_back(held, *sub, had.missing_from(sub->has()));
    }
}

void VirtualPort::report(const Status &status) const {
    if (status.code() == -EINVAL || status.code() == -ENOTSUP)
        HOLDFAST_LOG(INFO, "%s: cannot %s: %s", name(), status.what(), rte_strerror(-status.code()));
    else
        HOLDFAST_LOG(ERR, "%s: cannot %s: %s", name(), status.what(), rte_strerror(-status.code()));
}

} // namespace holdfast
