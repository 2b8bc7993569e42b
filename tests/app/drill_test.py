# SPDX-License-Identifier: BSD-3-Clause
"""The example of a drill: it passes over testpmd, and it notices what does not pass."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("HOLDFAST_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
BUILD = os.environ["HOLDFAST_BUILD_DIR"]
DRILL = os.path.join(SOURCE, "examples", "hot-unplug-drill", "drill.py")
TESTPMD = ("dpdk-testpmd", "--", "-i", "--auto-start", "--nb-cores=1", "--total-num-mbufs=8192")


def drill(*arguments):
    with tempfile.TemporaryDirectory(dir="/run") as modules:  # EAL loads nothing from below a folder like /tmp
        for name in ("holdfast", "mayfly"):
            shutil.copy(os.path.join(BUILD, "librte_net_%s.so" % name), modules)
        done = subprocess.run(
            [sys.executable, "-B", DRILL, "--modules", modules, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    return done.returncode, done.stdout + done.stderr


class Drill(unittest.TestCase):
    def test_testpmd_passes(self):
        status, text = drill(*TESTPMD)
        self.assertEqual(status, 0, text)
        self.assertIn("net_mayfly0 absent", text)
        self.assertIn("(link down)", text)
        self.assertIn("passed", text)

    def test_a_nic_that_does_not_come_back_is_noticed(self):
        status, text = drill("--script", "unplug@1s", "--seconds", "3", *TESTPMD)
        self.assertEqual(status, 1, text)
        self.assertIn("was not seen to go and to come back", text)

    def test_an_application_that_ends_does_not_pass(self):
        status, text = drill("false")
        self.assertEqual(status, 1, text)
        self.assertIn("it ended with 1", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
