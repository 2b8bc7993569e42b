// SPDX-License-Identifier: BSD-3-Clause
// What a burst of 32 costs: on the sub-device itself, through the virtual port over 1, 2 and 4 sub-devices, and through
// DPDK's own net_failsafe (2 at most) and net_bonding (active-backup), over net_ring, net_null or mayfly. "spread" is
// another comparison, over net_null: packets that are spread over two sub-devices, by us and by net_bonding. One
// process with one EAL, one lcore, one loop; the ports take turns, so that what disturbs one disturbs all, and a ratio
// is one of neighbours in time. Where things come to lie in memory is a matter of luck, and worth some per cent: so
// several processes do that, one after the other, and their rounds are taken together. Nothing is asserted about
// absolute times.
//
//   burst_bench [--device net_ring|net_null|net_mayfly|spread] [--processes N] [--rounds N] [--bursts N] [--out FOLDER]
//   (EAL arguments by HOLDFAST_EAL_ARGS; --rounds is per process)
//
// Status 1: the control failed: the sub-device against itself is not 1.00 within this run's own spread, so the run says
// nothing. 2: the target was missed (report.h). 3: it did not run.
#include "bench/report.h"
#include "support/frame.h"

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
#include <sys/wait.h>
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

/// Makes a port with one queue each way and starts it. No port id: it was made, but does not start.
std::uint16_t bring_up(const std::string &name, const std::string &devargs, rte_mempool *pool) {
    std::uint16_t port = 0;
    rte_eth_conf conf{};
    if (rte_vdev_init(name.c_str(), devargs.c_str()) != 0 || rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0)
        die("make " + name + "," + devargs);
    if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 || rte_eth_rx_queue_setup(port, 0, 1024, 0, nullptr, pool) != 0 ||
        rte_eth_tx_queue_setup(port, 0, 1024, 0, nullptr) != 0)
        die("set up " + name);
    if (rte_eth_dev_start(port) != 0)
        return RTE_MAX_ETHPORTS;
    // net_bonding takes its members in when it has heard of their links.
    rte_eth_link link{};
    for (int tries = 0; tries < 500; tries++) {
        if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
            return port;
        rte_delay_us_sleep(10'000);
    }
    die("get a link on " + name);
}

/// Moves `bursts` bursts from a port's Rx to its Tx; gives the cycles, and the packets that were moved. Aligned, so
/// that the same loop does not become another one when something above it in this file changes.
[[gnu::noinline, gnu::aligned(64)]] std::uint64_t run(const Candidate &c, unsigned bursts, std::uint64_t &moved) {
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

/// The policies that spread packets over two sub-devices, and net_bonding's modes that do.
struct Spreading {
    const char *name, *ours, *theirs;
};
constexpr std::array<Spreading, 3> kSpreading{{
    {"balance l2 over 2", "tx=balance,xmit_policy=l2", "mode=2,xmit_policy=l2"},
    {"balance l34 over 2", "tx=balance,xmit_policy=l34", "mode=2,xmit_policy=l34"},
    {"round-robin over 2", "tx=round-robin", "mode=0"},
}};

/// Every mbuf of the pool gets a packet of a flow of its own, which stays there: net_null leaves what it finds.
void fill_with_flows(rte_mempool *pool) {
    std::vector<rte_mbuf *> all(rte_mempool_avail_count(pool));
    if (rte_pktmbuf_alloc_bulk(pool, all.data(), static_cast<unsigned>(all.size())) != 0)
        die("take all mbufs");
    for (std::size_t i = 0; i < all.size(); i++) {
        const std::vector<std::uint8_t> bytes = test::Frame({.to = static_cast<std::uint8_t>(i),
                                                             .source = static_cast<std::uint8_t>(i),
                                                             .source_port = static_cast<std::uint16_t>(i)})
                                                    .bytes();
        std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_mtod(all[i], std::uint8_t *));
    }
    rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
}

