// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "datapath/datapath.h"
#include "support/bare_queues.h"
#include "support/fake_pool.h"
#include "support/frame.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::test {

/// A sub-device's Tx queue that keeps what it takes, up to `room` packets.
struct KeepingLine {
    std::vector<rte_mbuf *> taken;
    std::vector<std::uint16_t> bursts; ///< how many were offered, call by call
    std::size_t room = SIZE_MAX;
    bool shuffles = false; ///< leaves what it did not take in another order, as a driver may that spreads itself
    bool frees = false;    ///< frees what it took at once
    std::uint16_t prepares = UINT16_MAX; ///< so many of a burst are fine

    static std::uint16_t tx(void *queue, rte_mbuf **packets, std::uint16_t n) {
        KeepingLine &line = *static_cast<KeepingLine *>(queue);
        line.bursts.push_back(n);
        const auto took = static_cast<std::uint16_t>(std::min<std::size_t>(n, line.room));
        if (line.room != SIZE_MAX)
            line.room -= took;
        for (std::uint16_t i = 0; i < took; i++) {
            if (line.frees)
                rte_pktmbuf_free(packets[i]);
            else
                line.taken.push_back(packets[i]);
        }
        if (line.shuffles)
            std::reverse(packets + took, packets + n);
        return took;
    }
    static std::uint16_t prepare(void *queue, rte_mbuf **, std::uint16_t n) {
        KeepingLine &line = *static_cast<KeepingLine *>(queue);
        line.bursts.push_back(n);
        return std::min(n, line.prepares);
    }
};

/// The data path over up to four such sub-devices.
class SpreadTest : public testing::Test {
  protected:
    void make(std::uint8_t subs) {
        queues_ = std::make_unique<BareQueues>(subs);
        lines_ = {};
        for (std::uint8_t i = 0; i < BareQueues::kMost; i++) {
            BareQueues::ops(i).tx_pkt_burst = &KeepingLine::tx;
            BareQueues::ops(i).tx_pkt_prepare = &KeepingLine::prepare;
            q().tx_data(i) = &lines_[i];
        }
    }
    void TearDown() override {
        for (KeepingLine &line : lines_)
            forget(line);
        if (queues_) {
            EXPECT_TRUE(nobody_inside());
        }
        for (std::uint8_t i = 0; i < BareQueues::kMost; i++)
            BareQueues::ops(i).tx_pkt_prepare = nullptr;
    }
    /// Frees what a line kept.
    static void forget(KeepingLine &line) {
        rte_pktmbuf_free_bulk(line.taken.data(), static_cast<unsigned>(line.taken.size()));
        line.taken.clear();
        line.bursts.clear();
    }
    BareQueues &q() { return *queues_; }
    KeepingLine &line(std::size_t i) { return lines_.at(i); }
    FakePool &pool() { return pool_; }
    datapath::TxQueue &tx() { return q().tx(); }

    /// A packet of the given flow; its port is its number.
    rte_mbuf *packet(std::uint8_t flow, std::uint16_t number = 0) {
        rte_mbuf *m = pool_.make(Frame({.to = flow, .source = flow}).bytes());
        m->port = number;
        m->hash.usr = flow;
        return m;
    }
    std::vector<rte_mbuf *> packets(std::size_t n, unsigned flows = 200) {
        std::vector<rte_mbuf *> out;
        for (std::size_t i = 0; i < n; i++)
            out.push_back(packet(static_cast<std::uint8_t>(i % flows), static_cast<std::uint16_t>(i)));
        return out;
    }
    static void free(std::vector<rte_mbuf *> &packets, std::size_t from = 0) {
        rte_pktmbuf_free_bulk(packets.data() + from, static_cast<unsigned>(packets.size() - from));
        packets.clear();
    }
    [[nodiscard]] bool nobody_inside() {
        return std::none_of(q().tx().subs.begin(), q().tx().subs.end(), [](const auto &s) { return s.guard.busy(); }) &&
               std::none_of(q().rx().subs.begin(), q().rx().subs.end(), [](const auto &s) { return s.guard.busy(); });
    }
    static std::uint64_t refused(const datapath::TxQueue &tx) { return tx.refused.load(std::memory_order_relaxed); }
    static std::uint64_t dropped(const datapath::TxQueue &tx) { return tx.dropped.load(std::memory_order_relaxed); }

  private:
    FakePool pool_;
    std::unique_ptr<BareQueues> queues_;
    std::array<KeepingLine, BareQueues::kMost> lines_;
};

} // namespace holdfast::test
