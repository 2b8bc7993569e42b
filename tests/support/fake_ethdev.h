// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/ethdev.h"
#include "base/ids.h"
#include "support/fake_ops.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// The seam to ethdev, played by a model of some NICs: it keeps what is set on each, refuses what ethdev itself would
// refuse, counts calls, and fails the n-th call of an operation on request.

namespace holdfast::fake {

struct MacLess {
    bool operator()(const rte_ether_addr &a, const rte_ether_addr &b) const noexcept {
        return std::memcmp(&a, &b, sizeof(a)) < 0;
    }
};

/// 02:00:00:00:00:LAST
inline rte_ether_addr mac(std::uint8_t last) noexcept {
    return {{2, 0, 0, 0, 0, last}};
}

/// What an application can set on a NIC, as the NIC has it. Comparable: two NICs that were given the same are equal.
struct NicSettings {
    std::uint16_t mtu = RTE_ETHER_MTU;
    bool promiscuous = false;
    bool allmulticast = false;
    rte_ether_addr default_mac = fake::mac(1);
    std::map<rte_ether_addr, std::uint64_t, MacLess> macs; ///< pools by address, the default one only if it was added
    std::bitset<4096> vlans;
    int vlan_offload = 0;
    std::vector<rte_ether_addr> mc_list;
    bool link_up = true;
    std::uint64_t rss_functions = 0;
    std::vector<std::uint8_t> rss_key;
    std::vector<std::uint16_t> reta;

    friend bool operator==(const NicSettings &a, const NicSettings &b) {
        const auto same = [](const rte_ether_addr &x, const rte_ether_addr &y) {
            return std::memcmp(&x, &y, sizeof(x)) == 0;
        };
        return a.mtu == b.mtu && a.promiscuous == b.promiscuous && a.allmulticast == b.allmulticast &&
               same(a.default_mac, b.default_mac) &&
               std::equal(
                   a.macs.begin(), a.macs.end(), b.macs.begin(), b.macs.end(),
                   [&](const auto &x, const auto &y) { return same(x.first, y.first) && x.second == y.second; }) &&
               a.vlans == b.vlans && a.vlan_offload == b.vlan_offload &&
               std::equal(a.mc_list.begin(), a.mc_list.end(), b.mc_list.begin(), b.mc_list.end(), same) &&
               a.link_up == b.link_up && a.rss_functions == b.rss_functions && a.rss_key == b.rss_key &&
               a.reta == b.reta;
    }
};

struct Nic {
    NicSettings set;
    rte_eth_dev_info info{};
    abi::PortStats stats{};
    rte_eth_conf conf{};
    std::uint16_t rx_queues = 0;
    std::uint16_t tx_queues = 0;
    std::size_t most_macs = 128; ///< beside the default one
    bool configured = false;
    bool started = false;
    bool removed = false; ///< answers -EIO, as ethdev does for a device that has gone
    bool can_run_queues = true;
    std::bitset<64> rx_set_up, tx_set_up, rx_running, tx_running;

    Nic() {
        info.min_mtu = RTE_ETHER_MIN_MTU;
        info.max_mtu = 9000;
        info.max_rx_pktlen = 9000 + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
        info.max_rx_queues = 64;
        info.max_tx_queues = 64;
        info.max_mac_addrs = 128;
        info.rx_desc_lim = {.nb_max = 4096, .nb_min = 32, .nb_align = 8, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
        info.tx_desc_lim = info.rx_desc_lim;
    }
};

class Ethdev final : public abi::Ethdev {
  public:
    /// A port that was never named before is a new NIC with defaults.
    Nic &nic(PortId port) { return nics_[port]; }

    /// Lets the `nth` call from now (1: the next) of an operation fail with -error; those before and after work. On one
    /// port.
    void fail(PortId port, Op op, int error, unsigned nth = 1) { failures_[{port, op}].push_back({nth, error}); }
    /// Lets all calls of an operation fail, until 0.
    void fail_always(PortId port, Op op, int error) { always_[{port, op}] = error; }

