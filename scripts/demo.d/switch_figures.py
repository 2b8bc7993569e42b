# SPDX-License-Identifier: BSD-3-Clause
"""What one reads from the packets around a switch, and what is made of many of them."""

import bisect
import statistics

from analysis import longest_distance
from measure import percentile

# A frame is stale if another one that was sent so much later has been delivered before it. Less than that is how long
# frames wait on a busy machine, and two links are no clock.
STALE = 0.020


def inbound(packets):
    """What was made of each flooded frame that arrived: (time sent, "new" | "duplicate" | "stale"), by arrival."""
    newest, seen, out = float("-inf"), set(), []
    for _, seq in packets.answers:
        if seq >= len(packets.flooded):
            continue
        sent = packets.flooded[seq]
        if sent < newest - STALE:
            kind = "stale"
        else:
            kind = "duplicate" if seq in seen else "new"
        seen.add(seq)
        newest = max(newest, sent)
        out.append((sent, kind))
    return out


def switches(packets, begin, end):
    """How often the way changed on which frames left that were sent in [begin, end)."""
    ways = []
    for seq, sink in sorted((seq, sink) for _, seq, sink in packets.frames):
        if seq < len(packets.sent) and begin <= packets.sent[seq] < end and (not ways or ways[-1] != sink):
            ways.append(sink)
    return max(0, len(ways) - 1)


def waited(packets, begin, end):
    """The longest time in [begin, end) in which frames were sent and none left: from the first one that was sent after
    the last that left. So a pause of the sender itself is none, as it is of a busy machine. (Frames count by when they
    left: some wait in a dead device until it is given back.)"""
    longest = 0.0
    left = [begin] + [t for t, _, _ in packets.frames if begin <= t < end] + [end]
    for earlier, later in zip(left, left[1:]):
        waits = bisect.bisect_right(packets.sent, earlier)
        if waits < len(packets.sent):
            longest = max(longest, later - packets.sent[waits])
    return longest


def judge(packets, rnd):
    """Adds to a run what its packets say: of those that were sent from `begin` to `end`. The longest gaps are those
    until `restore`, when what was taken away was given back."""
    flooded = inbound(packets)
    mine = [kind for sent, kind in flooded if rnd["begin"] <= sent < rnd["end"]]
    whole = packets.measure(rnd["begin"], rnd["end"])
    rnd["lost"] = whole.lost
    rnd["sent"] = whole.sent
    rnd["gap_ms"] = waited(packets, rnd["begin"], rnd["restore"]) * 1000
    arrivals = [t for t, _, _ in packets.frames if rnd["begin"] <= t < rnd["restore"]]
    rnd["silence_ms"] = longest_distance([rnd["begin"]] + arrivals + [rnd["restore"]]) * 1000
    rnd["pause_ms"] = packets.measure(rnd["begin"], rnd["restore"]).sender_pause * 1000
    rnd["duplicates"] = mine.count("duplicate")
    rnd["stale"] = mine.count("stale")
    into = bisect.bisect_left(packets.flooded, rnd["end"]) - bisect.bisect_left(packets.flooded, rnd["begin"])
    rnd["inbound_lost"] = into - len({sent for sent, _ in flooded if rnd["begin"] <= sent < rnd["end"]})
    rnd["switches"] = switches(packets, rnd["begin"], rnd["end"])


def spread(values):
    """(median, 90th percentile, worst), or None."""
    return (statistics.median(values), percentile(values, 0.9), max(values)) if values else None


def summarize(runs):
    """One line of the table, of all runs of a driver in a scenario."""
    return {
        "runs": len(runs),
        "switched": sum(1 for run in runs if run["switched"]),
        "died": sum(1 for run in runs if run["died"]),
        "stuck": sum(1 for run in runs if run["stuck"] and not run["died"]),
        **{
            what: spread([run[what] for run in runs if what in run])
            for what in ("silence_ms", "gap_ms", "lost", "inbound_lost", "duplicates", "stale", "switches")
        },
    }


def targets(table, counts_only=False):
    """Issue by issue what was aimed at: (sentence, met, is it a count). `table`: {(scenario, driver): summary}."""
    out = []
    for (scenario, driver), line in sorted(table.items()):
        if not driver.startswith("holdfast"):
            continue
        where = "%s, %s" % (scenario, driver)
        out.append(("%s: the process lived and traffic came back" % where, line["died"] + line["stuck"] == 0, True))
        if scenario not in ("none", "none-lsc", "flap"):
            out.append(("%s: every run had its switch" % where, line["switched"] == line["runs"], True))
        if scenario in ("local", "carrier", "lsc") and line["gap_ms"] is not None:
            limit = 2 if scenario == "lsc" else 15
            sentence = "%s: packets waited %.1f ms (median), target %d ms" % (where, line["gap_ms"][0], limit)
            out.append((sentence, line["gap_ms"][0] <= limit, False))
        if scenario == "planned" and line["lost"] is not None:
            out.append(("%s: lost %d at worst, target 0" % (where, line["lost"][2]), line["lost"][2] == 0, True))
        if driver == "holdfast rx=active" and line["stale"] is not None:
            worst = (line["duplicates"][2], line["stale"][2])
            out.append(("%s: %d duplicates, %d stale at worst, target 0" % ((where,) + worst), worst == (0, 0), True))
        if scenario == "flap" and line["switches"] is not None:
            most = line["switches"][2]
            out.append(("%s: %d switches at worst, target 5" % (where, most), most <= 5, True))
    return [target for target in out if target[2] or not counts_only]


def shown(values, form="%.0f"):
    return "-" if values is None else " / ".join(form % value for value in values)


TITLES = (
    *("what happens", "driver", "runs", "switched", "longest gap, ms", "of it packets waited", "lost", "duplicates"),
    *("stale", "switches"),
)


def row(words, driver, line):
    state = "%d" % line["switched"]
    if line["died"]:
        state += ", %d died" % line["died"]
    if line["stuck"]:
        state += ", %d stuck" % line["stuck"]
    return [
        words,
        driver,
        str(line["runs"]),
        state,
        shown(line["silence_ms"], "%.1f"),
        shown(line["gap_ms"], "%.1f"),
        shown(line["lost"]),
        shown(line["duplicates"]),
        shown(line["stale"]),
        shown(line["switches"]),
    ]
