// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/ids.h"
#include "base/policy.h"
#include "base/selection.h"
#include "datapath/datapath.h"

#include <rte_ethdev.h>

#include <array>
#include <cstdint>
#include <span>

struct rte_mempool;

namespace holdfast {

/// What the application asked for a queue, for sub-devices that come later, and the object that lcores use.
struct RxQueueRecord {
    datapath::RxQueue *queue = nullptr; ///< null: not set up
    std::uint16_t descriptors = 0;
    unsigned socket = 0;
    rte_eth_rxconf conf{};
    rte_mempool *pool = nullptr;
    bool run = true; ///< false: deferred, or stopped by the application
};

struct TxQueueRecord {
    datapath::TxQueue *queue = nullptr;
    std::uint16_t descriptors = 0;
    unsigned socket = 0;
    rte_eth_txconf conf{};
    bool run = true;
};

/// The queues of one virtual port: makes and frees the objects of the data path, and puts sub-devices into them and
/// takes them out. Under the port's mutex. Memory comes from DPDK's heap, on the socket that the application named.
class Queues {
  public:
    Queues(const Selection &selection, std::span<Door *const> doors, NoActive no_active = NoActive::kHold) noexcept;
    ~Queues();
    Queues(const Queues &) = delete;
    Queues &operator=(const Queues &) = delete;

    /// Makes a queue; -ENOMEM. `port` is the virtual port.
    int make_rx(PortId port, QueueId id, const RxQueueRecord &asked) noexcept;
    int make_tx(QueueId id, const TxQueueRecord &asked) noexcept;
    /// Frees a queue. The application must not be using it, as ethdev demands.
    void free_rx(QueueId id) noexcept;
    void free_tx(QueueId id) noexcept;

    [[nodiscard]] RxQueueRecord &rx(QueueId id) noexcept { return rx_.at(id.raw()); }
    [[nodiscard]] TxQueueRecord &tx(QueueId id) noexcept { return tx_.at(id.raw()); }
    [[nodiscard]] const RxQueueRecord &rx(QueueId id) const noexcept { return rx_.at(id.raw()); }
    [[nodiscard]] const TxQueueRecord &tx(QueueId id) const noexcept { return tx_.at(id.raw()); }

    /// Puts a sub-device's port into every queue. Before its gate opens.
    void put_in(SubIndex sub, PortId port) noexcept;
    /// Takes it out: it costs nothing any more. After its gate was closed and quiet.
    void take_out(SubIndex sub) noexcept;
    /// Is any lcore inside a sub-device, in any queue? To be asked after its gate was closed.
    [[nodiscard]] bool busy(SubIndex sub) const noexcept;

    /// What the bursts of all queues have counted, also of those that were freed.
    struct Counts {
        std::uint64_t refused = 0; ///< Tx bursts that found no sub-device to send on
        std::uint64_t dropped = 0; ///< packets that were freed because nobody could send them
        std::uint64_t stale = 0;   ///< packets that another one than the active sub-device received
    };
    [[nodiscard]] Counts counts() const noexcept;

  private:
    template <class Queue> Queue *make(unsigned socket) noexcept;

    static void add(Counts &sum, const datapath::RxQueue &queue) noexcept;
    static void add(Counts &sum, const datapath::TxQueue &queue) noexcept;

    const Selection &selection_;
    const NoActive no_active_;
    std::array<Door *, kMaxSubDevices> doors_{};
    std::array<RxQueueRecord, kMaxQueues> rx_{};
    std::array<TxQueueRecord, kMaxQueues> tx_{};
    Counts before_; ///< of queues that were freed
};

} // namespace holdfast