    [[nodiscard]] unsigned calls(Op op) const noexcept { return calls_[static_cast<std::size_t>(op)]; }
    /// All calls of operations that change something, in order.
    [[nodiscard]] const std::vector<std::pair<PortId, Op>> &log() const noexcept { return log_; }
    void forget_calls() {
        calls_ = {};
        log_.clear();
    }

    int info(PortId port, rte_eth_dev_info &out) override {
        return call(port, Op::kInfo, [&](Nic &n) { return out = n.info, 0; });
    }
    int configure(PortId port, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf &conf) override {
        return call(port, Op::kConfigure, [&](Nic &n) {
            if (n.started)
                return -EBUSY;
            if (rx > n.info.max_rx_queues || tx > n.info.max_tx_queues ||
                (conf.rxmode.offloads & ~n.info.rx_offload_capa) != 0 ||
                (conf.txmode.offloads & ~n.info.tx_offload_capa) != 0)
                return -EINVAL;
            n.conf = conf;
            n.rx_queues = rx;
            n.tx_queues = tx;
            n.configured = true;
            n.rx_set_up.reset();
            n.tx_set_up.reset();
            if (conf.rxmode.mtu != 0)
                n.set.mtu = static_cast<std::uint16_t>(conf.rxmode.mtu);
            return 0;
        });
    }
    int rx_queue_setup(PortId port, QueueId q, std::uint16_t descriptors, unsigned, const rte_eth_rxconf &,
                       rte_mempool *) override {
        return call(port, Op::kRxQueueSetup,
                    [&](Nic &n) { return set_up(n, n.rx_set_up, q, n.rx_queues, descriptors, n.info.rx_desc_lim); });
    }
    int tx_queue_setup(PortId port, QueueId q, std::uint16_t descriptors, unsigned, const rte_eth_txconf &) override {
        return call(port, Op::kTxQueueSetup,
                    [&](Nic &n) { return set_up(n, n.tx_set_up, q, n.tx_queues, descriptors, n.info.tx_desc_lim); });
    }
    int start(PortId port) override {
        return call(port, Op::kStart, [&](Nic &n) {
            if (!n.configured || n.rx_set_up.count() != n.rx_queues || n.tx_set_up.count() != n.tx_queues)
                return -EINVAL;
            n.started = true;
            n.rx_running = n.rx_set_up;
            n.tx_running = n.tx_set_up;
            return 0;
        });
    }
    int stop(PortId port) override {
        return call(port, Op::kStop, [&](Nic &n) {
            n.started = false;
            n.rx_running.reset();
            n.tx_running.reset();
            return 0;
        });
    }
    int reset(PortId port) override {
        return call(port, Op::kReset, [&](Nic &n) { return n.started = n.configured = false, 0; });
    }
    int rx_queue_run(PortId port, QueueId q, bool run) override {
        return call(port, Op::kRxQueueRun, [&](Nic &n) { return run_queue(n, n.rx_running, q, n.rx_queues, run); });
    }
    int tx_queue_run(PortId port, QueueId q, bool run) override {
        return call(port, Op::kTxQueueRun, [&](Nic &n) { return run_queue(n, n.tx_running, q, n.tx_queues, run); });
    }
    bool can_run_queues(PortId port) override { return nic(port).can_run_queues; }

    int set_link(PortId port, bool up) override {
        return call(port, Op::kSetLink, [&](Nic &n) { return n.set.link_up = up, 0; });
    }
    int link(PortId port, rte_eth_link &out) override {
        return call(port, Op::kLink, [&](Nic &n) {
            out = {};
            out.link_status = n.started && n.set.link_up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
            return 0;
        });
    }
    int stats(PortId port, abi::PortStats &out) override {
        return call(port, Op::kStats, [&](Nic &n) { return out = n.stats, 0; });
    }
    int stats_reset(PortId port) override {
        return call(port, Op::kStatsReset, [&](Nic &n) { return n.stats = {}, 0; });
    }
    bool is_removed(PortId port) override {
        count(port, Op::kIsRemoved);
        return nic(port).removed;
    }

