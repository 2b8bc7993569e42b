# SPDX-License-Identifier: BSD-3-Clause
"""What the traffic says of a run, and what is made of many runs."""

import math
import statistics
from dataclasses import dataclass, field

import paths

NOISE = 0.020  # seconds that an unplug may add to the longest gap of an undisturbed time as long
MIGRATION = 0.050  # that a migration may add to qemu's own downtime
LET_GO = 2.0  # from device_del to DEVICE_DELETED where the driver has to let go of the device
TIMES = ("switch_ms", "return_ms", "deleted_ms", "downtime_ms", "migration_gap_ms")


@dataclass
class Log:
    """A log of holdfast_frames. Times in seconds."""

    sent: list = field(default_factory=list)
    returns: list = field(default_factory=list)  # paths.Return, as they came

    @classmethod
    def read(cls, path):
        with open(path, encoding="ascii") as log:
            sent = [int(line.split()[2]) / 1e9 for line in log if line.startswith("S ")]
        return cls(sent, paths.read(path))

    def count(self, begin, end):
        """(sent, lost) of the numbers sent in [begin, end). Each goes out on both links; one copy that returns is enough."""
        wanted = {seq for seq, at in enumerate(self.sent) if begin <= at < end}
        return len(wanted), len(wanted - {one.seq for one in self.returns})

    def gap(self, begin, end):
        """The longest time within [begin, end) in which nothing returned."""
        times = [begin] + [one.arrived for one in self.returns if begin <= one.arrived < end] + [end]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    def first(self, link, after, until=math.inf):
        """How long after that time the first frame returned over the link, in seconds; None: none did."""
        came = next((one.arrived for one in self.returns if one.over == link and after <= one.arrived < until), None)
        return None if came is None else came - after


def judge(run, logs):
    """Adds to a run what its packets say. `logs`: one for each port."""
    pairs = [("fast", "backup"), ("fast1", "backup1")]
    run["sent"] = run["lost"] = 0
    gaps, quiet, waits = [], [], {"switch_ms": [], "return_ms": []}
    run["migration_gap_ms"] = []
    for log, (fast, backup) in zip(logs, pairs):
        sent, lost = log.count(run["begin"], run["end"])
        run["sent"] += sent
        run["lost"] += lost
        gaps.append(log.gap(run["begin"], run["end"]))
        quiet.append(log.gap(*run["quiet"]))
        for kind, link in (("switch_ms", backup), ("return_ms", fast)):
            for at, until in run["events"][kind]:
                waits[kind].append(log.first(link, at, until))
        run["migration_gap_ms"] += [log.gap(begin, over) * 1000 for begin, over in run["migrations"]]
    run["unseen"] = sum(wait is None for kind in waits.values() for wait in kind)
    for kind, found in waits.items():
        run[kind] = [wait * 1000 for wait in found if wait is not None]
    run["gap_ms"], run["quiet_gap_ms"] = max(gaps) * 1000, max(quiet) * 1000


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(values):
    return [statistics.median(values), percentile(values, 0.9), max(values)] if values else None


def summarize(runs):
    """All runs of one scenario over one driver."""
    whole = [run for run in runs if "gap_ms" in run]
    line = {
        "runs": len(runs),
        "survived": sum(1 for run in runs if run["alive"] and not run["problems"]),
        "died": sum(1 for run in runs if not run["alive"]),
        "problems": sorted({problem for run in runs for problem in run["problems"]}),
        "lost": spread([run["lost"] for run in whole]),
        "gap_ms": spread([run["gap_ms"] for run in whole]),
        "quiet_gap_ms": spread([run["quiet_gap_ms"] for run in whole]),
    }
    line.update({kind: spread([ms for run in whole for ms in run.get(kind, ())]) for kind in TIMES})
    return line


def targets(scenario, line, vfio=True, limit_ms=None):
    """(sentence, met, is it a count)."""
    out = [("%s: %d of %d runs survived" % (scenario, line["survived"], line["runs"]),
            line["survived"] == line["runs"], True)]
    if line["deleted_ms"] and vfio:
        worst = line["deleted_ms"][2]
        out.append(("%s: DEVICE_DELETED after %.0f ms at worst, target %.0f" % (scenario, worst, LET_GO * 1000),
                    worst <= LET_GO * 1000, False))
    if line["gap_ms"] and not line["downtime_ms"]:
        allowed = limit_ms or line["quiet_gap_ms"][2] + NOISE * 1000
        out.append(("%s: longest gap %.1f ms (median), target %.1f" % (scenario, line["gap_ms"][0], allowed),
                    line["gap_ms"][0] <= allowed, False))
    if line["downtime_ms"]:
        allowed = limit_ms or line["downtime_ms"][0] + MIGRATION * 1000
        out.append(("%s: longest gap of a migration %.1f ms (median), target %.1f (qemu's downtime and %.0f)"
                    % (scenario, line["migration_gap_ms"][0], allowed, MIGRATION * 1000),
                    line["migration_gap_ms"][0] <= allowed, False))
    return out


HEADS = ("scenario", "driver", "survived", "lost", "longest gap", "undisturbed gap", "event -> backup",
         "plug -> back", "DEVICE_DELETED", "qemu's downtime", "gap of a migration")


def row(scenario, driver, line):
    def shown(name):
        return "-" if not line[name] else " / ".join("%.0f" % value for value in line[name])

    return [scenario, driver, "%d of %d" % (line["survived"], line["runs"])] + [
        shown(name) for name in ("lost", "gap_ms", "quiet_gap_ms", "switch_ms", "return_ms", "deleted_ms",
                                 "downtime_ms", "migration_gap_ms")]
