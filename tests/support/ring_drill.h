// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ring.h"
#include "support/drill.h"

#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::drill {

/// Every way to change a small ring in a few steps, with a cursor that stands on each node, also on ones that left long
/// ago. After each change the next size() steps must visit each live node exactly once. One thread; returns the number
/// of cursors that went wrong.
inline Tally ring_cursors() {
    constexpr std::size_t kNodes = 4;
    constexpr unsigned kSteps = 6;
    Tally tally{.rounds = 0, .meetings = 1, .refusals = 1, .violations = 0};
    unsigned scripts = 1;
    for (unsigned i = 0; i < kSteps; i++)
        scripts *= kNodes;
    for (unsigned script = 0; script < scripts; script++) {
        std::array<RingNode, kNodes> nodes;
        std::array<RingNode *, kNodes> all{};
        for (std::size_t i = 0; i < kNodes; i++)
            all[i] = &nodes[i];
        std::array<bool, kNodes> linked{};
        Ring ring;
        std::size_t rest = script;
        for (unsigned step = 0; step < kSteps; step++, rest /= kNodes) {
            const std::size_t n = rest % kNodes;
            if (linked[n])
                ring.unlink(nodes[n], all);
            else
                ring.link(nodes[n], all);
            linked[n] = !linked[n];
            std::uint32_t size = 0;
            for (const bool l : linked)
                size += l ? 1 : 0;
            if (ring.size() != size)
                tally.violations++;
            for (std::size_t from = 0; from < kNodes && size > 0; from++) {
                std::array<unsigned, kNodes> visits{};
                const RingNode *cursor = &nodes[from];
                bool lost = false;
                for (std::uint32_t i = 0; i < size && !lost; i++) {
                    cursor = cursor->next();
                    lost = cursor == nullptr;
                    if (!lost)
                        visits[static_cast<std::size_t>(cursor - nodes.data())]++;
                }
                for (std::size_t i = 0; i < kNodes; i++)
                    lost = lost || visits[i] != (linked[i] ? 1U : 0U);
                tally.violations += lost ? 1 : 0;
                tally.rounds++;
            }
        }
    }
    return tally;
}

/// A walker goes round while control links fresh nodes and unlinks old ones. What control wrote into a node before it
/// linked it must be seen by the walker, with no order but that of the link.
inline Tally ring_walk(const Limits &limits) {
    struct Node : RingNode {
        std::uint64_t label = 0; ///< plain: written just before the node is linked
    };
    constexpr std::size_t kNodes = 16;
    struct Lap {
        std::array<Node, kNodes> nodes;
        std::array<RingNode *, kNodes> all{};
        Ring ring;
        std::atomic<bool> over{false};
    };
    std::atomic<Lap *> current{nullptr};
    Rendezvous start;
    Rendezvous finish;
    std::uint64_t wrong = 0;
    std::uint64_t newcomers = 0;
    std::thread walker([&] {
        const Pinned pinned(1);
        while (start.meet(0)) {
            Lap &lap = *current.load(std::memory_order_acquire);
            const RingNode *cursor = &lap.nodes[0];
            std::uint64_t last = 0;
            while (!lap.over.load(std::memory_order_relaxed)) {
                for (std::uint32_t i = lap.ring.size(); i > 0; i--) {
                    cursor = cursor->next();
                    const auto &node = *static_cast<const Node *>(cursor);
                    wrong += node.label != static_cast<std::uint64_t>(&node - lap.nodes.data()) + 1000 ? 1 : 0;
                    if (node.label > last) {
                        last = node.label;
                        newcomers++; // control links in the order of the labels: this one came under our feet
                    }
                }
            }
            finish.meet(0);
        }
    });
    Tally tally;
    const Pinned pinned(0);
    const Clock::time_point end = Clock::now() + limits.run;
    while (Clock::now() < end) {
        auto lap = std::make_unique<Lap>();
        for (std::size_t i = 0; i < kNodes; i++)
            lap->all[i] = &lap->nodes[i];
        lap->nodes[0].label = 1000;
        lap->ring.link(lap->nodes[0], lap->all);
        current.store(lap.get(), std::memory_order_release);
        start.meet(1);
        for (std::size_t i = 1; i < kNodes; i++) {
            linger(static_cast<unsigned>(tally.rounds % 97) * 4);
            lap->nodes[i].label = 1000 + i;
            lap->ring.link(lap->nodes[i], lap->all);
            if (i % 3 == 2)
                lap->ring.unlink(lap->nodes[i - 2], lap->all);
            tally.rounds++;
        }
        lap->over.store(true, std::memory_order_relaxed);
        finish.meet(1);
    }
    start.end();
    finish.end();
    walker.join();
    tally.violations = wrong;
    tally.meetings = newcomers;
    tally.refusals = 1; // there is no gate here
    return tally;
}

} // namespace holdfast::drill
