// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"
#include "mayfly/arena.h"
#include "mayfly/link.h"
#include "mayfly/port.h"

#include <rte_malloc.h>

#include <cstring>
#include <new>
#include <span>

namespace holdfast::mayfly {

Port::Port(Device &device, Device *peer, const Config &config, rte_eth_dev &dev, const Mac &mac)
    : device_(device), peer_(peer), config_(config), dev_(dev), factory_mac_(mac), ops_(make_ops(config)) {
    (void)stats_reset();
    dev_.dev_ops = &ops_;
    install_bursts(dev_, config_);
}

Settings Port::initial() const {
    Settings settings;
    settings.mac = factory_mac_;
    settings.speed = config_.speed;
    settings.reta.resize(config_.reta_size);
    settings.rss_key = default_rss_key(config_.hash_key_size);
    return settings;
}

bool Port::begin() {
    life_ = device_.begin_life(dev_, initial(), config_.lsc, config_.rmv);
    return life_ != 0;
}

Status Port::configure() {
    const rte_eth_conf &conf = dev_.data->dev_conf;
    device_.settings([&](Settings &s) {
        s.configured = true;
        s.rx_queues = dev_.data->nb_rx_queues;
        s.tx_queues = dev_.data->nb_tx_queues;
        s.mtu = dev_.data->mtu;
        s.rx_offloads = conf.rxmode.offloads;
        s.tx_offloads = conf.txmode.offloads;
        s.intr_lsc = conf.intr_conf.lsc != 0;
        s.intr_rmv = conf.intr_conf.rmv != 0;
        const rte_eth_rss_conf &rss = conf.rx_adv_conf.rss_conf;
        s.rss_hf = (conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0 ? rss.rss_hf : 0;
        s.rss_algorithm = rss.algorithm;
        if (rss.rss_key != nullptr)
            s.rss_key.assign(rss.rss_key, rss.rss_key + rss.rss_key_len);
        for (std::size_t i = 0; i < s.reta.size() && s.rx_queues != 0; i++)
            s.reta[i] = static_cast<std::uint16_t>(i % s.rx_queues);
    });
    steer();
    return set_up_interrupts();
}

/// An Rx interrupt is a descriptor of the device, so it survives a stop and a start; a configuration makes new ones.
Status Port::set_up_interrupts() {
    interrupts_.close();
    const std::uint16_t queues = dev_.data->dev_conf.intr_conf.rxq != 0 ? dev_.data->nb_rx_queues : std::uint16_t{0};
    if (queues != 0 && config_.no_ops.test(index(Op::kRxQueueIntrEnable)))
        return {-ENOTSUP, "configure: this device has no Rx interrupts"};
    const auto kind = config_.mode == Mode::kGenerate ? Doorbell::Kind::kTimer : Doorbell::Kind::kEvent;
    if (const int rc = device_.hang_bells(queues, kind); rc != 0)
        return {rc, "configure: no descriptors for Rx interrupts"};
    if (queues == 0)
        return {};
    std::array<int, kMostQueues> descriptors{};
    for (std::uint16_t i = 0; i < queues; i++)
        descriptors[i] = device_.bells[i].descriptor();
    return interrupts_.open(dev_, std::span(descriptors).first(queues));
}

Status Port::start() {
    for (std::uint16_t i = 0; i < dev_.data->nb_rx_queues; i++)
        if (rx(i) == nullptr)
            return {-EINVAL, "start: an Rx queue was not set up"};
    for (std::uint16_t i = 0; i < dev_.data->nb_tx_queues; i++)
        if (tx(i) == nullptr)
            return {-EINVAL, "start: a Tx queue was not set up"};
    for (std::uint16_t i = 0; i < dev_.data->nb_rx_queues; i++) {
        if (rx(i)->deferred)
            rx(i)->running.store(Running::kStopped, std::memory_order_release); // pairs: running (look)
        else
            run_rx(i, *rx(i));
    }
    for (std::uint16_t i = 0; i < dev_.data->nb_tx_queues; i++) {
        const bool deferred = tx(i)->deferred;
        // pairs: running (look).
        tx(i)->running.store(deferred ? Running::kStopped : Running::kStarted, std::memory_order_release);
        dev_.data->tx_queue_state[i] = deferred ? RTE_ETH_QUEUE_STATE_STOPPED : RTE_ETH_QUEUE_STATE_STARTED;
    }
    device_.settings([](Settings &s) { s.started = true; });
    publish_link(dev_, device_);
    return {};
}

void Port::halt_all() noexcept {
    for (std::uint16_t i = 0; i < dev_.data->nb_rx_queues; i++)
        if (Queue *queue = rx(i); queue != nullptr)
            halt_rx(i, *queue, Running::kPortStopped);
    for (std::uint16_t i = 0; i < dev_.data->nb_tx_queues; i++)
        if (Queue *queue = tx(i); queue != nullptr)
            halt_tx(i, *queue, Running::kPortStopped);
    device_.settings([](Settings &s) { s.started = false; });
    publish_link(dev_, device_);
}

Status Port::stop() {
    halt_all();
    return {};
}

/// Takes the port apart, also when it was not stopped. ethdev releases it afterwards and frees mac_addrs. Deletes
/// *this.
int Port::close() {
    halt_all();
    for (std::uint16_t i = 0; i < dev_.data->nb_rx_queues; i++)
        rx_queue_release(i);
    for (std::uint16_t i = 0; i < dev_.data->nb_tx_queues; i++)
        tx_queue_release(i);
    interrupts_.close();
    (void)device_.hang_bells(0, Doorbell::Kind::kEvent);
    (void)timesync_disable();
    if (peer_ != nullptr)
        peer_->unclaim_inboxes(device_);
    device_.end_life();
    // A callback for DESTROY may still ask the port something.
    dev_.process_private = nullptr;
    dev_.dev_ops = &closed_ops();
    delete this;
    return 0;
}

Status Port::reset() {
    const Settings fresh = initial();
    device_.settings([&](Settings &s) { s = fresh; });
    for (std::uint32_t slot = 0; slot < config_.max_macs; slot++)
        std::memset(&dev_.data->mac_addrs[slot], 0, sizeof(rte_ether_addr));
    std::memcpy(&dev_.data->mac_addrs[0], factory_mac_.data(), factory_mac_.size());
    (void)timesync_disable();
    steer();
    device_.reset_done();
    publish_link(dev_, device_);
    return {};
}

int Port::is_removed() {
    return device_.alive(life_) ? 0 : 1;
}

} // namespace holdfast::mayfly
