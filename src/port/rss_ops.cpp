// SPDX-License-Identifier: BSD-3-Clause
#include "base/mutex.h"
#include "base/result.h"
#include "port/capabilities.h"
#include "port/rss.h"
#include "port/settings.h"
#include "port/sub_device.h"
#include "port/virtual_port.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Receive side scaling: set like any other setting; what was never set is asked of a sub-device.

namespace holdfast {

Status VirtualPort::rss_hash_update(rte_eth_rss_conf *conf) {
    Rss rss{.functions = conf->rss_hf, .algorithm = conf->algorithm, .key = {}};
    if (conf->rss_key != nullptr)
        rss.key.assign(conf->rss_key, conf->rss_key + conf->rss_key_len);
    return change(std::move(rss));
}

Status VirtualPort::rss_hash_conf_get(rte_eth_rss_conf *conf) {
    const Locked held(mutex_);
    const rte_eth_conf configured = configuration_.get();
    const rte_eth_rss_conf &first = configured.rx_adv_conf.rss_conf;
    Rss rss{.functions = first.rss_hf, .algorithm = first.algorithm, .key = {}};
    if ((configured.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) == 0)
        rss.functions = 0;
    if (first.rss_key != nullptr)
        rss.key.assign(first.rss_key, first.rss_key + first.rss_key_len);
    if (settings_.rss) {
        rss.functions = settings_.rss->functions;
        rss.algorithm = settings_.rss->algorithm;
        if (!settings_.rss->key.empty())
            rss.key = settings_.rss->key;
    }
    const std::uint8_t length = promised(held).hash_key_size;
    Status status;
    if (rss.key.empty() && length != 0) // then the sub-devices have their own; the first one's counts
        each_usable([&](SubDevice &sub) {
            std::vector<std::uint8_t> key;
            if (status.ok() && rss.key.empty())
                status = sub.rss_key(ethdev_, key);
            if (!key.empty())
                rss.key = fit_rss_key(key, length);
        });
    if (!status.ok())
        return status;
    conf->rss_hf = rss.functions;
    conf->algorithm = static_cast<rte_eth_hash_function>(rss.algorithm);
    // ethdev has seen to it that a key of the length we promise has room; one from before may be longer.
    if (conf->rss_key != nullptr)
        std::copy_n(rss.key.begin(), std::min<std::size_t>(rss.key.size(), conf->rss_key_len), conf->rss_key);
    conf->rss_key_len = static_cast<std::uint8_t>(rss.key.size());
    return {};
}

rte_eth_dev_info VirtualPort::promised(const Locked &) const {
    std::vector<const rte_eth_dev_info *> subs;
    each_present([&](const SubDevice &sub) { subs.push_back(&sub.info()); });
    rte_eth_dev_info info{};
    intersect(subs, info);
    return info;
}

/// A size that the application may have been told, now or when it set the table.
bool VirtualPort::is_reta_size(const Locked &held, std::uint16_t size) const {
    return size != 0 && (size == settings_.reta.size() || size == promised(held).reta_size);
}

Status VirtualPort::reta_now(const Locked &, std::uint16_t size, std::vector<std::uint16_t> &table) {
    table = fit_reta(settings_.reta, size);
    Status status;
    if (table.empty())
        each_usable([&](SubDevice &sub) {
            std::vector<std::uint16_t> has;
            if (status.ok() && table.empty())
                status = sub.reta(ethdev_, has);
            if (!has.empty())
                table = fit_reta(has, size);
        });
    if (table.empty()) { // as drivers begin
        table.resize(size);
        for (std::size_t i = 0; i < table.size() && configuration_.rx_queues != 0; i++)
            table[i] = static_cast<std::uint16_t>(i % configuration_.rx_queues);
    }
    return status;
}

Status VirtualPort::reta_update(rte_eth_rss_reta_entry64 *entries, std::uint16_t size) {
    Reta reta;
    {
        const Locked held(mutex_);
        if (!is_reta_size(held, size))
            return {-EINVAL, "set a redirection table of another size than the port's"};
        if (Status s = reta_now(held, size, reta.queues); !s.ok())
            return s;
    }
    for (std::size_t i = 0; i < size; i++)
        if (const auto &group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
            (group.mask >> (i % RTE_ETH_RETA_GROUP_SIZE) & 1U) != 0)
            reta.queues[i] = group.reta[i % RTE_ETH_RETA_GROUP_SIZE];
    return change(std::move(reta));
}

Status VirtualPort::reta_query(rte_eth_rss_reta_entry64 *entries, std::uint16_t size) {
    const Locked held(mutex_);
    if (!is_reta_size(held, size))
        return {-EINVAL, "read a redirection table of another size than the port's"};
    std::vector<std::uint16_t> table;
    if (Status s = reta_now(held, size, table); !s.ok())
        return s;
    for (std::size_t i = 0; i < size; i++)
        if (auto &group = entries[i / RTE_ETH_RETA_GROUP_SIZE]; (group.mask >> (i % RTE_ETH_RETA_GROUP_SIZE) & 1U) != 0)
            group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = table[i];
    return {};
}

} // namespace holdfast
