// SPDX-License-Identifier: BSD-3-Clause
// A thousand unplugs at random moments, while two lcores forward and a control thread calls what applications call.
// (FAULTS.md 93, 94; the work item's stress run.)
//
//   HOLDFAST_STRESS_CYCLES   how many, default 1000
//   HOLDFAST_STRESS_SEED     default: another one each time; it is printed
#include "stress/caller.h"
#include "stress/footprint.h"
#include "stress/traffic.h"
#include "support/virtual_port.h"

#include <gmock/gmock.h>

#include <rte_log.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::uint16_t kQueues = 2;
constexpr unsigned kWarmUp = 200; ///< cycles until everything that is made once was made

std::uint64_t setting(const char *name, std::uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Everything that DPDK logs, for its scope: an unplug leaves no error behind, and a thousand of them no flood.
class Log {
  public:
    Log() : file_(std::tmpfile()) {
        rte_openlog_stream(file_);
        rte_log_set_level_pattern("*", RTE_LOG_CRIT); // EAL calls each probe of an absent device an error
        rte_log_set_level_pattern("pmd.net.holdfast", RTE_LOG_ERR);
    }
    ~Log() {
        rte_openlog_stream(nullptr);
        std::fclose(file_);
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;
    [[nodiscard]] std::string text() const {
        std::string out;
        std::fflush(file_);
        std::rewind(file_);
        for (int c = 0; (c = std::fgetc(file_)) != EOF;)
            out += static_cast<char>(c);
        return out;
    }

  private:
    std::FILE *file_;
};

/// Counts removals that met an lcore inside: asked right after the gate was closed. (Ours was registered after the
/// virtual port's, so it is called after it.)
class Meetings {
  public:
    Meetings(std::uint16_t port, std::span<const Mayfly *const> mayflies) : port_(port), mayflies_(mayflies) {
        EXPECT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, &on_removal, this), 0);
    }
    ~Meetings() {
        EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, &on_removal, this), 0);
    }
    Meetings(const Meetings &) = delete;
    Meetings &operator=(const Meetings &) = delete;

    void look(std::uint8_t sub) {
        // pairs: meetings (Meetings::count). A number by itself.
        looks_.fetch_add(1, std::memory_order_relaxed);
        if (lcore_inside(port_, kQueues, sub))
            met_.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] unsigned count() const { return met_.load(std::memory_order_relaxed); }      // pairs: meetings (look)
    [[nodiscard]] unsigned removals() const { return looks_.load(std::memory_order_relaxed); } // pairs: meetings (look)

  private:
    static int on_removal(std::uint16_t port, rte_eth_event_type, void *self, void *) {
        auto &meetings = *static_cast<Meetings *>(self);
        for (std::uint8_t i = 0; i < meetings.mayflies_.size(); i++)
            if (meetings.mayflies_[i]->port() == PortId{port})
                meetings.look(i);
        return 0;
    }

    const std::uint16_t port_;
    const std::span<const Mayfly *const> mayflies_;
    std::atomic<unsigned> met_{0};
    std::atomic<unsigned> looks_{0};
};

/// How a sub-device goes.
enum class Way : std::uint8_t {
    kPulled,
    kPulledLater,
    kPulledInRx,
    kPulledInTx,
    kPlanned,
    kByHand,
    kByHandTakenBack,
    kWays
};
constexpr std::array<const char *, static_cast<std::size_t>(Way::kWays)> kWayNames = {
    "pulled",  "pulled by another thread",      "pulled inside an Rx burst", "pulled inside a Tx burst", "planned",
    "by hand", "by hand and taken back at once"};

