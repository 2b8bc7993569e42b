// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/ethdev.h"
#include "base/ids.h"
#include "base/selection.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// What an operator sees of a virtual port: telemetry, rte_pmd_holdfast.h.
struct PortInfo {
    struct Sub {
        std::string devargs, source, state, reason; ///< source: empty if it is always this device
        std::string link; ///< "up", "shaky", "down"; empty if it does not run, or links do not count
        std::uint64_t link_failures = 0;
        bool wanted = false, active = false, joined = false, probing = false, vacant = false;
        std::uint64_t tenant = 0; ///< another one: another sub-device has the place
        PortId port{};
        std::uint64_t removals = 0, plugins = 0;
        abi::PortStats stats{};
    };
    std::string name;
    SubIndex active{};
    Hold hold = Hold::kFree;
    std::uint64_t switches = 0, refused = 0, dropped = 0, stale = 0, announcements = 0; ///< see PortCounts
    std::vector<Sub> subs;
};

} // namespace holdfast
