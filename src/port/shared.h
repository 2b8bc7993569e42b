// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "base/published.h"
#include "port/xstats.h"

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cstdint>

struct rte_mempool;

namespace holdfast {

/// What secondary processes see of a virtual port, beside what ethdev itself shares. No pointer in it is the primary's
/// own: the one to a mempool is an address that all processes map alike.
struct Snapshot {
    struct Sub {
        std::array<char, RTE_DEV_NAME_MAX_LEN> device; ///< on the vdev bus; empty: absent, or on a bus that tells
                                                       ///< secondary processes by itself
        std::uint64_t life;                            ///< tells one life of the device from the next
        PortId port;
        friend bool operator==(const Sub &, const Sub &) = default;
    };
    struct RxQueue {
        rte_eth_rxconf conf;
        rte_mempool *pool;
        std::uint16_t descriptors;
        std::uint8_t scattered;
    };
    struct TxQueue {
        rte_eth_txconf conf;
        std::uint16_t descriptors;
    };

    rte_eth_dev_info info;
    abi::PortStats stats;
    PortCounts port_counts;
    std::array<SubCounts, kMaxSubDevices> sub_counts;
    std::array<Sub, kMaxSubDevices> subs;
    std::array<RxQueue, kMaxQueues> rx_queues;
    std::array<TxQueue, kMaxQueues> tx_queues;
    std::array<std::uint32_t, 256> ptypes;
    std::uint16_t ptype_count;
    std::uint8_t sub_count;
};

/// A virtual port's part of the shared memory. The primary writes, but for `asked`. There is no lock in it: a secondary
/// that is killed, wherever it stands, leaves a ticket that nobody waits for.
struct SharedPort {
    /// Two builds of the driver that differ here do not read each other's.
    static constexpr std::uint64_t kFormat = 0x484f'4c44'0001'0000 + sizeof(Snapshot);

    std::uint64_t format = kFormat;
    alignas(kCacheLine) std::atomic<std::uint64_t> asked{0};    ///< tickets that secondaries drew
    alignas(kCacheLine) std::atomic<std::uint64_t> answered{0}; ///< up to this ticket the snapshot is fresh
    Published<Snapshot> snapshot{};
};

} // namespace holdfast
