// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// ethdev marks some of the functions that look at a port as experimental.
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif

#include "settings_rig.h"
#include "support/virtual_port.h"
#include <rte_pmd_mayfly.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// What the fault sweeps share: a port over three mayflies, everything that can be seen of them, and the operations of
/// a mayfly that a call ends in.
namespace holdfast::test {

inline constexpr std::size_t kPositions = 3;

/// What the sweeps did, for the line that says how large they were.
struct SweepSize {
    unsigned pairs = 0; ///< calls from above, each with one operation below
    unsigned failures = 0;
    unsigned delays = 0;
};

/// How often each operation of a mayfly was called.
using Counted = std::map<std::string, std::int64_t>;

inline Counted counted(const Mayfly &m) {
    Counted out;
    for (unsigned i = 0; const char *op = rte_pmd_mayfly_op_name(i); i++)
        out[op] = m.calls(op);
    return out;
}

/// The control operations that were called since.
inline std::vector<std::string> called_since(const Counted &before, const Mayfly &m) {
    std::vector<std::string> out;
    for (const auto &[op, n] : counted(m))
        if (n != before.at(op) && op != "rx_burst" && op != "tx_burst")
            out.push_back(op);
    return out;
}

/// Can a failure be ordered for it?
inline bool can_fail(const std::string &op) {
    return rte_pmd_mayfly_fail("net_mayfly0", op.c_str(), 0, 1) == 0;
}

/// Everything that can be seen, one fact a line, so that two moments can be compared: "sub0|told| ...".
using Facts = std::vector<std::string>;

/// Without those of some groups ("told", "view", "queue", "link", "stats", "states").
inline Facts without(const Facts &facts, const std::vector<std::string_view> &groups) {
    Facts out;
    for (const std::string &fact : facts) {
        bool wanted = true;
        for (const std::string_view group : groups)
            wanted = wanted && fact.find("|" + std::string(group) + "|") == std::string::npos;
        if (wanted)
            out.push_back(fact);
    }
    return out;
}

/// The mayflies of all benches: a name and what it counts lives as long as the process, so they are used again.
inline const Mayfly &station(std::size_t i) {
    static const auto &all = *new std::array{Mayfly("mode=generate"), Mayfly("mode=generate"), Mayfly("mode=generate")};
    return all[i];
}

/// A port over three mayflies that generate packets.
class Bench {
  public:
    enum class Stage : std::uint8_t { kProbed, kConfigured, kQueues, kStarted };

    Bench(rte_mempool *pool, Stage stage) : pool_(pool) {
        port_ = std::make_unique<Vport>(devargs_of(subs(), "hotplug_poll=20,mac=02:00:00:00:00:99"));
        rc_ = port_->rc();
        const auto step = [&](int rc) { rc_ = rc_ != 0 ? rc_ : rc; };
        if (stage >= Stage::kConfigured)
            step(port_->configure(shape()));
        if (stage >= Stage::kQueues)
            step(port_->set_up_queues(shape(), pool_));
        if (stage >= Stage::kStarted)
            step(port_->start());
        if (stage >= Stage::kQueues)
            step(furnish());
        if (stage >= Stage::kStarted)
            for (int i = 0; i < 9; i++) // so that there is something in the counters
                receive();
    }

    [[nodiscard]] int rc() const noexcept { return rc_; }
    [[nodiscard]] Vport &port() const noexcept { return *port_; }
    [[nodiscard]] std::uint16_t id() const noexcept { return port_->id(); }
    [[nodiscard]] static const Mayfly &sub(std::size_t i) { return station(i); }
    [[nodiscard]] rte_mempool *pool() const noexcept { return pool_; }
    [[nodiscard]] static std::vector<const Mayfly *> subs() { return {&sub(0), &sub(1), &sub(2)}; }
    [[nodiscard]] bool all_joined() const { return port_->joined(0) && port_->joined(1) && port_->joined(2); }

    static Shape shape() {
        Shape out = filtering();
        out.rx_queues = 2;
        out.tx_queues = 2;
        out.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        out.conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IP;
        return out;
    }
    /// Configured, with queues, started: whatever it lacks of that.
    [[nodiscard]] int finish() const {
        if (const int rc = rte_eth_dev_stop(id()); rc != 0)
            return rc;
        return port_->up(pool_, shape());
    }
    /// One burst from queue 0.
    unsigned receive() const {
        std::array<rte_mbuf *, 8> packets{};
        const std::uint16_t n = rte_eth_rx_burst(id(), 0, packets.data(), 8);
        rte_pktmbuf_free_bulk(packets.data(), n);
        return n;
    }

