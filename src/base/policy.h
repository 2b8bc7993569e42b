// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast {

/// What makes the active sub-device another one.
enum class SwitchOn : std::uint8_t {
    kLink,    ///< its link, its health, its removal
    kRemoval, ///< its health and its removal only, as net_failsafe has it
};

/// When does the preferred sub-device take over again? As Linux bonding's primary_reselect.
enum class Reselect : std::uint8_t {
    kAlways,  ///< as soon as it can
    kBetter,  ///< if its link is faster than that of the active one
    kFailure, ///< only when the active one fails
};

/// From whom are packets received?
enum class RxPolicy : std::uint8_t {
    kAll,    ///< from every sub-device in turn
    kActive, ///< from the active one; what the others receive is dropped and counted
};

/// On which sub-devices are packets sent?
enum class TxPolicy : std::uint8_t {
    kActive,     ///< on the active one
    kBalance,    ///< each flow on one of them
    kRoundRobin, ///< burst by burst in turn
    kBroadcast,  ///< on all of them
};

/// What makes two packets one flow, for TxPolicy::kBalance.
enum class XmitPolicy : std::uint8_t {
    kL2,  ///< MAC addresses and type
    kL23, ///< MAC and IP addresses
    kL34, ///< IP addresses, protocol and ports
};

/// What becomes of packets that nobody can send.
enum class NoActive : std::uint8_t {
    kHold, ///< they stay the application's: the burst function takes none
    kDrop, ///< they are taken, freed and counted
};

/// How a virtual port chooses and uses its sub-devices.
struct Policy {
    SwitchOn switch_on = SwitchOn::kLink;
    Reselect reselect = Reselect::kAlways;
    std::chrono::milliseconds lsc_poll{10};  ///< how often the link of a driver without link events is looked at
    std::chrono::milliseconds down_delay{0}; ///< how long a link has to be down before that counts
    std::chrono::milliseconds up_delay{0};   ///< how long it has to be up
    std::uint32_t announce = 1;              ///< how often a new path is announced; 0: never
    bool announce_vlans = false;             ///< also in each VLAN of the port's filters
    RxPolicy rx = RxPolicy::kAll;
    TxPolicy tx = TxPolicy::kActive;
    XmitPolicy xmit = XmitPolicy::kL2;
    NoActive no_active = NoActive::kHold;
    bool operator==(const Policy &) const = default;
};

} // namespace holdfast
