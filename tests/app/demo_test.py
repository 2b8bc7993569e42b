# SPDX-License-Identifier: BSD-3-Clause
"""Runs the demo, briefly: what it measures, that it passes over Holdfast, that it can fail, that it cleans up."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.environ.get("HOLDFAST_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
BUILD = os.environ["HOLDFAST_BUILD_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "scripts", "demo.d"))

import analysis  # noqa: E402
import measure  # noqa: E402
from lab import Lab, missing_for_lab  # noqa: E402
from processes import Traffic  # noqa: E402


def log_of(sent, frames, answers=(), flooded=()):
    """Writes a log as the traffic tool does; times in milliseconds. Returns what the analysis reads from it."""
    with tempfile.NamedTemporaryFile("w", suffix=".packets") as f:
        for seq, t in enumerate(sent):
            f.write("S %d %d\n" % (seq, t * 1000000))
        for seq, t, sink in frames:
            f.write("F %d %d %d %s\n" % (seq, sent[seq] * 1000000, t * 1000000, sink))
        for seq, t in answers:
            f.write("A %d %d %d\n" % (seq, (flooded or sent)[seq] * 1000000, t * 1000000))
        for seq, t in enumerate(flooded):
            f.write("I %d %d\n" % (seq, t * 1000000))
        f.flush()
        return analysis.read_log(f.name)


class Analysis(unittest.TestCase):
    def test_counts_lost_and_duplicate_frames_apart(self):
        packets = log_of(
            [0, 10, 20, 30], [(0, 1, "a"), (2, 21, "a"), (2, 22, "b"), (3, 31, "b")], [(0, 2), (0, 3), (3, 32)]
        )
        span = packets.measure(0, 1)
        self.assertEqual((span.sent, span.received, span.lost, span.duplicates, span.answers), (4, 3, 1, 1, 2))
        self.assertEqual(span.received_by, {"a": 2, "b": 1})

    def test_a_frame_belongs_to_the_span_in_which_it_was_sent(self):
        packets = log_of([0, 10, 20], [(0, 1, "a"), (1, 25, "a"), (2, 26, "a")])
        self.assertEqual(packets.measure(0, 0.015).received, 2)
        self.assertEqual(packets.measure(0.015, 1).received, 1)

    def test_longest_gap_is_between_arrivals(self):
        packets = log_of(list(range(0, 100, 10)), [(0, 1, "a"), (1, 11, "a"), (7, 71, "b"), (8, 81, "b"), (9, 91, "b")])
        self.assertAlmostEqual(packets.measure(0, 1).longest_gap, 0.060)
        self.assertAlmostEqual(packets.measure(0, 1).sender_pause, 0.010)

    def test_silence_up_to_the_end_is_a_gap(self):
        packets = log_of(list(range(0, 100, 10)), [(0, 1, "a")])
        self.assertAlmostEqual(packets.measure(0, 1).longest_gap, 0.089)
        self.assertAlmostEqual(log_of([0, 50], []).measure(0, 1).longest_gap, 0.050)

    def test_histogram_and_letters_show_who_carried(self):
        packets = log_of(
            list(range(0, 400, 10)),
            [(i, i * 10 + 1, "a") for i in range(10)] + [(i, i * 10 + 1, "b") for i in range(20, 25)],
        )
        self.assertEqual([sum(counts.values()) for counts in packets.histogram(0, 0.4, 0.1)], [10, 0, 5, 0])
        self.assertEqual(analysis.letters(packets, 0, 0.4, {"a": "A", "b": "B"}, 100), "A.b.")


class Measuring(unittest.TestCase):
    def test_switch_and_return_are_read_from_the_frames_next_to_them(self):
        packets = log_of([0, 10, 20, 30, 40], [(0, 1, "a"), (1, 11, "a"), (2, 24, "b"), (3, 31, "b"), (4, 46, "a")])
        rounds = [{"delete": 0.012, "add": 0.032, "up": 0.040, "end": 0.050}]
        measure.figures(packets.frames, "a", rounds)
        self.assertAlmostEqual(rounds[0]["switch"], 13)
        self.assertAlmostEqual(rounds[0]["return"], 6)
        self.assertAlmostEqual(rounds[0]["ordered"], 14)

    def test_what_did_not_come_in_its_round_was_not_seen(self):
        packets = log_of([0, 60, 70], [(0, 1, "a"), (1, 61, "b"), (2, 71, "a")])
        rounds = [{"delete": 0.012, "add": 0.032, "up": 0.040, "end": 0.050}]
        measure.figures(packets.frames, "a", rounds)
        self.assertEqual([rounds[0][what] for what in ("switch", "return", "ordered")], [None, None, None])

    def test_nine_of_ten_do_not_exceed_the_90th_percentile(self):
        self.assertEqual(measure.percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0.9), 9)
        self.assertEqual(measure.percentile([3], 0.9), 3)


class LabTest(unittest.TestCase):
    """Tests with namespaces of their own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.names = set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()

    def namespaces_left(self, pid):
        names = set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()
        return sorted(name for name in names - self.names if name.startswith("hf%d-" % pid))

    def demo(self, *arguments):
        """Starts the demo; it gets a session of its own, so that what it leaves behind can be found by that."""
        command = [
            sys.executable,
            "-B",
            os.path.join(SOURCE, "scripts", "demo.d", "demo.py"),
            "--out",
            self.folder.name,
            *arguments,
        ]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ, HOLDFAST_BUILD_DIR=BUILD),
        )

    def result(self, name):
        with open(os.path.join(self.folder.name, name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def children(self, pid):
        """Returns {name: process id}; of children of the same name only one."""
        found = {}
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
                for child in f.read().split():
                    with open("/proc/%s/comm" % child, encoding="ascii") as comm:
                        found[comm.read().strip()] = int(child)
        except OSError:
            pass  # one of them ended meanwhile: the caller looks again
        return found


class TrafficTool(LabTest):
    def test_sees_every_frame_on_a_plain_veth_pair_and_the_loss_when_it_goes_down(self):
        lab = Lab()
        lab.create()
        self.addCleanup(lab.destroy)
        lab.add_veth("hfx")
        traffic = Traffic(
            os.path.join(BUILD, "tests", "holdfast_traffic"),
            lab.far + "/hfx1",
            [lab.mid + "/hfx"],
            1000,
            self.folder.name,
            "tool",
        )
        self.addCleanup(lambda: traffic.close(5.0))
        self.assertIsNotNone(traffic.wait_for_via(0, lambda sink: sink == "hfx", 10.0))
        time.sleep(1.0)
        lab.run(lab.mid, ["ip", "link", "set", "hfx", "down"])
        time.sleep(0.5)
        lab.run(lab.mid, ["ip", "link", "set", "hfx", "up"])
        time.sleep(0.5)
        end = traffic.finish()
        packets = analysis.read_log(traffic.packet_log)
        whole = packets.measure(0, float("inf"))
        self.assertEqual((whole.sent, end["dropped"], whole.duplicates), (end["sent"], 0, 0))
        self.assertEqual(whole.received, end["received"]["hfx"])
        self.assertGreater(whole.longest_gap, 0.4)
        # Before the pause nothing may be missing.
        arrivals = [arrived for arrived, _, _ in packets.frames]
        pause = max(range(1, len(arrivals)), key=lambda i: arrivals[i] - arrivals[i - 1])
        last = packets.frames[pause - 1][1]
        before = {seq for _, seq, _ in packets.frames[:pause]}
        self.assertEqual(before, set(range(last + 1)))
        self.assertGreater(len(before), 500)


class Demo(LabTest):
    def test_passes_over_holdfast(self):
        demo = self.demo("--rounds", "4", "--pace", "0.5")
        text, _ = demo.communicate(timeout=180)
        self.assertEqual(demo.returncode, 0, text)
        result = self.result("demo")
        self.assertTrue(result["ok"], text)
        self.assertEqual(
            [r["removed_by"] for r in result["rounds"]],
            ["remove command", "ip link del", "ip link del", "ip link del twice"],
        )
        for rnd in result["rounds"]:
            self.assertGreater(rnd["sent"], 500, text)
            self.assertEqual(rnd["sent"], rnd["received"] + rnd["lost"])
            self.assertGreater(rnd["received_by"]["hfa1"], 0)
            self.assertGreater(rnd["received_by"]["hfb1"], 0)
        self.assertGreater(result["rounds"][3]["received_by"]["hftap"], 0)
        self.assertEqual(self.namespaces_left(demo.pid), [])

    def test_says_not_ok_when_the_driver_does_not_switch(self):
        demo = self.demo("--compare", "--rounds", "3", "--pace", "0.2")
        text, _ = demo.communicate(timeout=180)
        self.assertEqual(demo.returncode, 0, text)
        result = self.result("compare")
        self.assertFalse(result["ok"], text)
        self.assertLess(result["received"], 0.5 * result["sent"])
        self.assertIn("no switch", " ".join(result["problems"]))
        # Over simulated NICs it is told of the removal; what it makes of that is its own affair, but it is reported.
        self.assertEqual(self.result("compare-mayfly")["driver"], "net_failsafe0")
        self.assertEqual(self.namespaces_left(demo.pid), [])

    def both_running(self, demo):
        """Waits for testpmd and the traffic tool; returns {name: process id}."""
        children = {}
        end = time.monotonic() + 30
        while len(children) < 2 and time.monotonic() < end:
            time.sleep(0.1)
            running = self.children(demo.pid)
            # The kernel keeps 15 characters of a name.
            children = {name: running[name] for name in ("dpdk-testpmd", "holdfast_traffi") if name in running}
        self.assertEqual(len(children), 2)
        return children

    def test_measures_with_and_without_events(self):
        demo = self.demo("--measure", "3")
        text, _ = demo.communicate(timeout=280)
        self.assertEqual(demo.returncode, 0, text)
        result = self.result("measure")
        for mode in ("events", "poll only"):
            self.assertEqual(len(result[mode]["rounds"]), 3, text)
            for rnd in result[mode]["rounds"]:
                self.assertIsNotNone(rnd["switch"], text)
                self.assertIsNotNone(rnd["return"], text)
        self.assertEqual(self.namespaces_left(demo.pid), [])

    def test_reports_a_testpmd_that_dies(self):
        demo = self.demo("--compare")
        children = self.both_running(demo)
        time.sleep(1.0)
        os.kill(children["dpdk-testpmd"], signal.SIGSEGV)
        text, _ = demo.communicate(timeout=180)
        self.assertEqual(demo.returncode, 0, text)
        result = self.result("compare")
        self.assertFalse(result["ok"], text)
        self.assertEqual(result["testpmd"], "killed by SIGSEGV")
        self.assertEqual(self.namespaces_left(demo.pid), [])

    def test_takes_everything_down_when_interrupted(self):
        demo = self.demo("--compare")
        children = self.both_running(demo)
        self.assertNotEqual(self.namespaces_left(demo.pid), [])
        demo.send_signal(signal.SIGINT)
        text, _ = demo.communicate(timeout=30)
        self.assertEqual(demo.returncode, 130, text)
        self.assertEqual([child for child in children.values() if os.path.exists("/proc/%d" % child)], [])
        self.assertEqual(self.namespaces_left(demo.pid), [])


if __name__ == "__main__":
    missing = missing_for_lab()
    if missing is not None:
        print("skipped: this machine lacks %s" % missing)
        sys.exit(77)
    unittest.main(verbosity=2)
