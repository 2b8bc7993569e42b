#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sub-devices that a command or a descriptor names, under Debian's own dpdk-testpmd."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from testpmd import BUILD, PATIENCE, Testpmd
from testpmd_test import GENERATE


class Sources(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-sources-", dir="/run"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_device_that_a_command_names_later_carries_traffic(self):
        vf = self.folder / "vf"
        vf.write_text("")
        vdev = f"net_holdfast0,hotplug_poll=50,exec(cat {vf}),dev(net_mayfly1,{GENERATE})"
        with Testpmd(vdev, options=["--forward-mode=io"]) as testpmd:
            testpmd.ask("start")
            vf.write_text(f"net_mayfly0,{GENERATE}\n")
            testpmd.eventually(lambda: "sub0_plugins: 1" in testpmd.ask("show port xstats 0"), "the plug-in")
            before = testpmd.packets(direction="TX")
            testpmd.eventually(lambda: testpmd.packets(direction="TX") > before, "packets")
            self.assertIn("net_holdfast0: net_mayfly0 is active", testpmd.output)
            testpmd.ask("stop")
            self.assertEqual(testpmd.quit(), 0)

    def test_a_port_with_a_command_is_attached_at_the_prompt(self):
        with Testpmd("net_null9") as testpmd:  # the prompt takes no blanks: commas are blanks
            self.assertIn("is attached", testpmd.ask(f"port attach net_holdfast0,exec(echo,net_mayfly0\\,{GENERATE.replace(',', chr(92) + ',')})"))
            self.assertIn("net_holdfast0: net_mayfly0", testpmd.output)
            answer = testpmd.ask("port attach net_holdfast1,exec(echo,'net_mayfly1)")
            self.assertIn("a quote is not closed", answer)
            answer = testpmd.ask("port attach net_holdfast1,fd(0)")
            self.assertIn("standard streams", answer)
            self.assertEqual(testpmd.quit(), 0)  # and its input is still its own

    # FAULTS F25: descriptor 0 is as good as any other.
    def test_with_its_input_closed_it_runs_and_ends(self):
        modules = self.folder / "modules"
        modules.mkdir()
        command = ["dpdk-testpmd", "--no-huge", "-m", "512", "--no-pci", "-l", "0,1", "--no-telemetry"]
        command += ["--file-prefix", self.folder.name]
        for name in ("holdfast", "mayfly"):
            shutil.copy(BUILD / f"librte_net_{name}.so", modules)
            command += ["-d", str(modules / f"librte_net_{name}.so")]
        log = self.folder / "log"
        command += ["--vdev", f"net_holdfast0,hotplug_poll=20,exec(echo x >>{self.folder}/runs),dev(net_mayfly1,{GENERATE})"]
        command += ["--", "--no-mlockall", "--total-num-mbufs=8192", "--stats-period=1", "--forward-mode=io"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["sh", "-c", 'exec "$@" <&-', "sh", *command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            until = time.monotonic() + PATIENCE
            runs = self.folder / "runs"
            while not (runs.exists() and runs.stat().st_size >= 40 and b"NIC statistics" in log.read_bytes()):
                self.assertIsNone(process.poll(), log.read_text(errors="replace"))
                self.assertLess(time.monotonic(), until, log.read_text(errors="replace"))
                time.sleep(0.05)
            descriptors = {int(fd): os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")}
            self.assertNotIn("pipe", descriptors.get(0, ""), "a pipe of ours sits where its input was")
            process.send_signal(signal.SIGINT)
            status = process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.assertIn(status, (0, -signal.SIGINT), log.read_text(errors="replace"))


if __name__ == "__main__":
    unittest.main()
