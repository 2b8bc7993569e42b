// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace holdfast::fake {

/// The operations of abi::Ethdev.
enum class Op : std::uint8_t {
    kInfo,
    kConfigure,
    kRxQueueSetup,
    kTxQueueSetup,
    kStart,
    kStop,
    kReset,
    kRxQueueRun,
    kTxQueueRun,
    kSetLink,
    kLink,
    kStats,
    kStatsReset,
    kIsRemoved,
    kSetMtu,
    kMtu,
    kPromiscuous,
    kAllmulticast,
    kSetPromiscuous,
    kSetAllmulticast,
    kMac,
    kSetDefaultMac,
    kAddMac,
    kRemoveMac,
    kSetMcList,
    kSetVlanFilter,
    kSetVlanOffload,
    kVlanOffload,
    kLeftovers,
    kRss,
    kSetRss,
    kReta,
    kSetReta,
    kCount
};

} // namespace holdfast::fake
