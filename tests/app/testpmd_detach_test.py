#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An operator detaches sub-devices at testpmd's prompt while two lcores forward on the virtual port.

testpmd refuses to detach a port that it saw appear ("not stopped"); those that came up with the virtual port at start it
does not know at all, and detaches.
"""

import os
import subprocess
import unittest

from testpmd import GENERATE, Testpmd

CORES = ("--lcores", "0@(0,1),1@0,2@1")  # two CPUs are enough for two forwarding lcores
QUEUES = ["--forward-mode=io", "--nb-cores=2", "--rxq=2", "--txq=2"]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Detach(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.unshare(os.CLONE_NEWNET)  # and with this process all interfaces that it makes go

    def detach_all(self, devices):
        """Each of them is the active one when its turn comes. The last sub-device makes packets and stays."""
        subs = "".join(f",dev({devargs})" for devargs in devices)
        with Testpmd(f"net_holdfast0,hotplug_poll=20{subs},dev(net_mayfly99,{GENERATE})", options=QUEUES, cores=CORES) as testpmd:
            testpmd.ask("start")
            for sub, devargs in enumerate(devices):
                name = devargs.split(",")[0]
                sent = lambda: testpmd.xstat(f"sub{sub}_tx_packets")
                testpmd.eventually(lambda: sent() > 0, f"packets over {name}")
                self.assertIn(f"Device {name} is detached", testpmd.ask(f"device detach {name}"))
                last = testpmd.xstat(f"sub{sub}_tx_packets")
                before = testpmd.packets(direction="TX")
                testpmd.eventually(lambda: testpmd.packets(direction="TX") > before, f"packets after {name}")
                testpmd.eventually(lambda: testpmd.xstat(f"sub{sub}_removals") == 1, f"{name} to leave")
                self.assertEqual(sent(), last, "it is gone")
            for sub in range(len(devices)):
                self.assertEqual(testpmd.xstat(f"sub{sub}_plugins"), 1, "what was detached stays away")
            testpmd.ask("stop")
            self.assertEqual(testpmd.quit(), 0)
        return len(devices)

    def test_twenty_af_packet_sub_devices_are_detached_under_traffic(self):
        rounds = 0
        for run in range(2):
            devices = []
            for i in range(10):
                ip("link", "add", f"v{run}x{i}", "type", "veth", "peer", "name", f"w{run}x{i}")
                ip("link", "set", f"v{run}x{i}", "up")
                ip("link", "set", f"w{run}x{i}", "up")
                devices.append(f"net_af_packet{i},iface=v{run}x{i},qpairs=2")
            rounds += self.detach_all(devices)
        self.assertEqual(rounds, 20)

    def test_sub_devices_of_other_drivers_are_detached_under_traffic(self):
        self.detach_all(["net_null0", "net_ring0", "net_tap0,iface=detach0", "net_mayfly0", "net_null1", "net_mayfly1"])


if __name__ == "__main__":
    unittest.main()
