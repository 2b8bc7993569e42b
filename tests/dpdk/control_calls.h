// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast::test {

/// Threads that go on changing and asking a port, until end().
class ControlCalls {
  public:
    explicit ControlCalls(std::uint16_t port) {
        repeat([port](unsigned i) { return rte_eth_dev_set_mtu(port, static_cast<std::uint16_t>(1400 + i % 100)); });
        repeat([port](unsigned i) {
            rte_ether_addr mac{{2, 0, 0, 0, 1, static_cast<std::uint8_t>(i)}};
            return rte_eth_dev_default_mac_addr_set(port, &mac);
        });
        repeat([port](unsigned i) {
            return i % 2 == 0 ? rte_eth_promiscuous_enable(port) : rte_eth_promiscuous_disable(port);
        });
        repeat([port](unsigned) {
            rte_eth_stats stats{};
            return rte_eth_stats_get(port, &stats);
        });
    }
    ~ControlCalls() { join(); }
    ControlCalls(const ControlCalls &) = delete;
    ControlCalls &operator=(const ControlCalls &) = delete;

    /// Each thread must have made calls, and all of them must have succeeded.
    void end() {
        join();
        EXPECT_EQ(errors_.load(), 0);
        EXPECT_EQ(active_.load(), 4);
    }

  private:
    template <class F> void repeat(F call) {
        threads_.emplace_back([this, call] {
            for (unsigned i = 0; !stop_.load(); i++) {
                if (call(i) != 0)
                    errors_++;
                if (i == 1)
                    active_++;
                std::this_thread::yield();
            }
        });
    }
    void join() {
        stop_.store(true);
        for (std::thread &t : threads_)
            t.join();
        threads_.clear();
    }

    std::atomic<bool> stop_{false};
    std::atomic<int> errors_{0};
    std::atomic<int> active_{0};
    std::vector<std::thread> threads_;
};

} // namespace holdfast::test
