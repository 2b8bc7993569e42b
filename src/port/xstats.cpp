// SPDX-License-Identifier: BSD-3-Clause
#include "port/xstats.h"

#include <rte_ethdev.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

namespace holdfast {
namespace {

struct PerSub {
    const char *name;
    std::uint64_t (*value)(const SubCounts &);
};
constexpr std::array<PerSub, 9> kPerSub{{
    {"rx_packets", [](const SubCounts &s) { return s.stats.ipackets; }},
    {"tx_packets", [](const SubCounts &s) { return s.stats.opackets; }},
    {"rx_bytes", [](const SubCounts &s) { return s.stats.ibytes; }},
    {"tx_bytes", [](const SubCounts &s) { return s.stats.obytes; }},
    {"rx_missed", [](const SubCounts &s) { return s.stats.imissed; }},
    {"tx_errors", [](const SubCounts &s) { return s.stats.oerrors; }},
    {"plugins", [](const SubCounts &s) { return s.plugins; }},
    {"removals", [](const SubCounts &s) { return s.removals; }},
    {"link_failures", [](const SubCounts &s) { return s.link_failures; }},
}};

struct PerPort {
    const char *name;
    std::uint64_t PortCounts::*value;
};
constexpr std::array<PerPort, 5> kPerPort{{{"switches", &PortCounts::switches},
                                           {"tx_refused_bursts", &PortCounts::refused},
                                           {"tx_dropped_packets", &PortCounts::dropped},
                                           {"rx_stale_packets", &PortCounts::stale},
                                           {"announcements", &PortCounts::announcements}}};

constexpr std::size_t count_of(std::size_t subs) noexcept {
    return kPerPort.size() + subs * kPerSub.size();
}

} // namespace

int xstat_names(std::size_t subs, rte_eth_xstat_name *names, unsigned n) noexcept {
    const std::size_t count = count_of(subs);
    if (names == nullptr || n < count)
        return static_cast<int>(count);
    for (const PerPort &x : kPerPort)
        std::snprintf((names++)->name, sizeof(names->name), "%s", x.name);
    for (unsigned sub = 0; sub < subs; sub++)
        for (const PerSub &x : kPerSub)
            std::snprintf((names++)->name, sizeof(names->name), "sub%u_%s", sub, x.name);
    return static_cast<int>(count);
}

int xstat_values(const PortCounts &port, std::span<const SubCounts> subs, rte_eth_xstat *stats, unsigned n) noexcept {
    const std::size_t count = count_of(subs.size());
    if (stats == nullptr || n < count)
        return static_cast<int>(count);
    std::uint64_t id = 0;
    const auto put = [&](std::uint64_t value) {
        stats[id] = {.id = id, .value = value};
        id++;
    };
    for (const PerPort &x : kPerPort)
        put(port.*x.value);
    for (const SubCounts &sub : subs)
        for (const PerSub &x : kPerSub)
            put(x.value(sub));
    return static_cast<int>(count);
}

} // namespace holdfast
