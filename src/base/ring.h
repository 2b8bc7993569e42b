// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <boost/intrusive/circular_slist_algorithms.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

/// A node of a cyclic list that one lcore walks while control links and unlinks.
class RingNode {
  public:
    RingNode() noexcept = default;
    RingNode(const RingNode &) = delete;
    RingNode &operator=(const RingNode &) = delete;

    [[nodiscard]] RingNode *next() const noexcept {
        // pairs: ring-link (RingNode::set_next). A node that was just linked is seen with its contents.
        return next_.load(std::memory_order_acquire);
    }
    void set_next(RingNode *node) noexcept {
        // pairs: ring-link (RingNode::next).
        next_.store(node, std::memory_order_release);
    }

  private:
    std::atomic<RingNode *> next_{nullptr};
};

/// Lets Boost.Intrusive's cyclic list algorithms work on atomic links. Such a ring needs no sentinel, and each change
/// to it is one store that a walker sees before or after.
struct RingTraits {
    using node = RingNode;
    using node_ptr = RingNode *;
    using const_node_ptr = const RingNode *;
    static node_ptr get_next(const_node_ptr n) noexcept { return n->next(); }
    static void set_next(node_ptr n, node_ptr next) noexcept { n->set_next(next); }
};

/// Control's side of a ring over a fixed set of nodes, of which some are linked. The walker needs only a node to stand
/// on and size().
///
/// A walker may stand on a node that was unlinked. So every node outside the ring points at a node inside it: from
/// wherever the walker stands, its next step is in the ring, also after all nodes left and others came.
class Ring {
    using Algo = boost::intrusive::circular_slist_algorithms<RingTraits>;

  public:
    /// Gives each node a next, so that a walker may stand on any of them from the start. Before the first walk.
    static void prepare(std::span<RingNode *const> all) noexcept {
        for (RingNode *n : all)
            n->set_next(n);
    }

    /// Links a node. Control side only. Bound: the number of nodes.
    void link(RingNode &node, std::span<RingNode *const> all) noexcept {
        if (contains(node))
            return;
        if (head_ == nullptr)
            Algo::init_header(&node);
        else
            Algo::link_after(head_, &node);
        head_ = &node;
        // pairs: ring-size (Ring::size). Relaxed: the links carry the contents, a stale size costs one turn.
        size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        point_in(all);
    }

    /// Unlinks a node; a walker that stands on it gets back into the ring with its next step. Control side only.
    void unlink(RingNode &node, std::span<RingNode *const> all) noexcept {
        if (!contains(node))
            return;
        if (node.next() == &node) {
            head_ = nullptr;
        } else {
            head_ = Algo::get_previous_node(&node);
            Algo::unlink_after(head_);
        }
        // pairs: ring-size (Ring::size).
        size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        point_in(all);
    }

    [[nodiscard]] bool contains(const RingNode &node) const noexcept {
        const RingNode *n = head_;
        for (std::uint32_t i = 0; n != nullptr && i < size(); i++, n = n->next())
            if (n == &node)
                return true;
        return false;
    }

    /// Number of nodes in the ring: the bound of one walk. Any thread.
    [[nodiscard]] std::uint32_t size() const noexcept {
        // pairs: ring-size (Ring::link, Ring::unlink).
        return size_.load(std::memory_order_relaxed);
    }

  private:
    void point_in(std::span<RingNode *const> all) noexcept {
        for (RingNode *n : all)
            if (head_ != nullptr && !contains(*n))
                n->set_next(head_);
    }

    RingNode *head_ = nullptr; ///< some node of the ring, or none
    std::atomic<std::uint32_t> size_{0};
};

} // namespace holdfast
