// SPDX-License-Identifier: BSD-3-Clause
// Somebody else detaches a sub-device (rte_dev_remove) while two lcores poll and send on the virtual port. Drivers take
// a device apart before anybody hears of it: an lcore that is inside then reads what was unmapped or freed.
#include "stress/traffic.h"
#include "support/netdev.h"
#include "support/virtual_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::uint16_t kQueues = 2;
constexpr int kRounds = 20;

/// Two worker lcores that receive and send without a pause, each on a queue of its own.
class Pump {
  public:
    Pump(std::uint16_t port, rte_mempool *pool) : port_(port), pool_(pool) {}
    ~Pump() { stop(); }
    Pump(const Pump &) = delete;
    Pump &operator=(const Pump &) = delete;

    [[nodiscard]] bool start() {
        unsigned lcore = rte_get_next_lcore(-1U, 1, 0);
        for (std::uint16_t q = 0; q < kQueues; q++, lcore = rte_get_next_lcore(lcore, 1, 0)) {
            if (lcore >= RTE_MAX_LCORE)
                return false;
            work_[q] = {.self = this, .queue = q, .lcore = lcore};
            if (rte_eal_remote_launch(&entry, &work_[q], lcore) != 0)
                return false;
        }
        return true;
    }
    void stop() {
        stop_.store(true, std::memory_order_relaxed);
        for (const Work &w : work_)
            if (w.self != nullptr)
                rte_eal_wait_lcore(w.lcore);
    }
    /// Packets that the port took from the slowest lcore.
    [[nodiscard]] std::uint64_t least_sent() const {
        return std::min(work_[0].sent.load(std::memory_order_relaxed), work_[1].sent.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint64_t sent() const {
        return work_[0].sent.load(std::memory_order_relaxed) + work_[1].sent.load(std::memory_order_relaxed);
    }

  private:
    struct alignas(64) Work {
        Pump *self = nullptr;
        std::uint16_t queue = 0;
        unsigned lcore = 0;
        std::atomic<std::uint64_t> sent{0};

        Work &operator=(const Work &other) {
            self = other.self;
            queue = other.queue;
            lcore = other.lcore;
            return *this;
        }
    };

    static int entry(void *opaque) {
        Work &work = *static_cast<Work *>(opaque);
        work.self->run(work);
        return 0;
    }
    void run(Work &work) const {
        std::array<rte_mbuf *, 32> packets{};
        while (!stop_.load(std::memory_order_relaxed)) {
            const std::uint16_t got = rte_eth_rx_burst(port_, work.queue, packets.data(), 32);
            rte_pktmbuf_free_bulk(packets.data(), got);
            if (rte_pktmbuf_alloc_bulk(pool_, packets.data(), 4) != 0)
                continue;
            for (std::size_t i = 0; i < 4; i++) {
                auto *data = rte_pktmbuf_append(packets[i], 60);
                std::fill_n(data, 60, '\0');
                address_frame(packets[i]);
            }
            const std::uint16_t sent = rte_eth_tx_burst(port_, work.queue, packets.data(), 4);
            rte_pktmbuf_free_bulk(packets.data() + sent, 4U - sent);
            work.sent.fetch_add(sent, std::memory_order_relaxed);
        }
    }

    const std::uint16_t port_;
    rte_mempool *const pool_;
    std::array<Work, kQueues> work_;
    std::atomic<bool> stop_{false};
};

struct Kind {
    const char *name;
    /// Makes what the device needs; gives its devargs.
    std::string (*devargs)(std::unique_ptr<Veth> &veth);
    bool gives_all_back = true; ///< net_ring frees its rings with the packets that are in them
};

class DetachUnderTraffic : public WithPorts, public testing::WithParamInterface<Kind> {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        // More threads than CPUs: in a plain ring they all wait for the one that was interrupted.
        packets_ = rte_pktmbuf_pool_create_by_ops("traffic", 16383, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY,
                                                  "ring_mt_rts");
        ASSERT_NE(packets_, nullptr);
    }
    void TearDown() override {
        if (GetParam().gives_all_back) {
            EXPECT_EQ(rte_mempool_in_use_count(packets_), 0U) << "mbufs";
        }
        rte_mempool_free(packets_);
        WithPorts::TearDown();
    }

    rte_mempool *packets_ = nullptr;
};

TEST_P(DetachUnderTraffic, TheProcessLivesAndTheTrafficGoesOnOverTheOtherSubDevice) {
    ASSERT_TRUE(in_own_network()) << "no network namespace can be made here";
    std::unique_ptr<Veth> veth;
    const Mayfly standby("mode=sink");
    const std::string devargs = GetParam().devargs(veth);
    const std::string name = devargs.substr(0, devargs.find(','));
    Vport port("hotplug_poll=2,dev(" + devargs + ")," + standby.dev());
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(packets_, {.rx_queues = kQueues, .tx_queues = kQueues}), 0);
    Pump pump(port.id(), packets_);
    ASSERT_TRUE(pump.start()) << "two worker lcores are needed: --lcores";
    int met = 0;
    for (int round = 0; round < kRounds; round++) {
        SCOPED_TRACE(round);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; }))
            << port.sub(0).reason;
        const std::uint64_t removals = port.sub(0).removals;
        // Both send on the one that is going.
        const std::uint64_t before = pump.least_sent();
        ASSERT_TRUE(eventually([&] { return pump.least_sent() > before + 8; }));
        int rc = -1;
        bool inside = false;
        std::thread operator_([&] {
            rte_device *dev = find_vdev(name);
            const auto until = std::chrono::steady_clock::now() + 2s;
            while (!inside && std::chrono::steady_clock::now() < until)
                inside = lcore_inside(port.id(), kQueues, 0);
            rc = rte_dev_remove(dev);
        });
        operator_.join();
        met += inside ? 1 : 0;
        ASSERT_EQ(rc, 0);
        EXPECT_EQ(find_vdev(name), nullptr);
        const std::int64_t over_other = standby.count(RTE_PMD_MAYFLY_TX_PACKETS);
        const std::uint64_t sent = pump.least_sent();
        EXPECT_TRUE(eventually(
            [&] { return pump.least_sent() > sent + 8 && standby.count(RTE_PMD_MAYFLY_TX_PACKETS) > over_other + 8; }));
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && port.sub(0).removals == removals + 1; }));
        EXPECT_FALSE(port.sub(0).wanted);
        EXPECT_EQ(port.sub(0).reason, "detached by somebody else");
        EXPECT_TRUE(always([&] { return find_vdev(name) == nullptr; }, 10ms)) << "it is not looked for";
        ASSERT_TRUE(port.plug_by_hand(0).ok());
    }
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    pump.stop();
    std::cout << GetParam().name << ": " << kRounds << " detached, " << met << " with an lcore inside\n";
    EXPECT_GT(met, 0) << "no removal met an lcore inside, so this run says nothing";
    const std::uint64_t announced = port.describe().announcements;
    EXPECT_GE(announced, static_cast<std::uint64_t>(kRounds)) << "each round is two switches";
    EXPECT_EQ(port.stats().opackets, pump.sent() + announced) << "also the last counts of one that left";
    expect_no_late_access({&standby});
}

INSTANTIATE_TEST_SUITE_P(
    Drivers, DetachUnderTraffic,
    testing::Values(Kind{"af_packet",
                         [](std::unique_ptr<Veth> &veth) {
                             veth = std::make_unique<Veth>();
                             return unique("net_af_packet") + ",qpairs=2,iface=" + veth->name();
                         }},
                    Kind{"tap", [](std::unique_ptr<Veth> &) { return unique("net_tap") + ",iface=" + unique("t"); }},
                    Kind{"null", [](std::unique_ptr<Veth> &) { return unique("net_null"); }},
                    Kind{"ring", [](std::unique_ptr<Veth> &) { return unique("net_ring"); }, false},
                    Kind{"mayfly", [](std::unique_ptr<Veth> &) { return unique("net_mayfly") + ",mode=loop"; }}),
    [](const auto &kind) { return std::string(kind.param.name); });

} // namespace
} // namespace holdfast::test
