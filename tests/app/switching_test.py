# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/demo --switching reads from packets, and a short run of it: events, counts and order, no times."""

import os
import sys
import unittest

from demo_test import SOURCE, LabTest, log_of

sys.path.insert(0, os.path.join(SOURCE, "scripts", "demo.d"))

import switch_figures  # noqa: E402
from lab import missing_for_lab  # noqa: E402


class Inbound(unittest.TestCase):
    def kinds(self, flooded, arrived):
        packets = log_of([0], [], arrived, flooded)
        return [kind for _, kind in switch_figures.inbound(packets)]

    def test_a_second_copy_is_a_duplicate(self):
        self.assertEqual(self.kinds([0, 10], [(0, 1), (0, 2), (1, 11)]), ["new", "duplicate", "new"])

    def test_what_comes_behind_much_newer_ones_is_stale_whether_or_not_it_came_before(self):
        self.assertEqual(
            self.kinds([0, 10, 50], [(0, 1), (2, 51), (1, 52), (0, 53)]), ["new", "new", "stale", "stale"]
        )

    def test_a_little_late_is_not_stale(self):
        self.assertEqual(self.kinds([0, 10], [(1, 11), (0, 12)]), ["new", "new"])


class Outbound(unittest.TestCase):
    PACKETS = ([0, 10, 20, 30, 40, 50], [(0, 1, "a"), (1, 11, "a"), (3, 31, "b"), (4, 42, "a"), (5, 51, "a")])

    def test_each_change_of_the_way_is_a_switch(self):
        packets = log_of(*self.PACKETS)
        self.assertEqual(switch_figures.switches(packets, 0, 1), 2)
        self.assertEqual(switch_figures.switches(packets, 0.025, 1), 1)
        self.assertEqual(switch_figures.switches(packets, 0.035, 1), 0)

    def test_a_run_is_judged_by_its_own_packets(self):
        packets = log_of(*self.PACKETS, [(0, 1), (0, 2), (2, 25)], [0, 10, 20])
        run = {"begin": 0.005, "restore": 0.035, "end": 0.055}
        switch_figures.judge(packets, run)
        self.assertEqual((run["sent"], run["lost"], run["switches"]), (5, 1, 2))
        self.assertAlmostEqual(run["gap_ms"], 11, msg="from the sending of the frame that did not come")
        self.assertAlmostEqual(run["silence_ms"], 20)
        self.assertEqual((run["duplicates"], run["stale"], run["inbound_lost"]), (0, 0, 1))

    def test_what_waited_for_the_link_to_come_back_neither_makes_nor_fills_a_gap(self):
        packets = log_of([0, 10, 20, 30], [(0, 1, "a"), (2, 21, "b"), (3, 31, "b"), (1, 95, "a")])
        self.assertAlmostEqual(switch_figures.waited(packets, 0, 0.035), 0.011)

    def test_a_pause_of_the_sender_is_no_gap(self):
        packets = log_of([0, 10, 60, 61], [(0, 1, "a"), (1, 11, "a"), (2, 62, "a"), (3, 63, "a")])
        self.assertAlmostEqual(switch_figures.waited(packets, 0, 0.065), 0.002)

    def test_a_gap_ends_with_the_time_if_nothing_leaves_any_more(self):
        packets = log_of([0, 10, 20, 30], [(0, 1, "a")])
        self.assertAlmostEqual(switch_figures.waited(packets, 0, 0.090), 0.080)


class Targets(unittest.TestCase):
    RUN = {
        "switched": True,
        "died": False,
        "stuck": False,
        "gap_ms": 5.0,
        "lost": 0,
        "inbound_lost": 3,
        "duplicates": 0,
        "stale": 0,
        "switches": 1,
    }

    def missed(self, scenario, driver="holdfast rx=active", **other):
        table = {(scenario, driver): switch_figures.summarize([self.RUN, {**self.RUN, **other}])}
        return [words for words, met, _ in switch_figures.targets(table) if not met]

    def test_one_run_that_is_not_good_is_enough(self):
        self.assertEqual(self.missed("local"), [])
        for other in ({"died": True}, {"stuck": True}, {"switched": False}, {"duplicates": 1}, {"stale": 1}):
            self.assertEqual(len(self.missed("local", **other)), 1, other)
        self.assertEqual(len(self.missed("planned", lost=1)), 1)
        self.assertEqual(self.missed("local", lost=1), [])

    def test_times_are_those_of_the_median(self):
        self.assertEqual(len(self.missed("carrier", gap_ms=26.0)), 1)
        self.assertEqual(self.missed("carrier", gap_ms=24.0), [])
        self.assertEqual(len(self.missed("lsc")), 1)

    def test_five_switches_in_the_flapping_minute_are_allowed(self):
        self.assertEqual(self.missed("flap", switches=5), [])
        self.assertEqual(len(self.missed("flap", switches=6)), 1)

    def test_what_others_do_is_no_target(self):
        self.assertEqual(self.missed("local", "bonding", died=True, duplicates=9), [])


class Switching(LabTest):
    def test_loses_nothing_that_it_need_not_and_delivers_nothing_twice(self):
        demo = self.demo(
            # So few that testpmd may stand for a second before its ring is full: it shares two cores with other tests.
            *("--switching", "1", "--flap-seconds", "3", "--rate", "500"),
            *("--drivers", "holdfast,holdfast rx=active"),
            *("--scenarios", "local,carrier,delete,planned,lsc,flap")
        )
        text, _ = demo.communicate(timeout=240)
        self.assertIn(demo.returncode, (0, 1), text)  # 1: for a duplicate, see below
        table = self.result("switching")["table"]
        self.assertEqual(len(table), 12, text)
        for key, line in table.items():
            self.assertEqual((line["runs"], line["died"], line["stuck"]), (1, 0, 0), key)
            scenario, driver = key.split(", ")
            if scenario == "flap":
                self.assertLessEqual(line["switches"][2], 5, key)
            else:
                self.assertEqual(line["switched"], 1, key)
            if scenario == "planned":
                self.assertEqual(line["lost"][2], 0, key)
            if driver == "holdfast":
                self.assertGreater(line["duplicates"][2], 50, "the network sends everything twice")
            else:
                self.assertEqual(line["stale"][2], 0, key)
                # The two copies of a frame that are under way while the traffic is moved are no two old ones.
                self.assertLessEqual(line["duplicates"][2], 4, key)
        self.assertEqual(self.namespaces_left(demo.pid), [])

    def test_says_what_it_cannot_do(self):
        demo = self.demo("--switching", "1", "--scenarios", "local,unplug")
        text, _ = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 2, text)
        self.assertIn("unplug is none of: none, none-lsc, local", text)


if __name__ == "__main__":
    missing = missing_for_lab()
    if missing is not None:
        print("skipped: this machine lacks %s" % missing)
        sys.exit(77)
    unittest.main(verbosity=2)
