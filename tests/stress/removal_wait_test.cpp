// SPDX-License-Identifier: BSD-3-Clause
// A removal waits until the lcore has left, however long it stays inside, and meanwhile nobody else has to wait for it.
// (FAULTS.md 93.)
#include "stress/traffic.h"
#include "support/virtual_port.h"

#include <gmock/gmock.h>

#include <rte_log.h>
#include <rte_malloc.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace holdfast::test {
namespace {

/// Holds one thread in a place until the test lets it go.
class Trap {
  public:
    void walk_in() {
        std::unique_lock held(mutex_);
        if (!armed_)
            return;
        armed_ = false;
        inside_ = true;
        changed_.wait(held, [this] { return open_; });
        inside_ = false;
    }
    void arm() {
        const std::lock_guard held(mutex_);
        armed_ = true;
        open_ = false;
    }
    void let_go() {
        const std::lock_guard held(mutex_);
        armed_ = false;
        open_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] bool caught() {
        const std::lock_guard held(mutex_);
        return inside_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool armed_ = false;
    bool open_ = false;
    bool inside_ = false;
};

/// Lines of the log that hold a text.
class Log {
  public:
    Log() : file_(std::tmpfile()) { rte_openlog_stream(file_); }
    ~Log() {
        rte_openlog_stream(nullptr);
        std::fclose(file_);
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;
    [[nodiscard]] std::vector<std::string> lines_with(std::string_view text) const {
        std::vector<std::string> out;
        std::fflush(file_);
        std::string line;
        char buffer[512];
        for (off_t at = 0;;) { // not by the stream's own position: the host thread writes there
            const ssize_t n = ::pread(fileno(file_), buffer, sizeof(buffer), at);
            if (n <= 0)
                return out;
            at += n;
            for (const char c : std::string_view(buffer, static_cast<std::size_t>(n))) {
                if (c != '\n') {
                    line += c;
                    continue;
                }
                if (line.find(text) != std::string::npos)
                    out.push_back(line);
                line.clear();
            }
        }
    }

  private:
    std::FILE *file_;
};

/// Polls queue 0 of a port, and sends there, until it is told to end.
class Poller {
  public:
    Poller(const Vport &port, rte_mempool *pool) : thread_([this, &port, pool] { run(port, pool); }) {}
    ~Poller() { stop(); }
    Poller(const Poller &) = delete;
    Poller &operator=(const Poller &) = delete;
    void stop() {
        // pairs: poller-stop (Poller::run).
        stop_.store(true, std::memory_order_relaxed);
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] std::uint64_t rounds() const {
        return rounds_.load(std::memory_order_relaxed);
    } // pairs: rounds (run)

  private:
    void run(const Vport &port, rte_mempool *pool) {
        while (!stop_.load(std::memory_order_relaxed)) { // pairs: poller-stop (Poller::stop)
            std::array<rte_mbuf *, 8> packets{};
            const std::uint16_t got = port.rx(packets.data(), 8);
            rte_pktmbuf_free_bulk(packets.data(), got);
            if (rte_mbuf *m = rte_pktmbuf_alloc(pool); m != nullptr) {
                (void)rte_pktmbuf_append(m, 60);
                if (port.tx(&m, 1) == 0)
                    rte_pktmbuf_free(m);
            }
            rounds_.fetch_add(1, std::memory_order_relaxed); // pairs: rounds (rounds)
        }
    }

    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> rounds_{0};
    std::thread thread_;
};

/// Where the lcore is held: in an Rx callback (so inside the guard, around the driver), or inside mayfly's own Tx
/// burst.
enum class Place : std::uint8_t { kRx, kTx };

class RemovalWait : public WithPorts {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        rte_log_set_level_pattern("pmd.net.holdfast", RTE_LOG_NOTICE);
        ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, kTrapEvent, &on_event, this), 0);
    }
    void TearDown() override {
        EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, kTrapEvent, &on_event, this), 0);
        rte_free(const_cast<rte_eth_rxtx_callback *>(
            callback_)); // ethdev leaves that to those who know that nobody is in it
        WithPorts::TearDown();
    }

    /// Holds the poller inside a mayfly.
    void hold_in(const Mayfly &m, Place place) {
        trap_.arm();
        const std::uint16_t id = m.port().raw();
        if (place == Place::kRx)
            callback_ = rte_eth_add_rx_callback(id, 0, &after_rx, this);
        else
            m.raise_in("tx_burst", kTrapEvent);
        ASSERT_TRUE(eventually([&] { return trap_.caught(); }));
        if (place == Place::kRx) { // else the next port with that id had it
            ASSERT_EQ(rte_eth_remove_rx_callback(id, 0, callback_), 0);
        }
    }

    // An event that nobody else raises or listens to.
    static constexpr rte_eth_event_type kTrapEvent = RTE_ETH_EVENT_MACSEC;
    Trap trap_;

  private:
    static int on_event(std::uint16_t, rte_eth_event_type, void *self, void *) {
        static_cast<RemovalWait *>(self)->trap_.walk_in();
        return 0;
    }
    static std::uint16_t after_rx(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, std::uint16_t,
                                  void *self) {
        static_cast<RemovalWait *>(self)->trap_.walk_in();
        return n;
    }

    const rte_eth_rxtx_callback *callback_ = nullptr;
};

