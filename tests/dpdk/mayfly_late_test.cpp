// SPDX-License-Identifier: BSD-3-Clause
// What mayfly is for: whoever enters a queue too late, or is inside when it is taken away, is found out.
#include "mayfly_rig.h"

#include <fstream>

#include <unistd.h>

namespace holdfast::mayfly::rig {
namespace {

/// The burst of a device as a driver without a guard would call it: by pointers taken while it was started.
struct Careless {
    explicit Careless(std::uint16_t port)
        : burst(rte_eth_fp_ops[port].rx_pkt_burst), queue(rte_eth_fp_ops[port].rxq.data[0]) {}
    unsigned receive() const {
        rte_mbuf *got[kBurst];
        const std::uint16_t n = burst(queue, got, kBurst);
        rte_pktmbuf_free_bulk(got, n);
        return n;
    }
    eth_rx_burst_t burst;
    void *queue;
};

class MayflyLate : public MayflyTest {
  protected:
    void TearDown() override {
        ASSERT_EQ(rte_pmd_mayfly_catch_late(0), 0);
        MayflyTest::TearDown();
    }
};
using MayflyLateDeathTest = MayflyLate;

TEST_F(MayflyLateDeathTest, AccessAfterCloseKills) {
    const std::string name = fresh_name();
    const Careless careless(bring_up(name, "mode=generate"));
    EXPECT_GT(careless.receive(), 0u);
    detach(name);
    EXPECT_DEATH((void)careless.receive(), "");
}

TEST_F(MayflyLate, AccessAfterCloseIsCountedWhenAskedTo) {
    const std::string name = fresh_name();
    const Careless careless(bring_up(name, "mode=generate"));
    detach(name);
    ASSERT_EQ(rte_pmd_mayfly_catch_late(1), 0);
    EXPECT_EQ(careless.receive(), 0u);
    EXPECT_EQ(rte_pmd_mayfly_late_accesses(), 1);
}

TEST_F(MayflyLate, ANewLifeDoesNotHideAnAccessToTheOldOne) {
    const std::string name = fresh_name();
    const Careless careless(bring_up(name, "mode=generate"));
    detach(name);
    bring_up(name, "mode=generate");
    ASSERT_EQ(rte_pmd_mayfly_catch_late(1), 0);
    EXPECT_EQ(careless.receive(), 0u);
    EXPECT_EQ(rte_pmd_mayfly_late_accesses(), 1);
}

TEST_F(MayflyLate, CallAfterStopIsCounted) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate");
    const Careless careless(id);
    ASSERT_EQ(rte_eth_dev_stop(id), 0);
    EXPECT_EQ(careless.receive(), 0u);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_LATE_CALLS), 1);
}

TEST_F(MayflyLate, ABurstThatIsInsideAtStopAndCloseIsFound) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up(name, "mode=generate");
    ASSERT_EQ(rte_pmd_mayfly_catch_late(1), 0);
    const Careless careless(id);
    ASSERT_EQ(rte_pmd_mayfly_delay(name.c_str(), "rx_burst", 200'000), 0);
    const std::int64_t before = calls(name, "rx_burst");
    std::thread lcore([&] {
        roam();
        (void)careless.receive();
    });
    ASSERT_TRUE(eventually([&] { return calls(name, "rx_burst") > before; }));
    ASSERT_EQ(rte_eth_dev_stop(id), 0);
    EXPECT_GE(count(name, RTE_PMD_MAYFLY_TRESPASSES), 1);
    const std::int64_t at_stop = count(name, RTE_PMD_MAYFLY_TRESPASSES);
    ASSERT_EQ(rte_eth_dev_close(id), 0);
    EXPECT_GT(count(name, RTE_PMD_MAYFLY_TRESPASSES), at_stop);
    lcore.join();
    EXPECT_GE(rte_pmd_mayfly_late_accesses(), 1) << "it came out of its burst into a queue that was closed";
}

TEST_F(MayflyLate, AnOrderlyLifeIsFreeOfSuspicion) {
    const std::string name = fresh_name();
    ASSERT_EQ(rte_pmd_mayfly_catch_late(1), 0);
    for (int life = 0; life < 20; life++) {
        const std::uint16_t id = bring_up(name, "mode=loop", 2);
        std::atomic<bool> stop{false};
        std::atomic<unsigned> rounds{0};
        std::thread lcore([&] {
            roam();
            while (!stop.load(std::memory_order_acquire)) {
                rte_mbuf *got[kBurst];
                rte_pktmbuf_free_bulk(got, rte_eth_rx_burst(id, 0, got, kBurst));
                (void)rte_eth_rx_queue_count(id, 0);
                rounds.fetch_add(1, std::memory_order_relaxed);
            }
        });
        ASSERT_TRUE(eventually([&] { return rounds.load() > 10; }));
        (void)send(id, 1, 10);
        stop.store(true, std::memory_order_release);
        lcore.join();
        detach(name);
    }
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_TRESPASSES), 0);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_LATE_CALLS), 0);
    EXPECT_EQ(rte_pmd_mayfly_late_accesses(), 0);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_DRAINED), 200);
}

struct Usage {
    std::size_t maps = 0;
    long resident_kib = 0;
    static Usage now() {
        Usage usage;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            usage.maps++;
        long pages = 0;
        std::ifstream("/proc/self/statm") >> pages >> pages;
        usage.resident_kib = pages * sysconf(_SC_PAGESIZE) / 1024;
        return usage;
    }
};

TEST_F(MayflyLate, AThousandLivesCostNeitherMappingsNorMemory) {
    const std::string name = fresh_name();
    const auto live = [&] {
        (void)bring_up(name, "mode=loop", 4);
        ASSERT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
        detach(name);
        ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    };
    for (int i = 0; i < 50; i++)
        live();
    const Usage before = Usage::now();
    for (int i = 0; i < 1000; i++)
        live();
    const Usage after = Usage::now();
    EXPECT_LT(after.maps, before.maps + 16);
#if !defined(__SANITIZE_ADDRESS__) // a sanitizer keeps freed memory for a while
    EXPECT_LT(after.resident_kib, before.resident_kib + 1024) << "8,000 queues were 32,000 KiB";
#endif
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_LIVES), 1050);
}

} // namespace
} // namespace holdfast::mayfly::rig
