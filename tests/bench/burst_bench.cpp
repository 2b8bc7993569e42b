// SPDX-License-Identifier: BSD-3-Clause
// What a burst of 32 costs: through the virtual port, through DPDK's own net_failsafe, and on the sub-device itself,
// over net_ring and net_null. One process, one EAL, one lcore; the ports take turns, so that what disturbs one disturbs
// all, and a ratio is one of neighbours in time. Nothing is asserted about absolute times.
//
//   burst_bench [--rounds N] [--bursts N] [--out FOLDER]   (EAL arguments by HOLDFAST_EAL_ARGS)
//
// Status 1: the control failed: the sub-device against itself is not 1.00 within this run's own spread, so the run says
// nothing.
#include "bench/report.h"

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace holdfast::bench {
namespace {

constexpr std::uint16_t kBurst = 32;
constexpr unsigned kWarmUpRounds = 5;
constexpr unsigned kWarmUpBursts = 8; ///< before each sample

struct Candidate {
    std::string name;
    std::uint16_t port = RTE_MAX_ETHPORTS;
    bool stamp = false; ///< write mbuf::port, as every port over others has to
};

[[noreturn]] void die(const std::string &what) {
    std::fprintf(stderr, "burst_bench: cannot %s: %s\n", what.c_str(), rte_strerror(rte_errno));
    std::_Exit(3);
}

/// Makes a port with one queue each way and starts it.
std::uint16_t bring_up(const std::string &name, const std::string &devargs, rte_mempool *pool) {
    std::uint16_t port = 0;
    rte_eth_conf conf{};
    if (rte_vdev_init(name.c_str(), devargs.c_str()) != 0 || rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0)
        die("make " + name + "," + devargs);
    if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 || rte_eth_rx_queue_setup(port, 0, 1024, 0, nullptr, pool) != 0 ||
        rte_eth_tx_queue_setup(port, 0, 1024, 0, nullptr) != 0 || rte_eth_dev_start(port) != 0)
        die("start " + name);
    return port;
}

/// Moves `bursts` bursts from a port's Rx to its Tx; gives the cycles, and the packets that were moved.
[[gnu::noinline]] std::uint64_t run(const Candidate &c, unsigned bursts, std::uint64_t &moved) {
    std::array<rte_mbuf *, kBurst> packets;
    const std::uint16_t port = c.port;
    const bool stamp = c.stamp;
    std::uint64_t sum = 0;
    const std::uint64_t begin = rte_rdtsc_precise();
    for (unsigned i = 0; i < bursts; i++) {
        const std::uint16_t got = rte_eth_rx_burst(port, 0, packets.data(), kBurst);
        if (stamp)
            for (std::uint16_t k = 0; k < got; k++)
                packets[k]->port = port;
        sum += rte_eth_tx_burst(port, 0, packets.data(), got);
    }
    const std::uint64_t end = rte_rdtsc_precise();
    moved = sum;
    return end - begin;
}

/// net_ring gives back what was sent, so one burst goes round and round; net_null makes packets and drops them.
std::vector<Candidate> make_candidates(const std::string &kind, rte_mempool *pool) {
    const auto sub = [&](int i) { return kind + "_b" + std::to_string(i); };
    const auto dev = [&](int i) { return "dev(" + sub(i) + ")"; };
    const std::string tag = kind.substr(sizeof("net_") - 1);
    std::vector<Candidate> out;
    out.push_back({"direct", bring_up(sub(0), "", pool)});
    out.push_back({"direct again (control)", out[0].port});
    out.push_back({"direct, writing mbuf::port", out[0].port, true});
    out.push_back({"holdfast over 1", bring_up("net_holdfast_" + tag + "1", dev(1), pool)});
    out.push_back({"holdfast over 2", bring_up("net_holdfast_" + tag + "2", dev(2) + "," + dev(3), pool)});
    out.push_back({"failsafe over 1", bring_up("net_failsafe_" + tag + "1", dev(4), pool)});
    out.push_back({"failsafe over 2", bring_up("net_failsafe_" + tag + "2", dev(5) + "," + dev(6), pool)});
    if (kind == "net_ring")
        for (std::size_t i = 0; i < out.size(); i++) {
            if (i != 0 && out[i].port == out[0].port)
                continue; // it has its burst
            std::array<rte_mbuf *, kBurst> packets;
            if (rte_pktmbuf_alloc_bulk(pool, packets.data(), kBurst) != 0 ||
                rte_eth_tx_burst(out[i].port, 0, packets.data(), kBurst) != kBurst)
                die("fill " + out[i].name);
        }
    return out;
}

Table measure(const std::string &kind, rte_mempool *pool, unsigned rounds, unsigned bursts) {
    const std::vector<Candidate> candidates = make_candidates(kind, pool);
    Table table{.title = kind, .rounds = rounds, .bursts = bursts, .rows = {}};
    for (const Candidate &c : candidates)
        table.rows.push_back({.name = c.name, .cycles = {}});
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::minstd_rand random(1); // not to measure chance: nobody always comes after the same neighbour
    for (unsigned round = 0; round < rounds + kWarmUpRounds; round++) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
            std::uint64_t moved = 0;
            (void)run(candidates[i], kWarmUpBursts, moved); // gets its packets and code into the caches
            const std::uint64_t cycles = run(candidates[i], bursts, moved);
            if (moved != std::uint64_t{bursts} * kBurst && round >= kWarmUpRounds) {
                std::fprintf(stderr, "burst_bench: %s: %s moved %llu packets where %llu were to be moved\n",
                             kind.c_str(), candidates[i].name.c_str(), static_cast<unsigned long long>(moved),
                             static_cast<unsigned long long>(std::uint64_t{bursts} * kBurst));
                std::_Exit(3);
            }
            if (round >= kWarmUpRounds)
                table.rows[i].cycles.push_back(static_cast<double>(cycles) / bursts);
        }
    }
    return table;
}