class RemovalWaitIn : public RemovalWait, public testing::WithParamInterface<Place> {};

TEST_P(RemovalWaitIn, ADeviceIsClosedOnlyAfterTheLcoreLeftAndNobodyElseWaits) {
    const Log log;
    const Mayfly m("mode=loop");
    const Mayfly other("mode=loop");
    Vport port(devargs_of({&m, &other}));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; }));
    Poller poller(port, pool());
    ASSERT_TRUE(eventually([&] { return poller.rounds() > 100; }));

    hold_in(m, GetParam());
    const std::int64_t stops = m.calls("dev_stop");
    const std::int64_t closes = m.count(RTE_PMD_MAYFLY_CLOSES);
    const std::uint64_t rounds = poller.rounds();
    m.unplug();
    const auto waiting = [&] { return log.lines_with("an lcore is inside"); };
    EXPECT_TRUE(eventually([&] { return !waiting().empty(); })) << "a long wait is logged";
    const auto untouched = [&] {
        return m.calls("dev_stop") == stops && m.count(RTE_PMD_MAYFLY_CLOSES) == closes && m.there() && trap_.caught();
    };
    EXPECT_TRUE(untouched());

    // The rest of the port goes on: the other queue sends and receives over the other sub-device, and calls are
    // answered.
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(send(port, 4, 1), 4);
    EXPECT_EQ(receive(port, 8, 1), 4);
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 1400), 0);
    EXPECT_EQ(other.settings().mtu, 1400);
    EXPECT_TRUE(always(untouched, 1500ms)) << "it was taken apart under an lcore";
    EXPECT_EQ(waiting().size(), 1U) << "once is enough";
    EXPECT_EQ(poller.rounds(), rounds);

    trap_.let_go();
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_EQ(m.count(RTE_PMD_MAYFLY_CLOSES), closes + 1);
    EXPECT_TRUE(eventually([&] { return poller.rounds() > rounds + 100; })) << "the lcore goes on over the other one";
    m.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << "and it comes back as ever";
    poller.stop();
    expect_no_late_access({&m, &other});
}

TEST_P(RemovalWaitIn, AStopSaysBusyAfterABoundedTimeAndCanBeTriedAgain) {
    const Mayfly m("mode=loop");
    Vport port(devargs_of({&m}));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool(), {}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    Poller poller(port, pool());
    hold_in(m, GetParam());
    const std::int64_t stops = m.calls("dev_stop");

    EXPECT_EQ(port.stop(), -EBUSY);
    EXPECT_TRUE(trap_.caught());
    EXPECT_EQ(m.calls("dev_stop"), stops) << "it was stopped under an lcore";

    trap_.let_go();
    poller.stop(); // an application may not poll a port that it stops
    EXPECT_EQ(port.stop(), 0);
    EXPECT_EQ(m.calls("dev_stop"), stops + 1);
    EXPECT_EQ(port.start(), 0);
    EXPECT_EQ(send(port), 1);
    EXPECT_EQ(receive(port), 1);
    expect_no_late_access({&m});
}

TEST_F(RemovalWait, BurstsThatTakeASecondAreWaitedFor) {
    const Mayfly m("mode=generate");
    Vport port(devargs_of({&m}));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool(), {}), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    Poller poller(port, pool());
    m.delay("rx_burst", 1s);
    // Slow ones only from now on, and one of them is under way: its page becomes inaccessible when it has left, not
    // before.
    ASSERT_TRUE(eventually([&] { return lcore_inside(port.id(), 1, 0); }));
    std::this_thread::sleep_for(50ms);
    ASSERT_TRUE(lcore_inside(port.id(), 1, 0));
    m.unplug();
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    EXPECT_EQ(m.count(RTE_PMD_MAYFLY_CLOSES), 1);
    m.clear();
    m.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(0); }));
    poller.stop();
    expect_no_late_access({&m});
}

INSTANTIATE_TEST_SUITE_P(Places, RemovalWaitIn, testing::Values(Place::kRx, Place::kTx),
                         [](const testing::TestParamInfo<Place> &place) {
                             return std::string(place.param == Place::kRx ? "Rx" : "Tx");
                         });

} // namespace
} // namespace holdfast::test
