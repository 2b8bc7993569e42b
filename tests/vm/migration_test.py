#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A VM is migrated under Debian's testpmd, which never stops. Limits are wide, for this machine does other things, too."""

import unittest

from rig import BUILD

import figures
from bench import Bench
from scenarios import SCENARIOS, Play, migrate

LIMIT_MS = 150.0  # the noise of such a VM reaches 26 ms


class Migration(unittest.TestCase):
    def test_there_and_back(self):
        scenario = SCENARIOS["migrate"]
        with Bench(str(BUILD / "vm-migration"), scenario.nic) as bench:
            scenario.prepare(bench)
            bench.start_frames(("a", "b"))
            bench.start_testpmd(*scenario.vdevs("holdfast"))
            play = Play(bench)
            play.begin()
            migrate(play, 2)
            play.end()
            self.assertEqual(bench.active(), 0)
            self.assertEqual(bench.sub(0)["removals"], 4)
            self.assertTrue(bench.quit_testpmd())
            run = play.run
            figures.judge(run, [figures.Log.read(path) for path in bench.stop_frames()])
        self.assertEqual((len(run["migrations"]), len(run["return_ms"]), run["unseen"]), (4, 4, 0))
        # Of four the second best: this machine builds other things meanwhile, and holds the VM up for longer than that.
        over = sorted(gap - downtime for gap, downtime in zip(run["migration_gap_ms"], run["downtime_ms"]))
        self.assertLessEqual(over[1], LIMIT_MS, over)
        self.assertLess(run["lost"], 0.2 * run["sent"])


if __name__ == "__main__":
    unittest.main()
