// SPDX-License-Identifier: BSD-3-Clause
// Runs one drill: drill NAME [MILLISECONDS [PATIENCE_MS]]. For mutated headers, so it names no test framework: it is
// built once per mutant. Ends with 0: clean; 1: the drill found something; 2: the threads never met, so the run says
// nothing; 3: no such drill.
#include "support/guard_drill.h"
#include "support/published_drill.h"
#include "support/ring_drill.h"
#include "support/selection_drill.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace std::chrono_literals;

int main(int argc, char **argv) {
    using namespace holdfast;
    const std::string_view name = argc > 1 ? argv[1] : "";
    drill::Limits limits;
    if (argc > 2)
        limits.run = std::chrono::milliseconds(std::strtol(argv[2], nullptr, 10));
    if (argc > 3)
        limits.patience = std::chrono::milliseconds(std::strtol(argv[3], nullptr, 10));

    drill::Tally tally;
    if (name == "hammer")
        tally = drill::hammer<Guard>(limits, Marking::kExchange);
    else if (name == "litmus")
        tally = drill::litmus<Guard, Marking::kExchange>(limits);
    else if (name == "barrier_hammer")
        tally = drill::hammer<Guard>(limits, Marking::kBarrier);
    else if (name == "barrier_litmus")
        tally = drill::litmus<Guard, Marking::kBarrier>(limits);
    else if (name == "counted_hammer")
        tally = drill::hammer<CountedGuard>(limits, Marking::kExchange, 3);
    else if (name == "counted_litmus")
        tally = drill::litmus<CountedGuard, Marking::kExchange>(limits);
    else if (name == "counted_marks")
        tally = drill::counted_marks();
    else if (name == "ring_cursors")
        tally = drill::ring_cursors();
    else if (name == "ring_walk")
        tally = drill::ring_walk(limits);
    else if (name == "published_reads")
        tally = drill::published_reads(limits);
    else if (name == "selection_losses")
        tally = drill::selection_losses(limits);
    else
        return 3;
    tally.print(argv[1]);
    return tally.violations != 0 ? 1 : tally.met() ? 0 : 2;
}
