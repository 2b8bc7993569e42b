#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a mutated copy of a file of src/: mutate.py NAME SOURCE_DIR OUT_DIR.

Each mutant is one exact replacement. The old text must occur exactly once, so a mutant cannot silently fall behind the code.
mutate.py --file NAME prints which file a mutant changes; --list prints the names.
"""

import pathlib
import sys

ENTER = """\
            inside_.store(1, std::memory_order_seq_cst);
        }
        if (gate.is_open()) [[likely]]
            return true;
"""
BARRIER_ENTER = """\
            inside_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
"""
COUNTED_ENTER = """\
        inside_.fetch_add(1, std::memory_order_seq_cst);
        if (gate.is_open()) [[likely]]
            return true;
"""
GUARD = "base/guard.h"
RING = "base/ring.h"
SELECTION = "base/selection.h"
SHADOW = "abi/shadow.cpp"
BALANCE = "datapath/balance.cpp"
BURST = "datapath/burst.cpp"
FLOW_HASH = "datapath/flow_hash.cpp"
RX_ACTIVE = "datapath/rx_active.cpp"
SHARES = "datapath/shares.cpp"
SPREAD = "datapath/spread.cpp"
PUBLISHED = "base/published.h"

# name: (file, what is replaced, by what)
MUTANTS = {
    # What in-tree fail-safe does: look, and mark when it may be too late.
    "look_then_mark": (GUARD, ENTER, """\
            if (gate.is_open()) {
                inside_.store(1, std::memory_order_seq_cst);
                return true;
            }
        }
        if (gate.marking() == Marking::kBarrier && gate.is_open())
            return true;
"""),
    "no_second_look": (GUARD, ENTER, """\
            inside_.store(1, std::memory_order_seq_cst);
        }
        if (inside_.load(std::memory_order_relaxed) != 0)
            return true;
"""),
    "barrier_without_mark": (GUARD, BARRIER_ENTER, ""),
    # Nobody orders the plain mark before the look.
    "barrier_left_out": (GUARD, "return marking_ == Marking::kExchange || ProcessBarrier::pass();", "return true;"),
    "weak_mark": (GUARD, "inside_.store(1, std::memory_order_seq_cst);", "inside_.store(1, std::memory_order_release);"),
    "weak_close": (GUARD, "open_.store(kClosed, std::memory_order_seq_cst);", "open_.store(kClosed, std::memory_order_release);"),
    "mark_left_behind": (GUARD, "        inside_.store(0, std::memory_order_relaxed);\n", ""),
    "relaxed_leave": (GUARD, "inside_.store(0, std::memory_order_release);", "inside_.store(0, std::memory_order_relaxed);"),
    "relaxed_open": (GUARD, "open_.store(kOpen, std::memory_order_release);",
                     "open_.store(kOpen, std::memory_order_relaxed);"),
    "relaxed_give_back": (GUARD, "kOpen, std::memory_order_release, std::memory_order_relaxed);",
                          "kOpen, std::memory_order_relaxed, std::memory_order_relaxed);"),
    "relaxed_look": (GUARD, "return open_.load(std::memory_order_seq_cst) == kOpen;",
                     "return open_.load(std::memory_order_relaxed) == kOpen;"),
    "relaxed_busy": (GUARD, "(Guard::leave).\n        return inside_.load(std::memory_order_seq_cst) != 0;",
                     "(Guard::leave).\n        return inside_.load(std::memory_order_relaxed) != 0;"),
    "counted_look_then_mark": (GUARD, COUNTED_ENTER, """\
        if (gate.is_open()) {
            inside_.fetch_add(1, std::memory_order_seq_cst);
            return true;
        }
        inside_.fetch_add(1, std::memory_order_seq_cst);
"""),
    "counted_first_to_leave_clears_all": (GUARD, "inside_.fetch_sub(1, std::memory_order_release);",
                                          "inside_.store(0, std::memory_order_release);"),
    "counted_refused_clears_all": (GUARD, "inside_.fetch_sub(1, std::memory_order_relaxed);",
                                   "inside_.store(0, std::memory_order_relaxed);"),
    "counted_relaxed_leave": (GUARD, "inside_.fetch_sub(1, std::memory_order_release);",
                              "inside_.fetch_sub(1, std::memory_order_relaxed);"),
    "counted_relaxed_busy": (GUARD, "(CountedGuard::leave).\n        return inside_.load(std::memory_order_seq_cst) != 0;",
                             "(CountedGuard::leave).\n        return inside_.load(std::memory_order_relaxed) != 0;"),
    "ring_relaxed_link": (RING, "next_.store(node, std::memory_order_release);", "next_.store(node, std::memory_order_relaxed);"),
    "ring_relaxed_step": (RING, "return next_.load(std::memory_order_acquire);", "return next_.load(std::memory_order_relaxed);"),
    "ring_forgets_old_cursors": (RING, "                n->set_next(head_);\n", "                (void)0;\n"),
    "ring_link_leaves_cursors_outside": (RING, "        point_in(all);\n    }\n\n    /// Unlinks", "        (void)all;\n    }\n\n    /// Unlinks"),
    "ring_unlink_leaves_cursors_outside": (RING, "        point_in(all);\n    }\n\n    [[nodiscard]] bool contains",
                                           "        (void)all;\n    }\n\n    [[nodiscard]] bool contains"),
    "published_not_looked_at_again": (PUBLISHED, "if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before)",
                                      "if (before % 2 == 0)"),
    "published_not_marked": (PUBLISHED, "sequence_.store(before + 1, std::memory_order_relaxed);", "(void)0;"),
    "selection_overwrites": (SELECTION, """\
        while (!word_.compare_exchange_weak(old, pack(change(unpack(old))), std::memory_order_acq_rel,
                                            std::memory_order_relaxed))
            ;
