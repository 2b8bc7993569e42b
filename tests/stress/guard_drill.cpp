// SPDX-License-Identifier: BSD-3-Clause
// Removals under traffic with slow bursts: does a simulated NIC see anybody in a queue that was stopped or closed?
// Built twice: with the true guard, which must come out clean, and with a mutant of it, which must be caught.
//
//   guard_drill CYCLES [SEED]   (EAL arguments by HOLDFAST_EAL_ARGS)
//
// Status 0: clean; 1: somebody was where nobody may be; 2: no removal met an lcore, so the run says nothing; 3: it did
// not run.
#include "stress/traffic.h"
#include "support/own_eal.h"
#include "support/virtual_port.h"

#include <rte_log.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::uint16_t kQueues = 2;

struct Findings {
    std::int64_t trespasses = 0, late_calls = 0, late_accesses = 0;

    static Findings of(const std::vector<const Mayfly *> &mayflies) {
        Findings out;
        for (const Mayfly *m : mayflies) {
            out.trespasses += m->count(RTE_PMD_MAYFLY_TRESPASSES);
            out.late_calls += m->count(RTE_PMD_MAYFLY_LATE_CALLS);
        }
        out.late_accesses = rte_pmd_mayfly_late_accesses();
        return out;
    }
    [[nodiscard]] bool any() const { return trespasses != 0 || late_calls != 0 || late_accesses != 0; }
};

int drill(unsigned cycles, std::uint64_t seed) {
    rte_mempool *pool = rte_pktmbuf_pool_create("drill", 8191, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (pool == nullptr)
        return 3;
    std::mt19937_64 random(seed);
    // No rings between devices: their own guards are of the same kind, and it is the virtual port's that is drilled.
    const Mayfly first("mode=generate");
    const Mayfly second("mode=generate");
    const std::vector<const Mayfly *> mayflies = {&first, &second};
    unsigned met = 0;
    unsigned done = 0;
    Findings found;
    {
        Vport port(devargs_of(mayflies, "hotplug_poll=1"));
        if (port.rc() != 0 || port.up(pool, {.rx_queues = kQueues, .tx_queues = kQueues}) != 0)
            return 3;
        (void)rte_pmd_mayfly_catch_late(1); // so that we can say what happened
        Traffic traffic(port.id());
        if (!traffic.start(kQueues))
            return 3;
        const auto ready = [&] {
            return port.joined(0) && port.joined(1) && gate_open(port.id(), 0) && gate_open(port.id(), 1);
        };
        for (; done < cycles && !found.any(); done++) {
            if (!eventually(ready))
                return 3;
            const auto sub = static_cast<std::uint8_t>(random() % 2);
            // Long enough to be found inside by the stop that follows, short enough to enter often.
            for (const Mayfly *m : mayflies)
                m->delay("rx_burst", std::chrono::microseconds(4 + random() % 12));
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
            mayflies[sub]->unplug();
            met += lcore_inside(port.id(), kQueues, sub) ? 1 : 0;
            if (!eventually([&] { return port.state(sub) == "absent"; }))
                return 3;
            mayflies[sub]->plug();
            found = Findings::of(mayflies);
        }
        traffic.stop();
        found = Findings::of(mayflies);
    }
    std::printf(
        "%u rounds (seed %llu), %u of them with an lcore inside: %lld trespasses, %lld late calls, %lld accesses to "
        "closed pages\n",
        done, static_cast<unsigned long long>(seed), met, static_cast<long long>(found.trespasses),
        static_cast<long long>(found.late_calls), static_cast<long long>(found.late_accesses));
    if (found.any())
        return 1;
    return met == 0 ? 2 : 0;
}

} // namespace
} // namespace holdfast::test

int main(int argc, char **argv) {
    if (argc < 2)
        return 3;
    const auto cycles = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();

    const holdfast::test::OwnEal eal(argv[0], "holdfast-drill");
    if (!eal.started())
        return 3;
    rte_log_set_level_pattern("*", RTE_LOG_CRIT); // EAL calls each probe of an absent device an error
    const int status = holdfast::test::drill(cycles, seed);
    // What a mutant has broken may break the way out as well; the status is what counts.
    eal.remove_files();
    std::fflush(stdout);
    std::_Exit(status);
}
