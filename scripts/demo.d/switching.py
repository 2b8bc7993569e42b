# SPDX-License-Identifier: BSD-3-Clause
"""scripts/demo --switching: what a switch costs, many times, over Holdfast, in-tree fail-safe and bonding (mode 1)."""

import itertools
import os
import re
import threading
import time

import analysis
import report
import switch_figures
from lab import LabError
from processes import describe_exit, now
from switch_stage import DRIVERS, Bed

SCENARIOS = {
    "none": "nothing",
    "none-lsc": "nothing, simulated NICs",
    "local": "ip link set A down",
    "carrier": "peer of A set down",
    "delete": "ip link del A",
    "planned": "switch by hand",
    "lsc": "link event of a simulated NIC",
    "flap": "A down and up at 10 Hz",
}
OUTAGE = 1.0  # how long what was taken away stays so
BEFORE = 0.1
PATIENCE = 3.0


def can(driver, scenario):
    return not (driver == "failsafe" and scenario == "planned")


class Series:
    """Runs of one driver in one scenario. testpmd stays up from run to run, unless it died or nothing comes through."""

    def __init__(self, options, driver, scenario, rate):
        self.options = options
        self.driver = driver
        self.scenario = scenario
        self.rate = rate
        self.runs = []
        self.beds = itertools.count(1)  # counted by several threads at once

    def new_bed(self, forwarder=1):
        name = "-".join(("switching", self.scenario, re.sub("[ =]", "-", self.driver), str(next(self.beds))))
        return Bed(self.options, self.driver, self.scenario.endswith("lsc"), name, self.rate, forwarder)

    def perform(self, count):
        while len(self.runs) < count:
            with self.new_bed() as bed:
                bed.build_up()
                mine = []
                while len(self.runs) + len(mine) < count and not (mine and (mine[-1]["died"] or mine[-1]["stuck"])):
                    mine.append(self.one(bed))
                self.conclude(bed, mine)

    def conclude(self, bed, mine):
        end = bed.traffic.finish()
        died = any(run["died"] for run in mine)
        info = bed.info() if not died else None
        if not died and (code := bed.testpmd.quit()) != 0:
            mine[-1]["died"] = True
            mine[-1]["end_words"] = describe_exit(code)
        packets = analysis.read_log(bed.traffic.packet_log)
        for run in mine:
            switch_figures.judge(packets, run)
            run["receiver_dropped"] = end["dropped"]
        if info is not None and mine:
            mine[-1]["info"] = {key: info.get(key) for key in ("switches", "stale")}
        os.remove(bed.traffic.packet_log)  # some MB each
        self.runs += mine

    def one(self, bed):
        time.sleep(0.25)
        at = now()
        run = {"at": at, "begin": at - BEFORE}
        bed.cut(self.scenario)
        run["switched"] = not self.scenario.startswith("none") and bed.carried_by("hfb1", OUTAGE)
        time.sleep(max(0.0, at + OUTAGE - now()))
        run["restore"] = now()
        if bed.testpmd.alive():
            bed.mend(self.scenario)
        run["stuck"] = not (bed.carried_by("hfa1", PATIENCE) and bed.flows(PATIENCE))
        time.sleep(0.25)
        run["died"] = not bed.testpmd.alive()
        if run["died"]:
            run["end_words"] = describe_exit(bed.testpmd.exit_code())
        run["end"] = now()
        return run

    def flap(self, seconds, forwarder):
        """One run, with a testpmd of its own, which remembers nothing."""
        with self.new_bed(forwarder) as bed:
            bed.build_up()
            time.sleep(0.5)
            run = {"at": now(), "begin": now()}
            due = now()
            for _ in range(int(seconds * 10)):
                for step in (bed.cut, bed.mend):
                    step("flap")
                    due += 0.05
                    time.sleep(max(0.0, due - now()))
            run["restore"] = now()
            run["stuck"] = not bed.flows(PATIENCE)
            run["switched"] = True
            run["died"] = not bed.testpmd.alive()
            run["end"] = now()
            self.conclude(bed, [run])


def flap(options, drivers, everything):
    """Side by side, for nothing of it is about milliseconds, and one after another it would take an hour."""
    series = {driver: Series(options, driver, "flap", 500) for driver in drivers}
    left = options.flap_runs
    while left > 0:
        at_once = min(left, options.flap_at_once)
        left -= at_once
        todo = [one for one in series.values() for _ in range(at_once)]
        wrong = []

        def guarded(one, forwarder, wrong=wrong):
            try:
                one.flap(options.flap_seconds, forwarder)
            except (LabError, RuntimeError, OSError) as error:
                wrong.append("flap, %s: %s" % (one.driver, error))

        threads = [threading.Thread(target=guarded, args=(one, i % 2)) for i, one in enumerate(todo)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise LabError("; ".join(wrong))
    for driver, one in series.items():
        everything[("flap", driver)] = one.runs


def switching(options):
    """All series, the table and the verdict; returns the exit status."""
    scenarios = options.scenarios.split(",") if options.scenarios else list(SCENARIOS)
    drivers = options.drivers.split(",") if options.drivers else list(DRIVERS)
    for name, known in [(s, SCENARIOS) for s in scenarios] + [(d, DRIVERS) for d in drivers]:
        if name not in known:
            raise LabError("%s is none of: %s" % (name, ", ".join(known)))
    everything = {}
    cpus = os.sched_getaffinity(0)
    for scenario in scenarios:
        # The forwarding lcore has its CPU to itself, as users give it one; not so where many forward.
        os.sched_setaffinity(0, cpus if scenario == "flap" else cpus - {1} or cpus)
        print("%s: %s" % (scenario, SCENARIOS[scenario]), flush=True)
        if scenario == "flap":
            flap(options, drivers, everything)
            continue
        for driver in (d for d in drivers if can(d, scenario)):
            rate = options.given_rate or (5000 if scenario.endswith("lsc") else 2000)
            series = Series(options, driver, scenario, rate)
            series.perform(options.switching)
            everything[(scenario, driver)] = series.runs
    return conclude(options, everything)


def conclude(options, everything):
    table = {key: switch_figures.summarize(runs) for key, runs in everything.items()}
    rows = [switch_figures.row(SCENARIOS[s], d, line) for (s, d), line in table.items()]
    print("\n" + report.table(rows, list(switch_figures.TITLES)))
    print("\n(Numbers of packets and times: median / 90th percentile / worst of all runs.)\n")
    record = {
        "rates": {"flap": 500, "others": options.given_rate or "2000, of link events 5000"},
        "runs": {"%s, %s" % key: runs for key, runs in everything.items()},
        "table": {"%s, %s" % key: line for key, line in table.items()},
    }
    missed = []
    print("Targets:")
    for words, met, is_count in switch_figures.targets(table):
        print("  %s: %s" % (words, "met" if met else "MISSED"))
        if is_count and not met:
            missed.append(words)
    path = os.path.join(options.out, "switching.json")
    report.write_json(path, record)
    markdown = os.path.join(options.out, "switching.md")
    with open(markdown, "w", encoding="utf-8") as out:
        for cells in [list(switch_figures.TITLES), ["---"] * len(switch_figures.TITLES)] + rows:
            out.write("| " + " | ".join(cells) + " |\n")
    print("figures as JSON: %s; the table: %s" % (path, markdown))
    print("\nOK" if not missed else "\nNOT OK:\n" + "\n".join("  - " + words for words in missed))
    return 0 if not missed else 1
