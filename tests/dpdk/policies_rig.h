// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/frame.h"
#include "traffic_rig.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A virtual port whose sub-devices' links lead to ports of the test.
namespace holdfast::test {

/// The other end of a sub-device's link: a port of the test's own.
class Far {
  public:
    Far(const Mayfly &near, std::string name, rte_mempool *pool) : name_(std::move(name)) {
        EXPECT_EQ(rte_vdev_init(name_.c_str(), ("mode=pair,peer=" + near.name()).c_str()), 0);
        EXPECT_EQ(rte_eth_dev_get_port_by_name(name_.c_str(), &id_), 0);
        const rte_eth_conf conf{};
        EXPECT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
        EXPECT_EQ(rte_eth_rx_queue_setup(id_, 0, 1024, 0, nullptr, pool), 0);
        EXPECT_EQ(rte_eth_tx_queue_setup(id_, 0, 1024, 0, nullptr), 0);
        EXPECT_EQ(rte_eth_dev_start(id_), 0);
    }
    ~Far() {
        EXPECT_EQ(rte_eth_dev_stop(id_), 0);
        EXPECT_EQ(rte_vdev_uninit(name_.c_str()), 0);
    }
    Far(const Far &) = delete;
    Far &operator=(const Far &) = delete;

    /// What has come over the link: number and flow of each packet. They are freed.
    struct Seen {
        unsigned number, flow;
    };
    std::vector<Seen> receive() {
        std::vector<Seen> out;
        std::array<rte_mbuf *, 64> p{};
        while (const std::uint16_t n = rte_eth_rx_burst(id_, 0, p.data(), 64)) {
            for (std::uint16_t i = 0; i < n; i++)
                out.push_back({number_in(p[i]), flow_in(p[i])});
            rte_pktmbuf_free_bulk(p.data(), n);
        }
        return out;
    }
    std::uint16_t send(std::vector<rte_mbuf *> p) {
        const auto n = static_cast<std::uint16_t>(p.size());
        const std::uint16_t sent = rte_eth_tx_burst(id_, 0, p.data(), n);
        rte_pktmbuf_free_bulk(p.data() + sent, n - sent);
        return sent;
    }

    static unsigned flow_in(const rte_mbuf *m) { return rte_pktmbuf_mtod(m, const std::uint8_t *)[5]; }
    static unsigned number_in(const rte_mbuf *m) {
        const std::uint8_t *last = rte_pktmbuf_mtod(m, const std::uint8_t *) + kLength - 2;
        return last[0] * 256U + last[1];
    }
    static constexpr std::size_t kLength = 64;

  private:
    const std::string name_;
    std::uint16_t id_ = RTE_MAX_ETHPORTS;
};

class Policies : public Traffic {
  protected:
    /// A virtual port over `subs` sub-devices, each linked with a far end.
    void make(std::size_t subs, const std::string &policy) {
        for (std::size_t i = 0; i < subs; i++) {
            const std::string far = unique("net_mayfly_far");
            near_.push_back(std::make_unique<Mayfly>("mode=pair,peer=" + far));
            far_.push_back(std::make_unique<Far>(*near_.back(), far, pool()));
        }
        std::vector<const Mayfly *> raw;
        for (const auto &m : near_)
            raw.push_back(m.get());
        port_ = std::make_unique<Vport>(devargs_of(raw, "hotplug_poll=5," + policy));
        ASSERT_EQ(port_->rc(), 0);
    }
    void up(std::size_t subs, const std::string &policy) {
        make(subs, policy);
        ASSERT_EQ(port_->up(pool(), {.descriptors = 1024, .conf = {}}), 0);
        ASSERT_TRUE(eventually([&] { return all_joined(*port_); }));
    }
    void TearDown() override {
        port_.reset();
        std::vector<const Mayfly *> raw;
        for (const auto &m : near_)
            raw.push_back(m.get());
        expect_no_late_access(raw);
        far_.clear();
        near_.clear();
        Traffic::TearDown();
    }
    Vport &port() { return *port_; }
    Mayfly &near(std::size_t i) { return *near_.at(i); }
    Far &far(std::size_t i) { return *far_.at(i); }

    /// n UDP packets, from number `first` on, of `flows` flows in turn.
    std::vector<rte_mbuf *> flows(std::size_t n, unsigned first = 0, unsigned flows = 50) {
        std::vector<rte_mbuf *> out(n);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool(), out.data(), static_cast<unsigned>(n)), 0);
        for (std::size_t i = 0; i < n; i++) {
            const auto number = static_cast<unsigned>(first + i);
            const auto flow = static_cast<std::uint8_t>(number % flows);
            std::vector<std::uint8_t> bytes = Frame({.to = flow, .source = flow}).bytes();
            bytes.resize(Far::kLength);
            bytes[Far::kLength - 2] = static_cast<std::uint8_t>(number >> 8U);
            bytes[Far::kLength - 1] = static_cast<std::uint8_t>(number);
            std::copy(bytes.begin(), bytes.end(),
                      reinterpret_cast<std::uint8_t *>(rte_pktmbuf_append(out[i], Far::kLength)));
        }
        return out;
    }
    /// Sends them, the unsent again, up to a generous limit; says how many left.
    std::size_t send_all(std::vector<rte_mbuf *> p) {
        std::size_t sent = 0;
        for (int tries = 0; sent < p.size() && tries < 100; tries++)
            sent += port().tx(p.data() + sent, static_cast<std::uint16_t>(p.size() - sent));
        rte_pktmbuf_free_bulk(p.data() + sent, static_cast<unsigned>(p.size() - sent));
        return sent;
    }
    std::map<std::string, std::uint64_t> xstats() {
        const int n = rte_eth_xstats_get_names(port().id(), nullptr, 0);
        std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(n));
        std::vector<rte_eth_xstat> values(static_cast<std::size_t>(n));
        EXPECT_EQ(rte_eth_xstats_get_names(port().id(), names.data(), static_cast<unsigned>(n)), n);
        EXPECT_EQ(rte_eth_xstats_get(port().id(), values.data(), static_cast<unsigned>(n)), n);
        std::map<std::string, std::uint64_t> out;
        for (const rte_eth_xstat &v : values)
            out[names.at(v.id).name] = v.value;
        return out;
    }

  private:
    std::vector<std::unique_ptr<Mayfly>> near_;
    std::vector<std::unique_ptr<Far>> far_;
    std::unique_ptr<Vport> port_;
};

} // namespace holdfast::test