    int set_mtu(PortId port, std::uint16_t mtu) override {
        return call(port, Op::kSetMtu, [&](Nic &n) {
            if (mtu < n.info.min_mtu || mtu > n.info.max_mtu)
                return -EINVAL;
            return n.set.mtu = mtu, 0;
        });
    }
    int mtu(PortId port, std::uint16_t &out) override {
        return call(port, Op::kMtu, [&](Nic &n) { return out = n.set.mtu, 0; });
    }
    bool prepare_to_send() override { return true; }
    std::size_t send(PortId, QueueId, std::span<const std::span<const std::uint8_t>> frames) override {
        return frames.size();
    }
    int tx_status(PortId, QueueId, std::uint16_t) override { return RTE_ETH_TX_DESC_DONE; }
    bool promiscuous(PortId port) override {
        count(port, Op::kPromiscuous);
        return nic(port).set.promiscuous;
    }
    bool allmulticast(PortId port) override {
        count(port, Op::kAllmulticast);
        return nic(port).set.allmulticast;
    }
    int set_promiscuous(PortId port, bool on) override {
        return call(port, Op::kSetPromiscuous, [&](Nic &n) { return n.set.promiscuous = on, 0; });
    }
    int set_allmulticast(PortId port, bool on) override {
        return call(port, Op::kSetAllmulticast, [&](Nic &n) { return n.set.allmulticast = on, 0; });
    }
    int mac(PortId port, rte_ether_addr &out) override {
        return call(port, Op::kMac, [&](Nic &n) { return out = n.set.default_mac, 0; });
    }
    int set_default_mac(PortId port, const rte_ether_addr &mac) override {
        return call(port, Op::kSetDefaultMac, [&](Nic &n) {
            if (rte_is_valid_assigned_ether_addr(&mac) == 0)
                return -EINVAL;
            if (rte_is_same_ether_addr(&mac, &n.set.default_mac) != 0)
                return 0;
            if (n.set.macs.contains(mac)) // ethdev wants it removed from the list first
                return -EEXIST;
            n.set.macs.erase(n.set.default_mac); // it had the same place in the list
            return n.set.default_mac = mac, 0;
        });
    }
    int add_mac(PortId port, const rte_ether_addr &mac, std::uint32_t pool) override {
        return call(port, Op::kAddMac, [&](Nic &n) {
            if (pool >= 64)
                return -EINVAL;
            if (!n.set.macs.contains(mac) && rte_is_same_ether_addr(&mac, &n.set.default_mac) == 0 &&
                n.set.macs.size() >= n.most_macs)
                return -ENOSPC;
            n.set.macs[mac] |= std::uint64_t{1} << pool;
            return 0;
        });
    }
    int remove_mac(PortId port, const rte_ether_addr &mac) override {
        return call(port, Op::kRemoveMac, [&](Nic &n) {
            if (rte_is_same_ether_addr(&mac, &n.set.default_mac) != 0)
                return -EADDRINUSE;
            return n.set.macs.erase(mac), 0; // from all pools
        });
    }
    int set_mc_list(PortId port, std::span<const rte_ether_addr> list) override {
        return call(port, Op::kSetMcList, [&](Nic &n) { return n.set.mc_list.assign(list.begin(), list.end()), 0; });
    }
    int set_vlan_filter(PortId port, std::uint16_t vlan, bool on) override {
        return call(port, Op::kSetVlanFilter, [&](Nic &n) {
            if (vlan > 4095)
                return -EINVAL;
            return n.set.vlans.set(vlan, on), 0;
        });
    }
    int set_vlan_offload(PortId port, int mask) override {
        return call(port, Op::kSetVlanOffload, [&](Nic &n) { return n.set.vlan_offload = mask, 0; });
    }
    int vlan_offload(PortId port) override {
        count(port, Op::kVlanOffload);
        return nic(port).set.vlan_offload;
    }
    Leftovers leftovers(PortId port) override {
        count(port, Op::kLeftovers);
        const NicSettings &set = nic(port).set;
        return {.macs = {set.macs.begin(), set.macs.end()}, .vlans = set.vlans};
    }
    int rss(PortId port, rte_eth_rss_conf &conf) override {
        return call(port, Op::kRss, [&](Nic &n) {
            conf.rss_hf = n.set.rss_functions;
            conf.algorithm = RTE_ETH_HASH_FUNCTION_DEFAULT;
            if (conf.rss_key != nullptr)
                std::copy_n(n.set.rss_key.begin(), std::min<std::size_t>(n.set.rss_key.size(), conf.rss_key_len),
                            conf.rss_key);
            return conf.rss_key_len = static_cast<std::uint8_t>(n.set.rss_key.size()), 0;
        });
    }
    int set_rss(PortId port, const rte_eth_rss_conf &conf) override {
        return call(port, Op::kSetRss, [&](Nic &n) {
            if ((conf.rss_hf & ~n.info.flow_type_rss_offloads) != 0 ||
                (conf.rss_key != nullptr && conf.rss_key_len != n.info.hash_key_size))
                return -EINVAL;
            n.set.rss_functions = conf.rss_hf;
            if (conf.rss_key != nullptr)
                n.set.rss_key.assign(conf.rss_key, conf.rss_key + conf.rss_key_len);
            return 0;
        });
    }
    int reta(PortId port, std::span<std::uint16_t> table) override {
        return call(port, Op::kReta, [&](Nic &n) {
            if (table.size() != n.set.reta.size())
                return -EINVAL;
            return std::copy(n.set.reta.begin(), n.set.reta.end(), table.begin()), 0;
        });
    }
    int set_reta(PortId port, std::span<const std::uint16_t> table) override {
        return call(port, Op::kSetReta, [&](Nic &n) {
            if (table.size() != n.info.reta_size)
                return -EINVAL;
            return n.set.reta.assign(table.begin(), table.end()), 0;
        });
    }

