// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/faults.h"

namespace holdfast::mayfly {
namespace {

constexpr std::uint64_t pack(std::int32_t calls, int error) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(error)} << 32 | static_cast<std::uint32_t>(calls);
}
constexpr std::int32_t calls_of(std::uint64_t failure) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(failure));
}
constexpr int error_of(std::uint64_t failure) noexcept {
    return static_cast<int>(failure >> 32);
}

} // namespace

void Faults::mark(PerOp &op) noexcept {
    std::uint32_t seen = op.armed.load(std::memory_order_seq_cst);
    // pairs: armed (Faults::armed). pairs: armed-empty (Faults::disarm_if_empty).
    while (!op.armed.compare_exchange_weak(seen, (seen + 2) | 1U, std::memory_order_seq_cst)) {}
}

void Faults::disarm_if_empty(PerOp &op) noexcept {
    // pairs: armed-empty (Faults::mark). Looked at before what is armed: a mark that comes later changes it, and then
    // it stays as it is.
    std::uint32_t seen = op.armed.load(std::memory_order_seq_cst);
    if (calls_of(op.failure.load(std::memory_order_seq_cst)) == 0 && op.delay_us.load(std::memory_order_seq_cst) == 0 &&
        op.events.load(std::memory_order_seq_cst) == 0 && op.unplug.load(std::memory_order_seq_cst) == 0)
        op.armed.compare_exchange_strong(seen, seen & ~1U, std::memory_order_seq_cst);
}

Ambush Faults::take(Op which) noexcept {
    PerOp &op = at(which);
    Ambush ambush;
    // pairs: armed-empty (Faults::disarm_if_empty). An exchange gives each event to one call only.
    ambush.events = op.events.exchange(0, std::memory_order_seq_cst);
    ambush.unplug = op.unplug.exchange(0, std::memory_order_seq_cst) != 0;
    ambush.delay_us = op.delay_us.load(std::memory_order_seq_cst);
    return ambush;
}

int Faults::take_failure(Op which) noexcept {
    PerOp &op = at(which);
    // pairs: armed-empty (Faults::disarm_if_empty). The loop gives each armed failure to one call only.
    std::uint64_t seen = op.failure.load(std::memory_order_seq_cst);
    while (calls_of(seen) > 0 && !op.failure.compare_exchange_weak(seen, pack(calls_of(seen) - 1, error_of(seen)),
                                                                   std::memory_order_seq_cst)) {}
    disarm_if_empty(op);
    return calls_of(seen) == 0 ? 0 : -error_of(seen);
}

void Faults::fail(Op which, std::int32_t calls, int error) noexcept {
    PerOp &op = at(which);
    op.failure.store(pack(calls, error), std::memory_order_seq_cst);
    mark(op);
}

void Faults::delay(Op which, std::uint32_t microseconds) noexcept {
    PerOp &op = at(which);
    op.delay_us.store(microseconds, std::memory_order_seq_cst);
    mark(op);
}

void Faults::raise_in(Op which, int event) noexcept {
    PerOp &op = at(which);
    op.events.fetch_or(1u << static_cast<unsigned>(event), std::memory_order_seq_cst);
    mark(op);
}

void Faults::unplug_in(Op which) noexcept {
    PerOp &op = at(which);
    op.unplug.store(1, std::memory_order_seq_cst);
    mark(op);
}

void Faults::clear() noexcept {
    for (PerOp &op : ops_) {
        op.failure.store(0, std::memory_order_seq_cst);
        op.delay_us.store(0, std::memory_order_seq_cst);
        op.events.store(0, std::memory_order_seq_cst);
        op.unplug.store(0, std::memory_order_seq_cst);
    }
}

} // namespace holdfast::mayfly