""", """\
        word_.store(pack(change(unpack(old))), std::memory_order_release);
"""),
    "balance_look_then_mark": (BALANCE, "if (!to.guard.enter(to.door->gate)) [[unlikely]] {", "if (!to.door->gate.is_open()) {"),
    "balance_forgets_the_tail": (BALANCE, "        keep_unsent(lists, pkts, n);\n", "        (void)keep_unsent;\n"),
    "balance_turns_the_tail": (BALANCE, "for (std::uint16_t i = n; i-- != 0;) {", "for (std::uint16_t i = 0; i < n; i++) {"),
    "balance_overtakes": (BALANCE, "        if (!shut)\n            break;",
                          "        if (!shut) {\n            sent = static_cast<std::uint16_t>(sent + part - took);\n            continue;\n        }"),
    "balance_takes_the_first_answer": (BALANCE, "bool again = true;", "bool again = false;"),
    "balance_drops_on_the_way": (BURST, "if (!gone || q.no_active == NoActive::kHold) {",
                                 "(void)gone;\n    if (q.no_active == NoActive::kHold) {"),
    "flow_hash_counts_ports_of_fragments": (FLOW_HASH, "(load<std::uint16_t>(ip.at + 6) & flow::kFragment) == 0 && header", "header"),
    "flow_hash_counts_behind_fragments": (FLOW_HASH, "if ((load<std::uint16_t>(header + 2) & wire(0xfff9)) != 0)", "if (n == 99)"),
    "flow_hash_reads_on": (FLOW_HASH, "has && at + flow::kPorts <= ip.size ?", "has ?"),
    "shares_all_move": (SHARES, "= kOrders[share];", "= kOrders[(share + members) % kShares];"),
    "rx_active_delivers_old": (RX_ACTIVE, "q.heard.valid() ? kMostStale : 0", "0"),
    "rx_active_drops_the_first": (RX_ACTIVE, "q.heard.valid() ? kMostStale : 0", "kMostStale"),
    "rx_active_takes_little_for_empty": (RX_ACTIVE, "got < (std::min(n, kAtOnce) & ~3U)", "got < n"),
    "round_robin_stays": (SPREAD, "        q.turn = static_cast<std::uint8_t>((turn + 1U) % kMaxSubDevices);\n", ""),
    "broadcast_look_then_mark": (SPREAD, "if (sub.guard.enter(sub.door->gate)) [[likely]] {", "if (sub.door->gate.is_open()) {"),
    "broadcast_keeps_references": (SPREAD, "            rte_pktmbuf_refcnt_update(packet, static_cast<std::int16_t>(1 - carriers));\n", ""),
    "broadcast_owes": (SPREAD, "            rte_pktmbuf_free(packet);\n", "            (void)packet;\n"),
    "broadcast_lends_the_array": (SPREAD, "transmit(sub, copy.data(), n)", "transmit(sub, pkts, n)"),
    # Nobody asks us before the driver of a sub-device takes it apart.
    "shadow_not_cast": (SHADOW, "bool cast_shadow(rte_device &dev) noexcept {\n    try {\n", """\
bool cast_shadow(rte_device &dev) noexcept {
    try {
        if (dev.bus != nullptr)
            return true;
"""),
}


def main(args):
    if args == ["--list"]:
        print("\n".join(MUTANTS))
        return 0
    if len(args) == 2 and args[0] == "--file":
        print(MUTANTS[args[1]][0])
        return 0
    name, source_dir, out_dir = args
    header, old, new = MUTANTS[name]
    text = (pathlib.Path(source_dir) / header).read_text()
    found = text.count(old)
    if found != 1:
        sys.exit(f"mutant {name}: its text occurs {found} times in {header}, and must occur once. "
                 "The code has changed; change the mutant with it.")
    out = pathlib.Path(out_dir) / header
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text.replace(old, new))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
