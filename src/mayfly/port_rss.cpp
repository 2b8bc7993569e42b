// SPDX-License-Identifier: BSD-3-Clause
// Receive side scaling: which queue a generated flow comes in on.
#include "mayfly/port.h"

#include <cstring>

namespace holdfast::mayfly {

void Port::steer() noexcept {
    if (config_.flows == 0)
        return;
    device_.settings([&](const Settings &s) { device_.steering.update(s, config_.flows); });
    device_.ring_all(); // a queue that sleeps may have got its first flow
}

Status Port::rss_update(rte_eth_rss_conf *conf) {
    if (conf->rss_key != nullptr && conf->rss_key_len != config_.hash_key_size)
        return {-EINVAL, "set the RSS key: not the length of this device's"};
    device_.settings([conf](Settings &s) {
        s.rss_hf = conf->rss_hf;
        s.rss_algorithm = conf->algorithm;
        if (conf->rss_key != nullptr)
            s.rss_key.assign(conf->rss_key, conf->rss_key + conf->rss_key_len);
    });
    steer();
    return {};
}

Status Port::rss_get(rte_eth_rss_conf *conf) {
    device_.settings([conf](const Settings &s) {
        conf->rss_hf = s.rss_hf;
        conf->algorithm = static_cast<rte_eth_hash_function>(s.rss_algorithm);
        if (conf->rss_key != nullptr && conf->rss_key_len >= s.rss_key.size())
            std::memcpy(conf->rss_key, s.rss_key.data(), s.rss_key.size());
        conf->rss_key_len = static_cast<std::uint8_t>(s.rss_key.size());
    });
    return {};
}

Status Port::reta_update(rte_eth_rss_reta_entry64 *reta, std::uint16_t size) {
    if (size != config_.reta_size)
        return {-EINVAL, "update the redirection table: not the size of this device's"};
    device_.settings([&](Settings &s) {
        for (std::uint16_t i = 0; i < size; i++) {
            const rte_eth_rss_reta_entry64 &group = reta[i / RTE_ETH_RETA_GROUP_SIZE];
            if ((group.mask >> (i % RTE_ETH_RETA_GROUP_SIZE) & 1) != 0)
                s.reta[i] = group.reta[i % RTE_ETH_RETA_GROUP_SIZE];
        }
    });
    steer();
    return {};
}

Status Port::reta_query(rte_eth_rss_reta_entry64 *reta, std::uint16_t size) {
    if (size != config_.reta_size)
        return {-EINVAL, "query the redirection table: not the size of this device's"};
    device_.settings([&](const Settings &s) {
        for (std::uint16_t i = 0; i < size; i++) {
            rte_eth_rss_reta_entry64 &group = reta[i / RTE_ETH_RETA_GROUP_SIZE];
            if ((group.mask >> (i % RTE_ETH_RETA_GROUP_SIZE) & 1) != 0)
                group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = s.reta[i];
        }
    });
    return {};
}

} // namespace holdfast::mayfly
