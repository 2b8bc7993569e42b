// SPDX-License-Identifier: BSD-3-Clause
// rte_eth_tx_queue_count() is experimental in DPDK 24.11, and the only way to ask.
#define ALLOW_EXPERIMENTAL_API

#include "base/guard.h"
#include "base/ids.h"
#include "base/selection.h"
#include "datapath/datapath.h"

#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>

// What a command thread may ask while an lcore polls the same queue: these enter by the counted guard of the
// sub-device.

namespace holdfast::datapath {
namespace {

/// Calls `ask` on one sub-device inside its counted guard; false if its gate is closed.
template <class F> bool inside(const SubQueue &sub, F ask) noexcept {
    if (sub.door == nullptr || !sub.door->slow.enter(sub.door->gate))
        return false;
    ask(sub);
    sub.door->slow.leave();
    return true;
}

template <class Queue, class F> int of_active(Queue &q, F ask) noexcept {
    int answer = -ENODEV;
    const SubIndex active = q.selection->active();
    if (active.valid())
        (void)inside(q.subs[active.raw()], [&](const SubQueue &sub) noexcept { answer = ask(sub); });
    return answer;
}

} // namespace

int rx_queue_count(void *rx_queue) noexcept {
    auto &q = *static_cast<RxQueue *>(rx_queue);
    int sum = -ENOTSUP;
    for (const SubQueue &sub : q.subs)
        (void)inside(sub, [&](const SubQueue &s) noexcept {
            if (const int used = rte_eth_rx_queue_count(s.port, s.queue); used >= 0)
                sum = (sum < 0 ? 0 : sum) + used;
        });
    return sum;
}

int tx_queue_count(void *tx_queue) noexcept {
    return of_active(*static_cast<TxQueue *>(tx_queue),
                     [](const SubQueue &s) noexcept { return rte_eth_tx_queue_count(s.port, s.queue); });
}

int rx_descriptor_status(void *rx_queue, std::uint16_t offset) noexcept {
    return of_active(*static_cast<RxQueue *>(rx_queue), [offset](const SubQueue &s) noexcept {
        return rte_eth_rx_descriptor_status(s.port, s.queue, offset);
    });
}

int tx_descriptor_status(void *tx_queue, std::uint16_t offset) noexcept {
    return of_active(*static_cast<TxQueue *>(tx_queue), [offset](const SubQueue &s) noexcept {
        return rte_eth_tx_descriptor_status(s.port, s.queue, offset);
    });
}

int tx_done_cleanup(void *tx_queue, std::uint32_t free_count) noexcept {
    return of_active(*static_cast<TxQueue *>(tx_queue), [free_count](const SubQueue &s) noexcept {
        return rte_eth_tx_done_cleanup(s.port, s.queue, free_count);
    });
}

} // namespace holdfast::datapath
