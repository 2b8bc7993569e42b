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
    if (rss.key.empty() && length != 0) // then the sub-devices have their own; the active one's counts
        each_usable([&](SubDevice &sub) {
            if (rss.key.empty())
                rss.key = fit_rss_key(sub.rss_key(ethdev_), length);
        });
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

std::vector<std::uint16_t> VirtualPort::reta_now(const Locked &, std::uint16_t size) {
    std::vector<std::uint16_t> table = fit_reta(settings_.reta, size);
    if (table.empty())
        each_usable([&](SubDevice &sub) {
            if (table.empty())
                table = fit_reta(sub.reta(ethdev_), size);
        });
    if (table.empty()) { // as drivers begin
        table.resize(size);
        for (std::size_t i = 0; i < table.size() && configuration_.rx_queues != 0; i++)
            table[i] = static_cast<std::uint16_t>(i % configuration_.rx_queues);
    }
    return table;
}

Status VirtualPort::reta_update(rte_eth_rss_reta_entry64 *entries, std::uint16_t size) {
    Reta reta;
    {
        const Locked held(mutex_);
        if (!is_reta_size(held, size))
            return {-EINVAL, "set a redirection table of another size than the port's"};
        reta.queues = reta_now(held, size);
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
    const std::vector<std::uint16_t> table = reta_now(held, size);
    for (std::size_t i = 0; i < size; i++)
        if (auto &group = entries[i / RTE_ETH_RETA_GROUP_SIZE]; (group.mask >> (i % RTE_ETH_RETA_GROUP_SIZE) & 1U) != 0)
            group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = table[i];
    return {};
}

} // namespace holdfast
