// SPDX-License-Identifier: BSD-3-Clause
#include "driver/onlooker.h"

#include "base/ids.h"
#include "base/result.h"
#include "port/shared.h"
#include "port/xstats.h"

#include <ethdev_driver.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// The primary may be busy with this port: then the last snapshot has to do.
constexpr auto kAnswerWait = 1s;
constexpr auto kAnswerLook = 100us;

constexpr Status kNoAnswer{-EAGAIN, "get an answer from the primary process"};

} // namespace

Onlooker &Onlooker::of(std::uint16_t port) noexcept {
    static std::array<Onlooker, RTE_MAX_ETHPORTS> all;
    return all.at(port);
}

void Onlooker::begin(rte_eth_dev &dev) noexcept {
    dev_ = &dev;
    std::snprintf(name_.data(), name_.size(), "%s", dev.data->name);
    attached_.store(true, std::memory_order_release); // pairs: onlooker (Onlooker::attached)
}

void Onlooker::end() noexcept {
    attached_.store(false, std::memory_order_release); // pairs: onlooker (Onlooker::attached)
}

bool Onlooker::attached() const noexcept {
    return attached_.load(std::memory_order_acquire); // pairs: onlooker (Onlooker::begin, Onlooker::end)
}

bool Onlooker::there() const noexcept {
    return std::strncmp(dev_->data->name, name_.data(), name_.size()) == 0;
}

/// Null when the primary released the port (its id may be another device's by now), or is another build.
SharedPort *Onlooker::shared() const noexcept {
    if (!there())
        return nullptr;
    auto *shared = static_cast<SharedPort *>(*const_cast<void *volatile *>(&dev_->data->dev_private));
    return shared != nullptr && shared->format == SharedPort::kFormat ? shared : nullptr;
}

void Onlooker::ask() const noexcept {
    SharedPort *port = shared();
    if (port == nullptr)
        return;
    // pairs: ticket (answer_secondaries)
    const std::uint64_t ticket = port->asked.fetch_add(1, std::memory_order_release) + 1;
    rte_mp_msg message{};
    std::snprintf(message.name, sizeof(message.name), "%s", kAskMessage);
    if (rte_mp_sendmsg(&message) != 0)
        return; // the primary has gone
    const auto until = std::chrono::steady_clock::now() + kAnswerWait;
    // pairs: answer (answer_secondaries)
    while ((port = shared()) != nullptr && port->answered.load(std::memory_order_acquire) < ticket &&
           std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(kAnswerLook);
}

bool Onlooker::last(Snapshot &out) const noexcept {
    const SharedPort *port = shared();
    return port != nullptr && port->snapshot.read(out);
}

bool Onlooker::look(Snapshot &out) const noexcept {
    ask();
    return last(out);
}

int Onlooker::close() {
    end();
    return 0; // nothing here is this process's own
}

int Onlooker::link_update(int) {
    ask(); // the primary keeps the shared word true
    return 0;
}

Status Onlooker::info(rte_eth_dev_info *info) {
    Snapshot s;
    if (!look(s))
        return kNoAnswer;
    rte_device *const device = info->device; // ethdev's own, of this process
    *info = s.info;
    info->device = device;
    return {};
}

Status Onlooker::stats(abi::PortStats *stats) {
    Snapshot s;
    if (!look(s))
        return kNoAnswer;
    *stats = s.stats;
    return {};
}

int Onlooker::xstats(rte_eth_xstat *stats, unsigned n) {
    Snapshot s;
    if (stats == nullptr ? !last(s) : !look(s))
        return kNoAnswer.code();
    return xstat_values(s.port_counts, {s.sub_counts.data(), s.sub_count}, stats, n);
}

int Onlooker::xstats_names(rte_eth_xstat_name *names, unsigned n) {
    Snapshot s;
    return last(s) ? xstat_names(s.sub_count, names, n) : kNoAnswer.code();
}

void Onlooker::rxq_info(std::uint16_t queue, rte_eth_rxq_info *info) {
    Snapshot s;
    if (queue >= kMaxQueues || !look(s))
        return;
    const Snapshot::RxQueue &q = s.rx_queues[queue];
    info->mp = q.pool;
    info->conf = q.conf;
    info->nb_desc = q.descriptors;
    info->scattered_rx = q.scattered;
}

void Onlooker::txq_info(std::uint16_t queue, rte_eth_txq_info *info) {
    Snapshot s;
    if (queue >= kMaxQueues || !look(s))
        return;
    info->conf = s.tx_queues[queue].conf;
    info->nb_desc = s.tx_queues[queue].descriptors;
}

const std::uint32_t *Onlooker::ptypes(std::size_t *count) {
    Snapshot s;
    if (!look(s))
        return nullptr;
    ptypes_ = s.ptypes;
    *count = s.ptype_count;
    return s.ptype_count == 0 ? nullptr : ptypes_.data();
}

} // namespace holdfast