  private:
    struct Failure {
        unsigned in; ///< calls until it comes
        int error;
    };

    static bool is_question(Op op) noexcept {
        return op == Op::kInfo || op == Op::kLink || op == Op::kStats || op == Op::kIsRemoved || op == Op::kMtu ||
               op == Op::kPromiscuous || op == Op::kAllmulticast || op == Op::kMac || op == Op::kVlanOffload ||
               op == Op::kLeftovers || op == Op::kRss || op == Op::kReta;
    }

    void count(PortId port, Op op) {
        calls_[static_cast<std::size_t>(op)]++;
        if (!is_question(op))
            log_.emplace_back(port, op);
    }

    template <class F> int call(PortId port, Op op, F f) {
        count(port, op);
        int error = 0;
        for (Failure &failure : failures_[{port, op}])
            if (failure.in > 0 && --failure.in == 0)
                error = failure.error;
        if (const auto it = always_.find({port, op}); error == 0 && it != always_.end())
            error = it->second;
        if (error != 0)
            return -error;
        Nic &n = nic(port);
        // ethdev answers these from its own memory.
        if (n.removed && op != Op::kInfo && op != Op::kMac && op != Op::kMtu)
            return -EIO;
        return f(n);
    }

    static int set_up(const Nic &n, std::bitset<64> &queues, QueueId q, std::uint16_t have, std::uint16_t descriptors,
                      const rte_eth_desc_lim &limits) {
        if (!n.configured || q.raw() >= have || descriptors > limits.nb_max || descriptors < limits.nb_min ||
            descriptors % std::max<std::uint16_t>(limits.nb_align, 1) != 0)
            return -EINVAL;
        if (n.started)
            return -EBUSY;
        return queues.set(q.raw()), 0;
    }

    static int run_queue(const Nic &n, std::bitset<64> &queues, QueueId q, std::uint16_t have, bool run) {
        if (!n.can_run_queues)
            return -ENOTSUP;
        if (!n.started || q.raw() >= have)
            return -EINVAL;
        return queues.set(q.raw(), run), 0;
    }

    std::map<PortId, Nic> nics_;
    std::map<std::pair<PortId, Op>, std::vector<Failure>> failures_;
    std::map<std::pair<PortId, Op>, int> always_;
    std::array<unsigned, static_cast<std::size_t>(Op::kCount)> calls_{};
    std::vector<std::pair<PortId, Op>> log_;
};

} // namespace holdfast::fake
