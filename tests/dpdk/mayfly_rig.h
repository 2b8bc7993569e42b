// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/wait.h"
#include <rte_pmd_mayfly.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

/// What the tests of mayfly share: devices on the real bus, a mempool that must be full again at the end, and events.
namespace holdfast::mayfly::rig {

inline constexpr std::uint16_t kBurst = 32;
inline constexpr unsigned kPoolSize = 4095;

/// A device of its own name for each test, so that no test sees what another one armed or counted.
inline std::string fresh_name() {
    static std::atomic<int> next{0};
    return "net_mayfly" + std::to_string(100 + next.fetch_add(1, std::memory_order_relaxed));
}

class MayflyTest : public testing::Test {
  protected:
    void SetUp() override {
        pool_ = rte_pktmbuf_pool_create("mayfly_test", kPoolSize, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
        ASSERT_NE(pool_, nullptr);
    }
    void TearDown() override {
        for (const std::string &name : probed_)
            detach(name);
        EXPECT_EQ(rte_mempool_avail_count(pool_), kPoolSize) << "mbufs were lost";
        rte_mempool_free(pool_);
    }

    int probe(const std::string &name, const std::string &args = "") {
        const int rc = rte_vdev_init(name.c_str(), args.c_str());
        if (rc == 0)
            probed_.push_back(name);
        return rc;
    }
    /// Stop and close as an application does, then off the bus.
    static void detach(const std::string &name) {
        if (const int port = rte_pmd_mayfly_port(name.c_str()); port >= 0) {
            (void)rte_eth_dev_stop(static_cast<std::uint16_t>(port));
            (void)rte_eth_dev_close(static_cast<std::uint16_t>(port));
        }
        (void)rte_vdev_uninit(name.c_str());
    }
    static std::uint16_t port(const std::string &name) {
        const int id = rte_pmd_mayfly_port(name.c_str());
        EXPECT_GE(id, 0) << name;
        return static_cast<std::uint16_t>(id);
    }
    static rte_eth_conf interrupts() {
        rte_eth_conf conf = {};
        conf.intr_conf.lsc = 1;
        conf.intr_conf.rmv = 1;
        return conf;
    }
    void set_up_queues(std::uint16_t id, std::uint16_t queues, std::uint16_t descriptors = 256) {
        for (std::uint16_t i = 0; i < queues; i++) {
            ASSERT_EQ(rte_eth_rx_queue_setup(id, i, descriptors, 0, nullptr, pool_), 0);
            ASSERT_EQ(rte_eth_tx_queue_setup(id, i, descriptors, 0, nullptr), 0);
        }
    }
    /// Probe, configure, queues, start.
    std::uint16_t bring_up(const std::string &name, const std::string &args, std::uint16_t queues = 1) {
        EXPECT_EQ(probe(name, args), 0) << args;
        const std::uint16_t id = port(name);
        const rte_eth_conf conf = interrupts();
        EXPECT_EQ(rte_eth_dev_configure(id, queues, queues, &conf), 0);
        set_up_queues(id, queues);
        EXPECT_EQ(rte_eth_dev_start(id), 0);
        return id;
    }
    std::vector<rte_mbuf *> packets(unsigned n) {
        std::vector<rte_mbuf *> made(n);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool_, made.data(), n), 0);
        for (rte_mbuf *m : made)
            EXPECT_NE(rte_pktmbuf_append(m, 60), nullptr);
        return made;
    }
    /// Sends n packets; those that are not accepted are freed. Gives how many were.
    unsigned send(std::uint16_t id, std::uint16_t queue, unsigned n) {
        std::vector<rte_mbuf *> made = packets(n);
        const std::uint16_t sent = rte_eth_tx_burst(id, queue, made.data(), static_cast<std::uint16_t>(n));
        for (unsigned i = sent; i < n; i++)
            rte_pktmbuf_free(made[i]);
        return sent;
    }
    /// Receives and frees up to n.
    static unsigned receive(std::uint16_t id, std::uint16_t queue, unsigned n = kBurst) {
        std::vector<rte_mbuf *> got(n);
        const std::uint16_t count = rte_eth_rx_burst(id, queue, got.data(), static_cast<std::uint16_t>(n));
        for (std::uint16_t i = 0; i < count; i++)
            rte_pktmbuf_free(got[i]);
        return count;
    }
    static std::int64_t calls(const std::string &name, const char *op) {
        return rte_pmd_mayfly_calls(name.c_str(), op);
    }
    static std::int64_t count(const std::string &name, enum rte_pmd_mayfly_counter what) {
        return rte_pmd_mayfly_count(name.c_str(), what);
    }

    rte_mempool *pool_ = nullptr;

  private:
    std::vector<std::string> probed_;
};

/// One that is started, with two queues, and can do all that a mayfly can.
class StartedMayfly : public MayflyTest {
  protected:
    void SetUp() override {
        MayflyTest::SetUp();
        name_ = fresh_name();
        ASSERT_EQ(probe(name_, "mode=loop,runtime_queues=1"), 0);
        id_ = port(name_);
        rte_eth_conf conf = interrupts();
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
        conf.intr_conf.rxq = 1;
        ASSERT_EQ(rte_eth_dev_configure(id_, 2, 2, &conf), 0);
        set_up_queues(id_, 2);
        ASSERT_EQ(rte_eth_dev_start(id_), 0);
    }
    rte_pmd_mayfly_settings told() const {
        rte_pmd_mayfly_settings settings = {};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(name_.c_str(), &settings), 0);
        return settings;
    }
    int fail(const char *op, int n, int error) { return rte_pmd_mayfly_fail(name_.c_str(), op, n, error); }

    std::string name_;
    std::uint16_t id_ = 0;
};

/// Counts the events of one kind on one port, and the thread they came on. Registered for all ports, because ethdev
/// lets nobody unregister from a port that was closed, and its next owner would get the events.
class Events {
  public:
    Events(std::uint16_t port, rte_eth_event_type type) : port_(port), type_(type) {
        EXPECT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, type, &Events::on_event, this), 0);
    }
    ~Events() { EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, type_, &Events::on_event, this), 0); }
    Events(const Events &) = delete;
    Events &operator=(const Events &) = delete;

    [[nodiscard]] int seen() const { return seen_.load(std::memory_order_acquire); }
    [[nodiscard]] std::thread::id thread() const { return thread_; }

  private:
    static int on_event(std::uint16_t port, rte_eth_event_type /*type*/, void *self, void * /*param*/) {
        auto *events = static_cast<Events *>(self);
        if (port != events->port_)
            return 0;
        events->thread_ = std::this_thread::get_id();
        events->seen_.fetch_add(1, std::memory_order_release);
        return 0;
    }
    std::uint16_t port_;
    rte_eth_event_type type_;
    std::thread::id thread_;
    std::atomic<int> seen_{0};
};

/// Frees the calling thread from the processor of the main lcore, which it inherited: two threads there never meet.
inline void roam() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CPU_SET(cpu, &all);
    (void)sched_setaffinity(0, sizeof(all), &all);
}

using test::eventually;

} // namespace holdfast::mayfly::rig