    [[nodiscard]] Facts facts() const {
        Facts out;
        for (std::size_t i = 0; i < kPositions; i++) {
            const std::string who = "sub" + std::to_string(i);
            out.push_back(who + "|told|" + told(sub(i)));
            if (const PortId id = sub(i).port(); id.valid())
                look_at(who, id.raw(), out);
            const VirtualPort::SubInfo info = port_->sub(i);
            out.push_back(who + "|states|" + info.state + (info.joined ? " joined" : "") +
                          (info.active ? " active" : ""));
        }
        look_at("port", id(), out);
        rte_eth_stats stats{};
        const int rc = rte_eth_stats_get(id(), &stats);
        out.push_back("port|stats|" + std::to_string(rc) + " " + std::to_string(stats.ipackets) + " " +
                      std::to_string(stats.ibytes));
        return out;
    }

  private:
    /// Something of each kind, so that it is seen if it gets lost.
    [[nodiscard]] int furnish() const {
        int rc = 0;
        const auto step = [&](int r) { rc = rc != 0 ? rc : r; };
        rte_ether_addr one = ether(11), two = ether(12);
        std::array list{ether(21, 3), ether(22, 3)};
        step(rte_eth_dev_set_mtu(id(), 2000));
        step(rte_eth_dev_mac_addr_add(id(), &one, 0));
        step(rte_eth_dev_mac_addr_add(id(), &two, 0));
        step(rte_eth_dev_vlan_filter(id(), 5, 1));
        step(rte_eth_dev_vlan_filter(id(), 6, 1));
        step(rte_eth_dev_set_mc_addr_list(id(), list.data(), list.size()));
        step(rte_eth_dev_set_vlan_offload(id(), RTE_ETH_VLAN_FILTER_OFFLOAD | RTE_ETH_VLAN_EXTEND_OFFLOAD));
        return rc;
    }

    static std::string told(const Mayfly &m) {
        const Told t = Told::by(m);
        std::ostringstream out;
        out << t << " configured " << int{t.plain.configured} << " queues " << t.plain.rx_queues << "/"
            << t.plain.tx_queues << " tx_offloads " << t.plain.tx_offloads << " rss " << t.plain.rss_hf << " strip "
            << t.plain.strip_queues << " mac0 " << int{t.plain.mac[0]} << " ptypes " << t.plain.ptype_mask;
        return out.str();
    }

    static void look_at(const std::string &who, std::uint16_t id, Facts &out) {
        rte_eth_conf conf{};
        std::uint16_t mtu = 0;
        rte_ether_addr mac{};
        EXPECT_EQ(rte_eth_dev_conf_get(id, &conf), 0);
        EXPECT_EQ(rte_eth_dev_get_mtu(id, &mtu), 0);
        EXPECT_EQ(rte_eth_macaddr_get(id, &mac), 0);
        std::ostringstream view;
        view << who << "|view|mtu " << mtu << " mac " << int{mac.addr_bytes[5]} << " promiscuous "
             << rte_eth_promiscuous_get(id) << " allmulticast " << rte_eth_allmulticast_get(id) << " vlan "
             << rte_eth_dev_get_vlan_offload(id) << " offloads " << conf.rxmode.offloads << "/" << conf.txmode.offloads;
        std::array<rte_ether_addr, RTE_ETH_NUM_RECEIVE_MAC_ADDR> macs{};
        if (rte_eth_macaddrs_get(id, macs.data(), macs.size()) > 0)
            for (const rte_ether_addr &m : macs)
                if (rte_is_zero_ether_addr(&m) == 0)
                    view << " ..." << int{m.addr_bytes[5]};
        out.push_back(view.str());
        for (std::uint16_t q = 0; q < 2; q++) {
            rte_eth_rxq_info rx{};
            rte_eth_txq_info tx{};
            std::ostringstream text;
            text << who << "|queue|" << q << ": rx " << rte_eth_rx_queue_info_get(id, q, &rx) << " " << rx.nb_desc
                 << " " << int{rx.queue_state} << " tx " << rte_eth_tx_queue_info_get(id, q, &tx) << " " << tx.nb_desc
                 << " " << int{tx.queue_state};
            out.push_back(text.str());
        }
        rte_eth_link link{};
        EXPECT_EQ(rte_eth_link_get_nowait(id, &link), 0);
        out.push_back(who + "|link|" + std::to_string(int{link.link_status}) + " " + std::to_string(link.link_speed));
    }

    rte_mempool *const pool_;
    std::unique_ptr<Vport> port_;
    int rc_ = 0;
};

/// An lcore that polls a port for as long as the object lives.
class Traffic {
  public:
    explicit Traffic(const Bench &bench)
        : lcore_([this, &bench] {
              while (!stop_.load(std::memory_order_relaxed)) {
                  packets_.fetch_add(bench.receive(), std::memory_order_relaxed);
                  std::this_thread::yield();
              }
          }) {}
    ~Traffic() {
        stop_.store(true, std::memory_order_relaxed);
        lcore_.join();
    }
    Traffic(const Traffic &) = delete;
    Traffic &operator=(const Traffic &) = delete;
    [[nodiscard]] std::uint64_t packets() const noexcept { return packets_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> packets_{0};
    std::thread lcore_;
};

} // namespace holdfast::test
