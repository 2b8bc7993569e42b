// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/virtual_port.h"

#include <gmock/gmock.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace holdfast::test {

/// A thread that calls what an application's control thread calls, all the time. Whatever comes and goes below, each
/// call has to succeed: a sub-device that vanishes is no error of the call, and counters never go backwards.
class Caller {
  public:
    Caller(std::uint16_t port, std::uint64_t seed) : port_(port), random_(seed + 1), thread_([this] { run(); }) {}
    ~Caller() { stop(); }
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;

    void stop() {
        // pairs: caller-stop (Caller::run).
        stop_.store(true, std::memory_order_relaxed);
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] std::uint64_t calls() const noexcept {
        return calls_.load(std::memory_order_relaxed); // pairs: caller-calls (Caller::run)
    }
    /// After stop(): does a sub-device have what was set last?
    void expect_settings(const Mayfly &m) const {
        const rte_pmd_mayfly_settings has = m.settings();
        EXPECT_EQ(has.mtu, mtu_) << m.name();
        EXPECT_EQ(has.promiscuous != 0, promiscuous_) << m.name();
        EXPECT_EQ(has.allmulticast != 0, allmulticast_) << m.name();
        EXPECT_EQ(std::memcmp(has.mac, mac_.addr_bytes, sizeof(has.mac)), 0) << m.name();
        EXPECT_EQ(has.macs, second_ ? 1 : 0) << m.name();
        EXPECT_EQ(has.started, 1) << m.name();
    }

  private:
    friend class CallerPaused;
    static constexpr rte_ether_addr kSecond{{0x02, 0, 0, 0, 0, 0xee}};

    void run() {
        mtu_ = 1500;
        EXPECT_EQ(rte_eth_macaddr_get(port_, &mac_), 0);
        promiscuous_ = rte_eth_promiscuous_get(port_) == 1;
        allmulticast_ = rte_eth_allmulticast_get(port_) == 1;
        while (!stop_.load(std::memory_order_relaxed)) { // pairs: caller-stop (Caller::stop)
            {
                const std::lock_guard held(pause_);
                call(random_() % 9);
            }
            calls_.fetch_add(1, std::memory_order_relaxed); // pairs: caller-calls (Caller::calls)
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
        }
    }

    void call(std::uint64_t which) {
        switch (which) {
        case 0:
            mtu_ = static_cast<std::uint16_t>(1400 + random_() % 100);
            EXPECT_EQ(rte_eth_dev_set_mtu(port_, mtu_), 0);
            break;
        case 1:
            mac_ = {{0x02, 0, 0, 0, 1, static_cast<std::uint8_t>(random_())}};
            EXPECT_EQ(rte_eth_dev_default_mac_addr_set(port_, &mac_), 0);
            break;
        case 2:
            promiscuous_ = !promiscuous_;
            EXPECT_EQ(promiscuous_ ? rte_eth_promiscuous_enable(port_) : rte_eth_promiscuous_disable(port_), 0);
            break;
        case 3:
            allmulticast_ = !allmulticast_;
            EXPECT_EQ(allmulticast_ ? rte_eth_allmulticast_enable(port_) : rte_eth_allmulticast_disable(port_), 0);
            break;
        case 4: {
            rte_ether_addr second = kSecond;
            second_ = !second_;
            EXPECT_EQ(
                second_ ? rte_eth_dev_mac_addr_add(port_, &second, 0) : rte_eth_dev_mac_addr_remove(port_, &second), 0);
            break;
        }
        case 5: {
            rte_eth_link link{};
            EXPECT_EQ(rte_eth_link_get_nowait(port_, &link), 0);
            break;
        }
        case 6: {
            rte_eth_dev_info info{};
            EXPECT_EQ(rte_eth_dev_info_get(port_, &info), 0);
            break;
        }
        case 7:
            EXPECT_GE(rte_eth_rx_queue_count(port_, 0), -ENOTSUP);
            (void)rte_eth_tx_descriptor_status(port_, 1, 0);
            break;
        default: {
            rte_eth_stats stats{};
            EXPECT_EQ(rte_eth_stats_get(port_, &stats), 0);
            EXPECT_GE(stats.ipackets, stats_.ipackets);
            EXPECT_GE(stats.opackets, stats_.opackets);
            EXPECT_GE(stats.ibytes, stats_.ibytes);
            EXPECT_GE(stats.obytes, stats_.obytes);
            stats_ = stats;
            break;
        }
        }
    }

    const std::uint16_t port_;
    std::mt19937_64 random_;
    std::mutex pause_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> calls_{0};
    // The thread's own, and others' after it ended.
    std::uint16_t mtu_ = 0;
    rte_ether_addr mac_{};
    bool promiscuous_ = false;
    bool allmulticast_ = false;
    bool second_ = false;
    rte_eth_stats stats_{};
    std::thread thread_;
};

/// Between two calls of a Caller, for its scope.
class CallerPaused {
  public:
    explicit CallerPaused(Caller &caller) : held_(caller.pause_) {}

  private:
    std::lock_guard<std::mutex> held_;
};

} // namespace holdfast::test
