// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/guard.h"
#include "base/ids.h"
#include "base/ring.h"
#include "base/selection.h"
#include "datapath/datapath.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::test {

/// What stands behind a queue of a sub-device: gives `waiting` packets at each Rx burst, takes up to `room` at each Tx
/// burst, counts the calls.
struct BareLine {
    std::array<rte_mbuf *, 32> packets{};
    std::uint16_t waiting = 0;
    std::uint16_t room = 32;
    std::uint64_t calls = 0;

    static std::uint16_t rx(void *queue, rte_mbuf **packets, std::uint16_t n) {
        BareLine &line = *static_cast<BareLine *>(queue);
        line.calls++;
        const std::uint16_t got = std::min(n, line.waiting);
        std::copy_n(line.packets.begin(), got, packets);
        return got;
    }
    static std::uint16_t tx(void *queue, rte_mbuf **, std::uint16_t n) {
        BareLine &line = *static_cast<BareLine *>(queue);
        line.calls++;
        return std::min(n, line.room);
    }
};

/// The data path without an EAL: sub-devices that we write into ethdev's public table by hand, and one queue each way
/// over them, made as control makes them.
class BareQueues {
  public:
    static constexpr std::uint8_t kMost = 4;
    static constexpr std::uint16_t kPort = 0; ///< the virtual port's id; the sub-devices come after it

    explicit BareQueues(std::uint8_t subs) {
        std::transform(rx_.subs.begin(), rx_.subs.end(), all_.begin(), [](datapath::SubQueue &s) { return &s; });
        Ring::prepare(all_);
        rx_.cursor = rx_.subs.data();
        rx_.port = kPort;
        tx_.selection = rx_.selection = &selection_;
        for (std::uint8_t i = 0; i < kMost; i++) {
            for (std::size_t k = 0; k < rx_lines_[i].packets.size(); k++)
                rx_lines_[i].packets[k] = &mbufs_[i][k];
            rx_data_[i] = &rx_lines_[i];
            tx_data_[i] = &tx_lines_[i];
            struct rte_eth_fp_ops &entry = ops(i);
            entry.rx_pkt_burst = &BareLine::rx;
            entry.tx_pkt_burst = &BareLine::tx;
            entry.rxq = {&rx_data_[i], &rx_callbacks_[i]};
            entry.txq = {&tx_data_[i], &tx_callbacks_[i]};
            for (datapath::SubQueue *sub : {&rx_.subs[i], &tx_.subs[i]}) {
                sub->door = &doors_[i];
                sub->ops = &entry;
                sub->port = port(i);
                sub->queue = 0;
                sub->index = i;
            }
            if (i < subs)
                put_in(i);
        }
    }

    static std::uint16_t port(std::uint8_t i) { return static_cast<std::uint16_t>(kPort + 1 + i); }
    /// Its entry in the public table; what is behind its queues, which its driver may exchange.
    static struct rte_eth_fp_ops &ops(std::uint8_t i) { return rte_eth_fp_ops[port(i)]; }
    BareLine &rx_line(std::uint8_t i) { return rx_lines_.at(i); }
    BareLine &tx_line(std::uint8_t i) { return tx_lines_.at(i); }
    void *&rx_data(std::uint8_t i) { return rx_data_.at(i); }
    void *&tx_data(std::uint8_t i) { return tx_data_.at(i); }

    void put_in(std::uint8_t i) {
        rx_.ring.link(rx_.subs.at(i), all_);
        doors_.at(i).gate.open();
        selection_.gain(SubIndex{i});
    }
    void make_active(std::uint8_t i) { (void)selection_.choose(SubIndex{i}, selection_.active(), Hold::kFree); }
    /// Out of the traffic; stays in the ring.
    void shut(std::uint8_t i) {
        selection_.lose(SubIndex{i});
        doors_.at(i).gate.close();
    }
    void take_out(std::uint8_t i) {
        shut(i);
        rx_.ring.unlink(rx_.subs.at(i), all_);
    }
    /// As a loss does it, or who claims the sub-device for a moment.
    void close_gate(std::uint8_t i) { doors_.at(i).gate.close(); }
    void open_gate(std::uint8_t i) { doors_.at(i).gate.open(); }
    [[nodiscard]] Selection &selection() { return selection_; }
    [[nodiscard]] const Gate &gate(std::uint8_t i) const { return doors_.at(i).gate; }

    datapath::RxQueue &rx() { return rx_; }
    datapath::TxQueue &tx() { return tx_; }

  private:
    std::array<std::array<rte_mbuf, 32>, kMost> mbufs_{};
    std::array<BareLine, kMost> rx_lines_, tx_lines_;
    std::array<void *, kMost> rx_data_{}, tx_data_{}, rx_callbacks_{}, tx_callbacks_{};
    std::array<RingNode *, kMaxSubDevices> all_{};
    std::array<Door, kMost> doors_;
    Selection selection_;
    datapath::RxQueue rx_;
    datapath::TxQueue tx_;
};

} // namespace holdfast::test
