#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/vm reads from the packets, and what it calls met. No VM."""

import json
import pathlib
import tempfile
import unittest

from rig import SOURCE

import figures
from bench import RECIPE, Bench, recipe
from scenarios import SCENARIOS


def log_of(sent, returns):
    """Writes a log as holdfast_frames does; times in ms, returns as (number, arrived, over). Reads it."""
    with tempfile.NamedTemporaryFile("w", suffix=".packets") as f:
        for seq, at in enumerate(sent):
            f.write("S %d %d\n" % (seq, at * 1000000))
        for seq, at, over in returns:
            f.write("F %d %d %d %s fast\n" % (seq, sent[seq] * 1000000, at * 1000000, over))
        f.write("L 0 fast a\n")
        f.flush()
        return figures.Log.read(f.name)


def a_run(**other):
    return {
        "begin": 0.0, "end": 0.1, "quiet": (0.0, 0.02), "migrations": [], "alive": True, "problems": [],
        "deleted_ms": [], "downtime_ms": [], "events": {"switch_ms": [], "return_ms": []}, **other,
    }


class Packets(unittest.TestCase):
    LOG = ([0, 10, 20, 30, 40], [(0, 1, "fast"), (0, 2, "fast"), (1, 11, "fast"), (3, 36, "backup"), (4, 41, "fast")])

    def test_one_of_the_copies_of_a_frame_is_enough(self):
        log = log_of(*self.LOG)
        self.assertEqual(log.count(0, 1), (5, 1))
        self.assertEqual(log.count(0.025, 1), (2, 0))

    def test_a_gap_may_begin_and_end_with_the_time(self):
        log = log_of(*self.LOG)
        self.assertAlmostEqual(log.gap(0, 0.045), 0.025)
        self.assertAlmostEqual(log.gap(0, 0.1), 0.059)

    def test_what_did_not_come_before_the_next_event_was_not_seen(self):
        log = log_of(*self.LOG)
        self.assertAlmostEqual(log.first("backup", 0.012), 0.024)
        self.assertIsNone(log.first("backup", 0.012, 0.030))
        self.assertIsNone(log.first("fast", 0.042))

    def test_a_run_is_judged_by_its_packets(self):
        run = a_run(end=0.045, events={"switch_ms": [(0.012, 0.040)], "return_ms": [(0.0365, 0.1), (0.042, 0.1)]})
        figures.judge(run, [log_of(*self.LOG)])
        self.assertEqual((run["sent"], run["lost"], run["unseen"]), (5, 1, 1))
        self.assertAlmostEqual(run["switch_ms"][0], 24)
        self.assertAlmostEqual(run["return_ms"][0], 4.5)
        self.assertAlmostEqual(run["gap_ms"], 25)
        self.assertAlmostEqual(run["quiet_gap_ms"], 9)

    def test_of_two_ports_the_worse_counts(self):
        run = a_run(end=0.045)
        figures.judge(run, [log_of(*self.LOG), log_of([0, 20], [(0, 1, "fast1")])])
        self.assertEqual((run["sent"], run["lost"]), (7, 2))
        self.assertAlmostEqual(run["gap_ms"], 44)


class Targets(unittest.TestCase):
    def missed(self, **other):
        run = a_run(lost=1, gap_ms=25.0, quiet_gap_ms=10.0, **other)
        return [words for words, met, _ in figures.targets("x", figures.summarize([run])) if not met]

    def test_a_run_with_a_problem_or_a_dead_process_did_not_survive(self):
        self.assertEqual(self.missed(), [])
        self.assertEqual(self.missed(alive=False), ["x: 0 of 1 runs survived"])
        self.assertEqual(self.missed(problems=["no traffic"]), ["x: 0 of 1 runs survived"])

    def test_the_gap_may_exceed_that_of_a_quiet_time_by_20_ms(self):
        run = a_run(lost=0, gap_ms=31.0, quiet_gap_ms=10.0)
        self.assertFalse(figures.targets("x", figures.summarize([run]))[-1][1])

    def test_a_device_has_to_be_let_go_within_two_seconds(self):
        self.assertEqual(len(self.missed(deleted_ms=[1900.0])), 0)
        self.assertEqual(len(self.missed(deleted_ms=[2100.0])), 1)

    def test_a_migration_may_add_50_ms_to_its_downtime(self):
        self.assertEqual(len(self.missed(downtime_ms=[30.0], migration_gap_ms=[79.0])), 0)
        self.assertEqual(len(self.missed(downtime_ms=[30.0], migration_gap_ms=[81.0])), 1)


class Recipe(unittest.TestCase):
    def test_its_plug_is_the_device_that_the_bench_would_plug(self):
        command, arguments = recipe("plug")
        bench = object.__new__(Bench)
        bench.nic, bench.pairs = "e1000e", ((("fast", "slot1"), ("backup", "slot2")),)
        self.assertEqual((command, arguments), ("device_add", bench.device("fast0")))

    def test_every_step_is_a_command(self):
        steps = sorted(path.stem for path in pathlib.Path(RECIPE).glob("*.json"))
        self.assertEqual(steps, ["migrate", "parameters", "plug", "unplug"])
        for step in steps:
            self.assertEqual(set(json.loads((pathlib.Path(RECIPE) / (step + ".json")).read_text())),
                             {"execute", "arguments"})
            self.assertIn("qmp/%s.json" % step,
                          (SOURCE / "examples" / "live-migration" / "README.md").read_text(encoding="utf-8"))


class Scenarios(unittest.TestCase):
    def test_each_names_its_devices(self):
        for name, scenario in SCENARIOS.items():
            vdevs = scenario.vdevs("holdfast")
            self.assertEqual(len(vdevs), scenario.pairs, name)
            for word in ("FAST", "BACKUP", "MAC"):
                self.assertNotIn(word, "".join(vdevs).replace("MACS", ""), name)
        self.assertEqual(SCENARIOS["active"].vdevs("failsafe"),
                         ["net_failsafe0,hotplug_poll=200,dev(0000:01:00.0),dev(0000:02:00.0)"])


if __name__ == "__main__":
    unittest.main()
