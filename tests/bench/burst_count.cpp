// SPDX-License-Identifier: BSD-3-Clause
// One burst after another, each case in a count of its own, for callgrind: how many instructions does a burst take?
// There is no EAL: the sub-devices are entries that we write into ethdev's public table, over functions that do next to
// nothing. Run by burst_count_test.py; without valgrind it only checks what the bursts gave.
//
// For each case callgrind dumps the instructions of kCalls calls, under the name of the case.
#include "base/guard.h"
#include "base/policy.h"
#include "datapath/choice.h"
#include "datapath/datapath.h"
#include "support/bare_queues.h"
#include "support/frame.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <valgrind/callgrind.h>

namespace holdfast::bench {
namespace {

using test::BareQueues;

constexpr std::uint16_t kBurst = 32;
constexpr unsigned kCalls = 1000; ///< in one count; burst_count_test.py divides by it

bool g_good = true;

/// Calls `burst` kCalls times in a count of its own. Each call has to move `expected` packets.
template <class F> void count(const std::string &name, std::uint16_t expected, F burst) {
    std::array<rte_mbuf *, kBurst> packets{};
    for (unsigned i = 0; i < 8; i++) // until guesses and cursors are as they will be
        (void)burst(packets.data(), kBurst);
    std::uint64_t moved = 0;
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    for (unsigned i = 0; i < kCalls; i++)
        moved += burst(packets.data(), kBurst);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    if (moved == std::uint64_t{kCalls} * expected)
        return;
    std::fprintf(stderr, "%s: %llu packets were moved, not %u a call\n", name.c_str(),
                 static_cast<unsigned long long>(moved), unsigned{expected});
    g_good = false;
}

/// A burst of UDP packets, each of a flow of its own.
class Flows {
  public:
    Flows() {
        for (std::size_t i = 0; i < kBurst; i++) {
            const auto number = static_cast<std::uint8_t>(i);
            frames_[i] = test::Frame({.to = number, .source = number}).bytes();
            mbufs_[i].buf_addr = frames_[i].data();
            mbufs_[i].data_len = static_cast<std::uint16_t>(frames_[i].size());
            rte_mbuf_refcnt_set(&mbufs_[i], 1);
            packets_[i] = &mbufs_[i];
        }
    }
    rte_mbuf **packets() { return packets_.data(); }

  private:
    std::array<std::vector<std::uint8_t>, kBurst> frames_;
    std::array<rte_mbuf, kBurst> mbufs_{};
    std::array<rte_mbuf *, kBurst> packets_{};
};

/// The functions of the other policies. Each packet is looked at by tx=balance, its references are by tx=broadcast.
void count_policies(std::uint8_t n) {
    const std::string over = " over " + std::to_string(n);
    const auto bare = std::make_unique<BareQueues>(n);
    const auto flows = std::make_unique<Flows>();
    eth_rx_burst_t volatile rx_burst = datapath::choose({.rx = RxPolicy::kActive}).rx_burst;
    bare->rx_line(0).waiting = kBurst;
    count("rx=active full" + over, kBurst, [&](rte_mbuf **p, std::uint16_t k) { return rx_burst(&bare->rx(), p, k); });
    const auto count_tx = [&](const std::string &name, const Policy &policy) {
        eth_tx_burst_t volatile tx_burst = datapath::choose(policy).tx_burst;
        count("tx=" + name + over, kBurst,
              [&](rte_mbuf **, std::uint16_t k) { return tx_burst(&bare->tx(), flows->packets(), k); });
    };
    count_tx("balance l2", {.tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL2});
    count_tx("balance l23", {.tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL23});
    count_tx("balance l34", {.tx = TxPolicy::kBalance, .xmit = XmitPolicy::kL34});
    count_tx("round-robin", {.tx = TxPolicy::kRoundRobin});
    count_tx("broadcast", {.tx = TxPolicy::kBroadcast});
}

int run() {
    {
        const auto bare = std::make_unique<BareQueues>(std::uint8_t{1});
        if (bare->gate(0).marking() != Marking::kBarrier) {
            std::fprintf(stderr, "this kernel, or valgrind, has no membarrier: not what is to be counted\n");
            return 1;
        }
    }
    for (std::uint8_t n = 1; n <= 4; n = static_cast<std::uint8_t>(2 * n)) {
        const auto bare = std::make_unique<BareQueues>(n);
        const std::string over = " over " + std::to_string(n);
        // Through a pointer, as applications do.
        eth_rx_burst_t volatile rx_burst = &datapath::rx_burst;
        eth_tx_burst_t volatile tx_burst = &datapath::tx_burst;
        const auto our_rx = [&](rte_mbuf **p, std::uint16_t k) { return rx_burst(&bare->rx(), p, k); };
        const auto our_tx = [&](rte_mbuf **p, std::uint16_t k) { return tx_burst(&bare->tx(), p, k); };
        count("rx empty" + over, 0, our_rx);
        bare->rx_line(0).waiting = kBurst; // traffic on one, the others idle: each call asks all of them
        count("rx full" + over, kBurst, our_rx);
        for (std::uint8_t i = 0; i < n; i++)
            bare->rx_line(i).waiting = kBurst;
        count("rx full on each" + over, kBurst, our_rx);
        count("tx full" + over, kBurst, our_tx);
        count("tx empty" + over, 0, [&](rte_mbuf **p, std::uint16_t) { return our_tx(p, 0); });
        count_policies(n);
    }
    return g_good ? 0 : 1;
}

} // namespace
} // namespace holdfast::bench

int main() {
    return holdfast::bench::run();
}