class Replug : public testing::Test {
  protected:
    void SetUp() override {
        seed_ = setting("HOLDFAST_STRESS_SEED", std::random_device{}());
        random_.seed(seed_);
        std::cout << "HOLDFAST_STRESS_SEED=" << seed_ << '\n';
        pool_ = rte_pktmbuf_pool_create("stress", 16383, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        ASSERT_NE(pool_, nullptr);
    }
    void TearDown() override { rte_mempool_free(pool_); }

    std::uint64_t pick(std::uint64_t below) { return random_() % below; }
    void nap(unsigned most_us) { std::this_thread::sleep_for(std::chrono::microseconds(pick(most_us + 1))); }

    /// Lets one of the devices be slow in its bursts, or fast again.
    void disturb() {
        static constexpr std::array<unsigned, 6> kDelays = {0, 0, 5, 20, 60, 150};
        const Mayfly &m = *mayflies_[pick(mayflies_.size())];
        m.delay(pick(2) == 0 ? "rx_burst" : "tx_burst", std::chrono::microseconds(kDelays[pick(kDelays.size())]));
    }

    /// Takes a sub-device away and gives it back; does not wait until it carries traffic again.
    void cycle(const Vport &port, std::uint8_t sub, Way way, Meetings &meetings) {
        const Mayfly &m = *mayflies_[sub];
        const std::uint64_t before = port.sub(sub).removals;
        const auto gone = [&] { return port.sub(sub).removals != before; };
        const char *name = kWayNames.at(static_cast<std::size_t>(way));
        switch (way) {
        case Way::kPulled:
            m.unplug();
            break;
        case Way::kPulledLater:
            EXPECT_EQ(rte_pmd_mayfly_unplug(m.name().c_str(), 0), 0);
            EXPECT_EQ(rte_pmd_mayfly_wait(m.name().c_str(), 20'000), 0);
            break;
        case Way::kPulledInRx:
        case Way::kPulledInTx: {
            const std::int64_t unplugs = m.count(RTE_PMD_MAYFLY_UNPLUGS);
            m.unplug_in(way == Way::kPulledInRx ? "rx_burst" : "tx_burst");
            EXPECT_TRUE(eventually([&] {
                if (way == Way::kPulledInTx) // the preferred one may have returned meanwhile and taken Tx
                    (void)port.switch_to(sub);
                return m.count(RTE_PMD_MAYFLY_UNPLUGS) != unplugs;
            })) << name;
            break;
        }
        case Way::kPlanned:
            m.unplug_planned();
            break;
        case Way::kByHand:
        case Way::kByHandTakenBack:
            EXPECT_TRUE(port.remove_by_hand(sub).ok());
            meetings.look(sub);
            break;
        case Way::kWays:
            break;
        }
        // Half of them come back before the host thread has seen them go.
        if (way == Way::kByHand || (way != Way::kByHandTakenBack && pick(2) == 0)) {
            EXPECT_TRUE(eventually(gone)) << m.name() << " " << name;
        } else {
            nap(300);
        }
        if (way == Way::kByHand || way == Way::kByHandTakenBack) {
            EXPECT_TRUE(port.plug_by_hand(sub).ok());
        } else {
            m.plug();
        }
        // Taken back in time it stays; in all other ways it goes, sooner or later.
        went_.at(sub) = before + (way == Way::kByHandTakenBack ? 0 : 1);
    }
    /// Is it back from its last cycle?
    [[nodiscard]] bool back(const Vport &port, std::uint8_t sub) const {
        const VirtualPort::SubInfo s = port.sub(sub);
        return s.joined && s.state == "started" && s.removals >= went_.at(sub) && gate_open(port.id(), sub);
    }
    [[nodiscard]] Way pick_way(const Vport &port, std::uint8_t sub) {
        const auto way = static_cast<Way>(pick(static_cast<std::uint64_t>(Way::kWays)));
        // Only the active one gets Tx bursts, and only a preferred one that comes back can change that meanwhile: for
        // one that comes back only after this cycle there is no such risk.
        return way == Way::kPulledInTx && (port.active() != sub || !back(port, 0)) ? Way::kPulledInRx : way;
    }

    std::uint64_t seed_ = 0;
    std::mt19937_64 random_;
    rte_mempool *pool_ = nullptr;
    std::vector<const Mayfly *> mayflies_;
    std::array<std::uint64_t, 3> went_{};
};

TEST_F(Replug, AThousandUnplugsUnderTrafficLoseNothingAndLeakNothing) {
    const auto cycles = static_cast<unsigned>(setting("HOLDFAST_STRESS_CYCLES", 1000));
    const Watchdog watchdog(280s);
    const Log log;
    const Mayfly loop("mode=loop");
    const Mayfly fast("mode=generate,size=128,dead_tx=refuse");
    const Mayfly slow("mode=generate,rate=200000");
    mayflies_ = {&loop, &fast, &slow};
    const EalState state_before = EalState::now();

    Vport port(devargs_of(mayflies_, "hotplug_poll=2"));
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool_, {.rx_queues = kQueues, .tx_queues = kQueues}), 0);
    for (std::uint8_t i = 0; i < mayflies_.size(); i++)
        ASSERT_TRUE(eventually([&] { return back(port, i); })) << i;

    Traffic traffic(port.id());
    ASSERT_TRUE(traffic.start(kQueues)) << "two worker lcores are needed: --lcores";
    Caller caller(port.id(), seed_);
    Footprint warm;
    std::array<unsigned, static_cast<std::size_t>(Way::kWays)> ways{};
    const auto started = std::chrono::steady_clock::now();
    const auto all_back = [&] { return back(port, 0) && back(port, 1) && back(port, 2); };
    const auto measure = [&] { // with everything plugged in, so that there is the same to count each time
        EXPECT_TRUE(eventually(all_back));
        const CallerPaused quiet(caller);
        return Footprint::now();
    };
    Footprint end;
    unsigned done = 0;
    {
        Meetings meetings(port.id(), mayflies_);
        for (; done < cycles && !HasFailure(); done++) {
            if (done == std::min(kWarmUp, cycles / 2))
                warm = measure();
            const auto sub = static_cast<std::uint8_t>(pick(mayflies_.size()));
            ASSERT_TRUE(eventually([&] { return back(port, sub); })) << "cycle " << done << ": sub-device " << int{sub};
            if (pick(3) == 0)
                disturb();
            if (pick(4) == 0) // one that is absent now refuses: that is no failure
                (void)port.switch_to(static_cast<std::uint8_t>(pick(mayflies_.size())));
            nap(1000);
            const Way way = pick_way(port, sub);
            ways.at(static_cast<std::size_t>(way))++;
            cycle(port, sub, way, meetings);
            if (done % 50 == 0) { // the application lives: both lcores still turn
                const std::uint64_t rounds = traffic.rounds();
                EXPECT_TRUE(eventually([&] { return traffic.rounds() > rounds; })) << "cycle " << done;
            }
        }
        std::cout << meetings.removals() << " gates closed, " << meetings.count() << " of them with an lcore inside\n";
        EXPECT_GT(meetings.count(), 0U) << "no removal met an lcore inside, so this run says nothing";
        end = measure();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    EXPECT_EQ(done, cycles);
    std::cout << done << " cycles in " << took.count() << " s:";
    for (std::size_t i = 0; i < ways.size(); i++)
        std::cout << (i == 0 ? " " : ", ") << ways[i] << " " << kWayNames[i];
    std::cout << "\nafter warm-up: " << warm << "\nat the end:    " << end << '\n';
    EXPECT_EQ(end.files, warm.files);
    EXPECT_EQ(end.threads, warm.threads);
    EXPECT_EQ(end.dpdk_pieces, warm.dpdk_pieces);
    EXPECT_LE(end.dpdk_bytes, warm.dpdk_bytes + 4096);
    EXPECT_LE(end.heap, warm.heap + 32 * 1024) << "an object a cycle would be more";
    EXPECT_LE(end.mappings, warm.mappings + 64);

    caller.stop();
    std::cout << caller.calls() << " control calls\n";
    EXPECT_GT(caller.calls(), 0U);
    for (std::uint8_t i = 0; i < mayflies_.size(); i++) // each has what the port has
        caller.expect_settings(*mayflies_[i]);

    traffic.stop();
    std::uint64_t received = 0;
    for (const Seen &s : traffic.seen()) {
        std::cout << s.received << " received, " << s.looped << " of them our own; " << s.sent << " sent, "
                  << s.not_taken << " not taken\n";
        EXPECT_GT(s.received, 0U);
        EXPECT_GT(s.sent, 0U);
        EXPECT_EQ(s.strays, 0U) << "packets without the virtual port's id";
        EXPECT_EQ(s.spoilt, 0U);
        EXPECT_EQ(s.gaps, 0U) << "packets that a device gave and the port lost, or gave twice";
        received += s.received;
    }
    EXPECT_LE(port.stats().ipackets, received) << "one that was pulled takes its last counts along";

    EXPECT_EQ(port.close(), 0);
    EXPECT_EQ(port.detach(), 0);
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0U) << "mbufs";
    std::int64_t lives = 0;
    for (const Mayfly *m : mayflies_) {
        EXPECT_EQ(m->count(RTE_PMD_MAYFLY_TRESPASSES), 0) << m->name();
        EXPECT_EQ(m->count(RTE_PMD_MAYFLY_LATE_CALLS), 0) << m->name();
        EXPECT_EQ(m->count(RTE_PMD_MAYFLY_LIVES), m->count(RTE_PMD_MAYFLY_CLOSES)) << m->name();
        lives += m->count(RTE_PMD_MAYFLY_LIVES);
    }
    std::cout << lives << " lives of " << mayflies_.size() << " devices\n";
    EXPECT_GE(lives, cycles / 2); // all but those by hand that were taken back in time
    EalState state_after = EalState::now();
    state_after.descriptors = state_before.descriptors; // those of the host thread came with the first port
    EXPECT_EQ(state_after, state_before);
    EXPECT_EQ(log.text(), "");
}

} // namespace
} // namespace holdfast::test
