// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/clock.h"
#include "mayfly/config.h"

#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

namespace holdfast::mayfly {

/// All that an application has told a port, as the simulated hardware remembers it.
struct Settings {
    bool configured = false;
    bool started = false;
    bool promiscuous = false;
    bool allmulticast = false;
    bool link_wanted = true;
    bool intr_lsc = true; ///< intr_conf of the port; a port that nobody configured yet gets its events
    bool intr_rmv = true;
    std::uint32_t speed = 10000; ///< of its link, in Mbit/s; not told, but what it was made with
    std::uint16_t mtu = 1500;
    std::uint16_t rx_queues = 0;
    std::uint16_t tx_queues = 0;

    Mac mac{};
    std::map<std::uint32_t, Mac> macs; ///< further addresses by slot
    std::vector<Mac> mc_macs;

    std::bitset<4096> vlans;
    std::uint64_t strip_queues = 0;
    std::uint16_t pvid = 0;
    std::uint16_t tpid_outer = 0x8100;
    std::uint16_t tpid_inner = 0x8100;
    std::uint64_t rx_offloads = 0;
    std::uint64_t tx_offloads = 0;

    std::uint64_t rss_hf = 0;
    std::uint32_t rss_algorithm = 0;
    std::vector<std::uint8_t> rss_key;
    std::vector<std::uint16_t> reta;

    std::uint32_t fc_mode = 0;
    std::uint32_t fc_high_water = 0;
    std::uint32_t fc_low_water = 0;
    std::uint16_t fc_pause_time = 0;
    std::uint16_t fc_send_xon = 0;
    std::uint8_t fc_forward_ctrl = 0;
    std::uint8_t fc_autoneg = 0;

    std::uint32_t ptype_mask = 0xffffffff;

    bool timesync = false;
    PtpClock ptp;
};

} // namespace holdfast::mayfly
