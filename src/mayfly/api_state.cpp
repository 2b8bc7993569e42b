// SPDX-License-Identifier: BSD-3-Clause
// The C API: what can be seen of a device.
#include "mayfly/api.h"
#include "mayfly/arena.h"
#include "mayfly/totals.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace {

using namespace holdfast;
using namespace holdfast::mayfly;

/// Copies as many elements as fit and says how many there are. The settings are those of a port, so there must be one.
template <class List, class Copy> int copy_out(const char *name, unsigned count, List &&list, Copy &&copy) {
    return run(name, [&](Device &device) {
        if (!device.has_port())
            return -ENODEV;
        const auto all = device.settings(list);
        unsigned i = 0;
        for (const auto &element : all) {
            if (i == count)
                break;
            copy(i++, element);
        }
        return static_cast<int>(all.size());
    });
}

} // namespace

int64_t rte_pmd_mayfly_calls(const char *name, const char *op) {
    return run(name, op, [](Device &device, Op known) -> int64_t { return static_cast<int64_t>(device.calls(known)); });
}

const char *rte_pmd_mayfly_op_name(unsigned int number) {
    return number < kOps ? traits(static_cast<Op>(number)).name.data() : nullptr;
}

int64_t rte_pmd_mayfly_count(const char *name, enum rte_pmd_mayfly_counter what) {
    return run(name, [what](Device &device) -> int64_t { return total(device, what); });
}

int64_t rte_pmd_mayfly_late_accesses(void) {
    return static_cast<int64_t>(late_accesses());
}

int rte_pmd_mayfly_presence(const char *name) {
    return run(name, [](Device &device) { return static_cast<int>(device.presence()); });
}

int rte_pmd_mayfly_port(const char *name) {
    return run(name, [](Device &device) { return device.port_id(); });
}

int rte_pmd_mayfly_id(const char *name) {
    return run(name, [](Device &device) { return static_cast<int>(device.id); });
}

int rte_pmd_mayfly_get_settings(const char *name, struct rte_pmd_mayfly_settings *settings) {
    return run(name, [settings](Device &device) {
        if (settings == nullptr)
            return -EINVAL;
        if (!device.has_port())
            return -ENODEV;
        device.settings([&](const Settings &s) {
            *settings = {};
            settings->configured = s.configured ? 1 : 0;
            settings->started = s.started ? 1 : 0;
            settings->promiscuous = s.promiscuous ? 1 : 0;
            settings->allmulticast = s.allmulticast ? 1 : 0;
            settings->link_wanted = s.link_wanted ? 1 : 0;
            std::copy(s.mac.begin(), s.mac.end(), settings->mac);
            settings->mtu = s.mtu;
            settings->rx_queues = s.rx_queues;
            settings->tx_queues = s.tx_queues;
            settings->macs = static_cast<uint16_t>(s.macs.size());
            settings->vlans = static_cast<uint16_t>(s.vlans.count());
            settings->mc_macs = static_cast<uint16_t>(s.mc_macs.size());
            settings->pvid = s.pvid;
            settings->tpid_outer = s.tpid_outer;
            settings->tpid_inner = s.tpid_inner;
            settings->rx_offloads = s.rx_offloads;
            settings->tx_offloads = s.tx_offloads;
            settings->strip_queues = s.strip_queues;
            settings->rss_hf = s.rss_hf;
            settings->rss_algorithm = s.rss_algorithm;
            settings->fc_mode = s.fc_mode;
            settings->fc_high_water = s.fc_high_water;
            settings->fc_low_water = s.fc_low_water;
            settings->fc_pause_time = s.fc_pause_time;
            settings->reta_size = static_cast<uint16_t>(s.reta.size());
            settings->ptype_mask = s.ptype_mask;
        });
        return 0;
    });
}

int rte_pmd_mayfly_macs(const char *name, uint8_t (*macs)[6], unsigned int count) {
    return copy_out(
        name, count, [](const Settings &s) { return s.macs; },
        [macs](unsigned i, const auto &slot) { std::copy(slot.second.begin(), slot.second.end(), macs[i]); });
}

int rte_pmd_mayfly_mc_macs(const char *name, uint8_t (*macs)[6], unsigned int count) {
    return copy_out(
        name, count, [](const Settings &s) { return s.mc_macs; },
        [macs](unsigned i, const Mac &mac) { std::copy(mac.begin(), mac.end(), macs[i]); });
}

int rte_pmd_mayfly_vlans(const char *name, uint16_t *vlans, unsigned int count) {
    const auto list = [](const Settings &s) {
        std::vector<uint16_t> ids;
        for (std::size_t id = 0; id < s.vlans.size(); id++)
            if (s.vlans.test(id))
                ids.push_back(static_cast<uint16_t>(id));
        return ids;
    };
    return copy_out(name, count, list, [vlans](unsigned i, uint16_t id) { vlans[i] = id; });
}

int rte_pmd_mayfly_rss_key(const char *name, uint8_t *key, unsigned int count) {
    return copy_out(
        name, count, [](const Settings &s) { return s.rss_key; }, [key](unsigned i, uint8_t byte) { key[i] = byte; });
}

int rte_pmd_mayfly_reta(const char *name, uint16_t *queues, unsigned int count) {
    return copy_out(
        name, count, [](const Settings &s) { return s.reta; },
        [queues](unsigned i, uint16_t queue) { queues[i] = queue; });
}
