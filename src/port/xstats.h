// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/stats.h"

#include <rte_ethdev.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

/// What one sub-device gives to the extended statistics.
struct SubCounts {
    abi::PortStats stats{};
    std::uint64_t plugins = 0;
    std::uint64_t removals = 0;
    std::uint64_t link_failures = 0;
};

/// What the port itself does.
struct PortCounts {
    std::uint64_t switches = 0;
    std::uint64_t refused = 0;       ///< Tx bursts that found no sub-device
    std::uint64_t dropped = 0;       ///< packets that were freed because nobody could send them
    std::uint64_t stale = 0;         ///< received packets that were freed because they were not the active one's
    std::uint64_t announcements = 0; ///< frames that announced a new path
};

/// Extended statistics, as ethdev asks drivers for them: the count if there is not room for all. Their list is fixed
/// for the life of a port, whoever is plugged in: applications keep the indexes. The same in every process.
int xstat_names(std::size_t subs, rte_eth_xstat_name *names, unsigned n) noexcept;
int xstat_values(const PortCounts &port, std::span<const SubCounts> subs, rte_eth_xstat *stats, unsigned n) noexcept;

} // namespace holdfast
