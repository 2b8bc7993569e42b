// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "datapath/datapath.h"
#include <rte_pmd_mayfly.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace holdfast::test {

/// What one lcore saw. Its own while it runs; read by others after Traffic::stop().
struct alignas(64) Seen {
    std::uint64_t received = 0;
    std::uint64_t looped = 0; ///< of these: our own packets, come back
    std::uint64_t sent = 0;
    std::uint64_t not_taken = 0;                 ///< by tx_burst, and freed
    std::uint64_t strays = 0;                    ///< mbufs that do not carry the virtual port's id
    std::uint64_t spoilt = 0;                    ///< neither a fresh packet of this queue nor one of ours
    std::uint64_t gaps = 0;                      ///< a sequence number that is not the next one of its device
    std::map<std::uint32_t, std::uint64_t> next; ///< by device
    std::atomic<std::uint64_t> rounds{0};        ///< any thread may look whether it still turns
};

/// Forwards on a port: worker lcore i has Rx queue i and Tx queue i to itself. What a mayfly generated is marked and
/// sent; what comes back marked is freed.
class Traffic {
  public:
    explicit Traffic(std::uint16_t port) : port_(port) {}
    ~Traffic() { stop(); }
    Traffic(const Traffic &) = delete;
    Traffic &operator=(const Traffic &) = delete;

    /// Starts `queues` worker lcores. False: there are not so many.
    [[nodiscard]] bool start(std::uint16_t queues) {
        seen_ = std::vector<Seen>(queues);
        unsigned lcore = rte_get_next_lcore(-1U, 1, 0);
        for (std::uint16_t q = 0; q < queues; q++, lcore = rte_get_next_lcore(lcore, 1, 0)) {
            if (lcore >= RTE_MAX_LCORE)
                return false;
            works_.push_back({this, q, lcore});
        }
        for (Work &work : works_)
            if (rte_eal_remote_launch(&entry, &work, work.lcore) != 0)
                return false;
        return true;
    }
    void stop() {
        // pairs: traffic-stop (Traffic::run).
        stop_.store(true, std::memory_order_relaxed);
        for (const Work &work : works_)
            rte_eal_wait_lcore(work.lcore); // and with it sees all that the lcore wrote
        works_.clear();
    }
    [[nodiscard]] std::span<const Seen> seen() const noexcept { return seen_; }
    /// Rounds of the slowest lcore: it grows while all of them turn.
    [[nodiscard]] std::uint64_t rounds() const noexcept {
        std::uint64_t least = UINT64_MAX;
        for (const Seen &s : seen_)
            least = std::min(least, s.rounds.load(std::memory_order_relaxed)); // pairs: traffic-rounds (Traffic::run)
        return least;
    }

  private:
    static constexpr std::uint16_t kBurst = 32;
    struct Work {
        Traffic *self;
        std::uint16_t queue;
        unsigned lcore;
    };

    static int entry(void *opaque) {
        const Work &work = *static_cast<const Work *>(opaque);
        work.self->run(work.queue, work.self->seen_[work.queue]);
        return 0;
    }

    void run(std::uint16_t queue, Seen &seen) const {
        std::array<rte_mbuf *, kBurst> packets{};
        while (!stop_.load(std::memory_order_relaxed)) { // pairs: traffic-stop (Traffic::stop)
            const std::uint16_t got = rte_eth_rx_burst(port_, queue, packets.data(), kBurst);
            std::uint16_t fresh = 0;
            for (std::uint16_t i = 0; i < got; i++)
                if (inspect(*packets[i], queue, seen))
                    packets[fresh++] = packets[i];
                else
                    rte_pktmbuf_free(packets[i]);
            const std::uint16_t sent =
                fresh == 0 ? std::uint16_t{0} : rte_eth_tx_burst(port_, queue, packets.data(), fresh);
            rte_pktmbuf_free_bulk(packets.data() + sent, fresh - sent);
            seen.received += got;
            seen.sent += sent;
            seen.not_taken += static_cast<std::uint16_t>(fresh - sent);
            // pairs: traffic-rounds (Traffic::rounds).
            seen.rounds.store(seen.rounds.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            if (got == 0)
                rte_pause();
        }
    }

    /// True: a fresh packet, now marked. False: one to be freed.
    bool inspect(rte_mbuf &m, std::uint16_t queue, Seen &seen) const {
        constexpr unsigned char kMark = 0x77;
        if (m.port != port_)
            seen.strays++;
        auto *data = rte_pktmbuf_mtod(&m, unsigned char *);
        if (data[0] == kMark) {
            seen.looped++;
            return false;
        }
        rte_pmd_mayfly_stamp stamp{};
        if (rte_pmd_mayfly_read_stamp(data, m.data_len, &stamp) == 0 || stamp.queue != queue) {
            seen.spoilt++;
            return false;
        }
        std::uint64_t &next = seen.next[stamp.device];
        if (stamp.sequence != next)
            seen.gaps++;
        next = stamp.sequence + 1;
        data[0] = kMark;
        return true;
    }

    const std::uint16_t port_;
    std::vector<Seen> seen_;
    std::vector<Work> works_;
    std::atomic<bool> stop_{false};
};

/// Is an lcore inside a sub-device of this virtual port now, by the guards? Queues 0 to `queues` - 1 must exist.
[[nodiscard]] inline bool lcore_inside(std::uint16_t port, std::uint16_t queues, std::uint8_t sub) {
    for (std::uint16_t q = 0; q < queues; q++)
        if (static_cast<const datapath::RxQueue *>(rte_eth_fp_ops[port].rxq.data[q])->subs.at(sub).guard.busy() ||
            static_cast<const datapath::TxQueue *>(rte_eth_fp_ops[port].txq.data[q])->subs.at(sub).guard.busy())
            return true;
    return false;
}

/// May lcores enter that sub-device now? Queue 0 must exist.
[[nodiscard]] inline bool gate_open(std::uint16_t port, std::uint8_t sub) {
    return static_cast<const datapath::RxQueue *>(rte_eth_fp_ops[port].rxq.data[0])->subs.at(sub).door->gate.is_open();
}

} // namespace holdfast::test