/// net_ring and mayfly give back what was sent, so one burst goes round and round; net_null makes packets and drops
/// them.
std::vector<Candidate> make_candidates(const std::string &which, rte_mempool *pool) {
    // What is spread is compared over net_null alone, where each call gives a whole burst: a loop would give it back in
    // parts.
    const bool spread = which == "spread";
    const std::string kind = spread ? "net_null" : which;
    const std::string args = kind == "net_mayfly" ? "mode=loop" : "";
    const std::string tag = kind.substr(sizeof("net_") - 1);
    int made = 0;
    const auto sub = [&] { return kind + "_b" + std::to_string(made++); };
    /// n sub-devices, as net_holdfast and net_failsafe want them
    const auto devices = [&](int n, std::string out = {}) {
        for (int i = 0; i < n; i++)
            out += (out.empty() ? "dev(" : ",dev(") + sub() + (args.empty() ? "" : "," + args) + ")";
        return out;
    };
    /// n members, made beforehand, as net_bonding wants them
    const auto members = [&](int n, std::string out = "mode=1") {
        for (int i = 0; i < n; i++) {
            const std::string name = sub();
            if (rte_vdev_init(name.c_str(), args.c_str()) != 0)
                die("make " + name);
            out += ",member=" + name;
        }
        return out;
    };
    std::vector<Candidate> out;
    out.push_back({"direct", bring_up(sub(), args, pool)});
    out.push_back({"direct again (control)", out[0].port});
    out.push_back({"direct, writing mbuf::port", out[0].port, true});
    if (spread) {
        for (const auto &[name, ours, theirs] : kSpreading) {
            const std::string number = std::to_string(made);
            out.push_back(
                {std::string("holdfast ") + name, bring_up("net_holdfast_s" + number, devices(2, ours), pool)});
            out.push_back(
                {std::string("bonding ") + name, bring_up("net_bonding_s" + number, members(2, theirs), pool)});
        }
        return out;
    }
    for (const int n : {1, 2, 4})
        out.push_back({"holdfast over " + std::to_string(n),
                       bring_up("net_holdfast_" + tag + std::to_string(n), devices(n), pool)});
    for (const int n : {1, 2})
        out.push_back({"failsafe over " + std::to_string(n),
                       bring_up("net_failsafe_" + tag + std::to_string(n), devices(n), pool)});
    for (const int n : {1, 2, 4})
        out.push_back({"bonding over " + std::to_string(n),
                       bring_up("net_bonding_" + tag + std::to_string(n), members(n), pool)});
    // net_bonding sets its members' MAC addresses when it starts, and will not without: net_ring cannot.
    for (const Candidate &c : out)
        if (c.port == RTE_MAX_ETHPORTS && !(kind == "net_ring" && c.name.starts_with("bonding")))
            die("start " + c.name);
    std::erase_if(out, [](const Candidate &c) { return c.port == RTE_MAX_ETHPORTS; });
    if (kind != "net_null")
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
    Table table{.title = kind, .processes = 1, .rounds = rounds, .bursts = bursts, .rows = {}};
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

struct Options {
    std::string device = "net_ring";
    unsigned processes = 5;
    unsigned rounds = 1001;
    unsigned bursts = 256; // a sample is shorter than most disturbances
    std::filesystem::path out = ".";
};

/// One process's part: measures and writes its rows, each a line with the name and the samples.
[[noreturn]] void measure_here(const Options &options, char *program, int to) {
    start_eal(program);
    const std::filesystem::path files = rte_eal_get_runtime_dir();
    // Without hugepages a mempool puts each large mbuf on a page of its own, so all their headers would compete for the
    // same few lines of the first-level cache: a cost that no machine with hugepages has. Small ones lie side by side.
    rte_mempool *pool = rte_pktmbuf_pool_create("bench", 4095, 256, 0, RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
    if (pool == nullptr)
        die("make a mempool");
    fill_with_flows(pool);
    const Table table = measure(options.device, pool, options.rounds, options.bursts);
    std::error_code ignored;
    std::filesystem::remove_all(files, ignored); // EAL leaves its folder behind
    std::FILE *out = ::fdopen(to, "w");
    for (const Row &row : table.rows) {
        std::fprintf(out, "%s\t", row.name.c_str());
        for (const double cycles : row.cycles)
            std::fprintf(out, " %a", cycles);
        std::fputs("\n", out);
    }
    // Without closing anything: net_failsafe may release its sub-devices twice when it is closed, and that is not our
    // subject.
    std::_Exit(std::fclose(out) == 0 ? 0 : 3);
}

/// Lets a new process measure, and adds its rows to the table.
void measure_apart(const Options &options, char *program, Table &table) {
    int ends[2];
    if (::pipe(ends) != 0)
        die("make a pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        measure_here(options, program, ends[1]);
    }
    ::close(ends[1]);
    std::FILE *in = ::fdopen(ends[0], "r");
    std::string text;
    for (int c = 0; (c = std::fgetc(in)) != EOF;)
        text.push_back(static_cast<char>(c));
    std::fclose(in);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
        std::_Exit(3); // it has said why
    std::istringstream lines(text);
    std::size_t at = 0;
    for (std::string name; std::getline(lines, name, '\t'); at++) {
        if (table.rows.size() == at)
            table.rows.push_back({.name = name, .cycles = {}});
        std::string samples;
        std::getline(lines, samples);
        char *next = samples.data();
        for (char *from = next; *from != '\0'; from = next)
            table.rows[at].cycles.push_back(std::strtod(from, &next));
    }
    table.processes++;
}

int bench(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 < argc && option == "--processes")
            options.processes = number(argv[i + 1]);
        else if (i + 1 < argc && option == "--rounds")
            options.rounds = number(argv[i + 1]);
        else if (i + 1 < argc && option == "--bursts")
            options.bursts = number(argv[i + 1]);
        else if (i + 1 < argc && option == "--device")
            options.device = argv[i + 1];
        else if (i + 1 < argc && option == "--out")
            options.out = argv[i + 1];
        else {
            std::fprintf(stderr, "usage: burst_bench [--device net_ring|net_null|net_mayfly|spread] "
                                 "[--processes N] [--rounds N] [--bursts N] [--out FOLDER]\n");
            return 3;
        }
    }
    if (options.device != "net_ring" && options.device != "net_null" && options.device != "net_mayfly" &&
        options.device != "spread") {
        std::fprintf(stderr, "burst_bench: '%s' is not among the devices\n", options.device.c_str());
        return 3;
    }
    Table table{
        .title = options.device, .processes = 0, .rounds = options.rounds, .bursts = options.bursts, .rows = {}};
    for (unsigned i = 0; i < options.processes; i++)
        measure_apart(options, argv[0], table);
    return report(table, options.out);
}

} // namespace
} // namespace holdfast::bench

int main(int argc, char **argv) {
    return holdfast::bench::bench(argc, argv);
}
