// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::test {

/// Mbufs without an EAL: DPDK's own functions free them into this. One thread at a time.
class FakePool {
  public:
    FakePool() {
        static const int ops = [] {
            rte_mempool_ops mine{};
            std::copy_n("holdfast_test", 14, mine.name);
            mine.alloc = [](rte_mempool *) { return 0; };
            mine.enqueue = [](rte_mempool *pool, void *const *mbufs, unsigned n) {
                static_cast<FakePool *>(pool->pool_data)->take_back(mbufs, n);
                return 0;
            };
            mine.dequeue = [](rte_mempool *, void **, unsigned) { return -1; };
            mine.get_count = [](const rte_mempool *) { return 0U; };
            return rte_mempool_register_ops(&mine);
        }();
        EXPECT_GE(ops, 0);
        memory_->pool.ops_index = ops;
        memory_->pool.pool_data = this;
        memory_->pool.private_data_size = sizeof(memory_->priv);
    }
    ~FakePool() { EXPECT_EQ(in_use(), 0U) << "mbufs that nobody freed"; }
    FakePool(const FakePool &) = delete;
    FakePool &operator=(const FakePool &) = delete;

    /// A fresh mbuf for others to attach to: its data follow it.
    rte_mbuf *make_attachable() {
        rte_mbuf *const m = make({});
        m->buf_addr = reinterpret_cast<Cell *>(m)->room.data();
        m->buf_len = m->data_len = sizeof(Cell::room);
        m->pkt_len = m->data_len;
        return m;
    }
    /// A fresh mbuf over these bytes, which end where its memory ends.
    rte_mbuf *make(const std::vector<std::uint8_t> &bytes) {
        if (free_.empty()) {
            free_.push_back(cells_.emplace_back(std::make_unique<Cell>()).get());
            all_.push_back(free_.back());
        }
        Cell *const cell = free_.back();
        free_.pop_back();
        cell->used = true;
        cell->data = std::make_unique<std::uint8_t[]>(bytes.size());
        std::copy(bytes.begin(), bytes.end(), cell->data.get());
        rte_mbuf &m = cell->mbuf;
        m = {};
        m.pool = &memory_->pool;
        m.buf_addr = cell->data.get();
        m.buf_len = m.data_len = static_cast<std::uint16_t>(bytes.size());
        m.pkt_len = m.data_len;
        m.nb_segs = 1;
        rte_mbuf_refcnt_set(&m, 1);
        return &m;
    }
    /// The same in several segments, cut before each of the given places.
    rte_mbuf *make(const std::vector<std::uint8_t> &bytes, const std::vector<std::size_t> &cuts) {
        rte_mbuf *head = nullptr;
        rte_mbuf *last = nullptr;
        std::size_t from = 0;
        for (std::size_t i = 0; i <= cuts.size(); i++) {
            const std::size_t to = i < cuts.size() ? cuts[i] : bytes.size();
            rte_mbuf *const part = make(
                {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to)});
            (head == nullptr ? head : last->next) = part;
            last = part;
            from = to;
        }
        head->nb_segs = static_cast<std::uint16_t>(cuts.size() + 1);
        head->pkt_len = static_cast<std::uint32_t>(bytes.size());
        return head;
    }

    [[nodiscard]] std::size_t in_use() const {
        return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [](const Cell *c) { return c->used; }));
    }

  private:
    struct Cell {
        rte_mbuf mbuf{}; // first, so that the one's address is the other's
        std::array<std::uint8_t, 64> room{};
        std::unique_ptr<std::uint8_t[]> data;
        bool used = false;
    };
    struct Memory {
        rte_mempool pool{};
        rte_pktmbuf_pool_private priv{}; ///< where DPDK looks for it
    };

    void take_back(void *const *mbufs, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
            Cell *const cell = *std::find_if(all_.begin(), all_.end(), [&](Cell *c) { return &c->mbuf == mbufs[i]; });
            EXPECT_TRUE(cell->used) << "freed twice";
            EXPECT_EQ(cell->mbuf.next, nullptr);
            EXPECT_EQ(rte_mbuf_refcnt_read(&cell->mbuf), 1);
            cell->used = false;
            cell->data.reset();
            free_.push_back(cell);
        }
    }

    std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
    std::vector<std::unique_ptr<Cell>> cells_;
    std::vector<Cell *> all_, free_;
};

} // namespace holdfast::test