/// The last CPU that we may use: the first one has most of a small machine's interrupts.
int a_cpu() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    (void)sched_getaffinity(0, sizeof(cpus), &cpus);
    int last = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &cpus))
            last = i;
    return last;
}

void start_eal(char *program) {
    const char *given = std::getenv("HOLDFAST_EAL_ARGS");
    std::istringstream words(given != nullptr ? given : "--no-huge -m 512 --no-pci --no-telemetry");
    std::vector<std::string> args{program, "--file-prefix=holdfast-bench-" + std::to_string(getpid()),
                                  "--lcores=0@" + std::to_string(a_cpu())};
    for (std::string word; words >> word;)
        args.push_back(word);
    std::vector<char *> pointers;
    for (std::string &arg : args)
        pointers.push_back(arg.data());
    if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0)
        die("start an EAL");
    rte_log_set_level_pattern("*", RTE_LOG_WARNING);
}

unsigned number(const char *text) {
    const unsigned long n = std::strtoul(text, nullptr, 10);
    if (n == 0 || n > 10'000'000) {
        std::fprintf(stderr, "burst_bench: '%s' is no number from 1 to 10000000\n", text);
        std::_Exit(3);
    }
    return static_cast<unsigned>(n);
}

int bench(int argc, char **argv) {
    unsigned rounds = 3001;
    unsigned bursts = 256; // a sample is shorter than most disturbances
    std::filesystem::path out = ".";
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 < argc && option == "--rounds")
            rounds = number(argv[i + 1]);
        else if (i + 1 < argc && option == "--bursts")
            bursts = number(argv[i + 1]);
        else if (i + 1 < argc && option == "--out")
            out = argv[i + 1];
        else {
            std::fprintf(stderr, "usage: burst_bench [--rounds N] [--bursts N] [--out FOLDER]\n");
            return 3;
        }
    }
    start_eal(argv[0]);
    const std::filesystem::path files = rte_eal_get_runtime_dir();
    // Without hugepages a mempool puts each large mbuf on a page of its own, so all their headers would compete for the
    // same few lines of the first-level cache: a cost that no machine with hugepages has. Small ones lie side by side.
    rte_mempool *pool = rte_pktmbuf_pool_create("bench", 4095, 256, 0, RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
    if (pool == nullptr)
        die("make a mempool");
    std::vector<Table> tables;
    for (const char *kind : {"net_ring", "net_null"})
        tables.push_back(measure(kind, pool, rounds, bursts));
    const bool good = report(tables, out);
    std::error_code ignored;
    std::filesystem::remove_all(files, ignored); // EAL leaves its folder behind
    return good ? 0 : 1;
}

} // namespace
} // namespace holdfast::bench

int main(int argc, char **argv) {
    const int status = holdfast::bench::bench(argc, argv);
    std::fflush(nullptr);
    // Without closing anything: net_failsafe may release its sub-devices twice when it is closed, and that is not our
    // subject.
    std::_Exit(status);
}
