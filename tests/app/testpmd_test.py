#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drives Debian's own dpdk-testpmd through its prompt, over net_holdfast and net_mayfly as users load them."""

import re
import signal
import time
import unittest

from testpmd import GENERATE, PATIENCE, Testpmd


class Prompt(unittest.TestCase):
    def test_traffic_goes_on_while_the_active_nic_is_unplugged_and_plugged(self):
        vdev = f"net_holdfast0,hotplug_poll=50,dev(net_mayfly0,{GENERATE},script=unplug@1500ms;plug@2500ms),dev(net_mayfly1,{GENERATE})"
        with Testpmd(vdev, options=["--forward-mode=io"]) as testpmd:
            testpmd.ask("start")
            xstat = testpmd.xstat
            testpmd.eventually(lambda: xstat("sub0_removals") == 1, "the removal")
            before = xstat("sub1_tx_packets")
            testpmd.eventually(lambda: xstat("sub1_tx_packets") > before, "packets on the standby")
            testpmd.eventually(lambda: xstat("sub0_plugins") == 2, "the return")
            before = xstat("sub0_tx_packets")
            testpmd.eventually(lambda: xstat("sub0_tx_packets") > before, "packets on the returned one")
            # Back to the preferred one. (On a busy machine the removal comes before the port is started, and the standby is
            # the first active one: so each change is counted, whichever they were.)
            switches = xstat("switches")
            active = re.findall(r"net_holdfast0: (\S+) is active", testpmd.output)
            self.assertEqual(active[-2:], ["net_mayfly1", "net_mayfly0"])
            self.assertEqual(switches, len(active) - 1)
            testpmd.ask("stop")
            self.assertEqual(testpmd.quit(), 0)

    def test_a_port_is_reconfigured_again_and_again(self):
        with Testpmd(f"net_holdfast0,dev(net_mayfly0,{GENERATE}),dev(net_null0),dev(net_mayfly1,{GENERATE})") as testpmd:
            for queues, size in ((2, 256), (4, 1024), (1, 512)):
                testpmd.ask("port stop 0")
                for command in (f"rxq {queues}", f"txq {queues}", f"rxd {size}", f"txd {size}"):
                    self.assertNotIn("rror", testpmd.ask(f"port config all {command}"))
                self.assertNotIn("ail", testpmd.ask("port start 0"))
                info = testpmd.ask("show port info 0")
                self.assertIn(f"Current number of RX queues: {queues}", info)
                self.assertIn("Link status: up", info)
                self.assertIn(f"Number of RXDs: {size}", testpmd.ask(f"show rxq info 0 {queues - 1}"))
                before = testpmd.packets()
                testpmd.ask("start")
                testpmd.eventually(lambda: testpmd.packets() > before, "packets after a reconfiguration")
                testpmd.ask("stop")
            self.assertEqual(testpmd.quit(), 0)

    def test_settings_of_the_prompt_reach_the_nics(self):
        with Testpmd(f"net_holdfast0,mac=02:00:00:00:00:11,dev(net_mayfly0,{GENERATE}),dev(net_mayfly1,{GENERATE})") as testpmd:
            info = testpmd.ask("show port info 0")
            self.assertIn("MAC address: 02:00:00:00:00:11", info)
            self.assertIn("Driver name: net_holdfast", info)
            testpmd.ask("port stop 0")
            testpmd.ask("port config mtu 0 9000")
            testpmd.ask("port start 0")
            self.assertIn("MTU: 9000", testpmd.ask("show port info 0"))
            for command in (
                "set promisc 0 off", "set allmulti 0 on", "mac_addr add 0 02:00:00:00:00:22", "mac_addr set 0 02:00:00:00:00:33",
                "mcast_addr add 0 01:00:5e:00:00:01", "mac_addr remove 0 02:00:00:00:00:22", "vlan set filter on 0",
                "rx_vlan add 64 0", "show port 0 rxq 0 desc 0 status", "show port 0 txq 0 desc 0 status",
                "show port 0 rxq 0 desc used count", "show rxq info 0 0", "show txq info 0 0", "set link-down port 0", "set link-up port 0",
                "port 0 rxq 0 stop", "port 0 rxq 0 start",
            ):  # fmt: skip
                answer = testpmd.ask(command)
                self.assertNotRegex(answer, r"(?i)fail|error|invalid|not support", command)
            info = testpmd.ask("show port info 0")
            self.assertIn("MAC address: 02:00:00:00:00:33", info)
            self.assertIn("Promiscuous mode: disabled", info)
            self.assertIn("Allmulticast mode: enabled", info)
            self.assertEqual(testpmd.quit(), 0)

    def test_rss_spreads_the_flows_of_a_nic_as_the_prompt_says(self):
        flows = "mode=generate,flows=64,size=128"
        for vdev in (f"net_mayfly0,{flows}", f"net_holdfast0,dev(net_mayfly0,{flows})"):
            with self.subTest(vdev=vdev), Testpmd(vdev, options=["--rxq=4", "--txq=4", "--forward-mode=rxonly"]) as testpmd:
                packets = lambda queue: int(
                    re.search(rf"^rx_q{queue}_packets: (\d+)", testpmd.ask("show port xstats 0"), re.M)[1]
                )
                self.assertNotRegex(testpmd.ask("port config all rss all"), r"(?i)fail|error|invalid")
                whole = "0xffffffffffffffff"
                table = testpmd.ask(f"show port 0 rss reta 128 ({whole},{whole})")
                self.assertEqual(len(re.findall(r"hash index=\d+, queue=\d+", table)), 128, table)
                self.assertRegex(testpmd.ask("show port 0 rss-hash key"), r"RSS key:\s*[0-9A-F]{80}")
                testpmd.ask("start")
                if vdev.startswith("net_mayfly"):  # the virtual port's own statistics are not per queue
                    for queue in range(4):
                        testpmd.eventually(lambda: packets(queue) > 0, f"packets on queue {queue}")
                testpmd.ask("stop")
                for part in range(0, 128, 8):  # the prompt takes at most 127 characters for one argument
                    entries = ",".join(f"({i},3)" for i in range(part, part + 8))
                    self.assertNotRegex(testpmd.ask(f"port config 0 rss reta {entries}"), r"(?i)fail|error|invalid")
                table = testpmd.ask(f"show port 0 rss reta 128 ({whole},{whole})")
                self.assertEqual(len(re.findall(r"queue=3\b", table)), 128, table)
                if vdev.startswith("net_mayfly"):
                    testpmd.ask("clear port xstats 0")
                    testpmd.ask("start")
                    testpmd.eventually(lambda: packets(3) > 1000, "packets on queue 3")
                    testpmd.ask("stop")
                    self.assertEqual([packets(queue) for queue in range(3)], [0, 0, 0])
                self.assertEqual(testpmd.quit(), 0)

    def test_attached_and_detached_at_the_prompt(self):
        with Testpmd("net_null9") as testpmd:
            for _ in range(5):
                answer = testpmd.ask(f"port attach net_holdfast0,dev(net_mayfly0,{GENERATE}),dev(net_null0)")
                port = int(re.search(r"Port (\d+) is attached\. Now total ports is 2", answer)[1])
                self.assertEqual(len(re.findall("is attached", answer)), 1, answer)
                self.assertNotRegex(testpmd.ask("show port summary all"), "net_mayfly|net_null0")
                self.assertNotRegex(testpmd.ask("port start all"), r"(?i)fail|error")
                self.assertNotRegex(testpmd.ask("port stop all"), r"(?i)fail|error")
                testpmd.ask(f"port start {port}")
                self.assertIn("net_holdfast0", testpmd.ask("show port summary all"))
                testpmd.ask(f"port stop {port}")
                testpmd.ask(f"port close {port}")
                self.assertNotIn("net_holdfast0", testpmd.ask("show port summary all"))
                testpmd.ask("device detach net_holdfast0")
            answer = testpmd.ask("port attach net_null0")  # nothing of ours is left on the bus
            self.assertIn("is attached", answer)
            self.assertEqual(testpmd.quit(), 0)

    def test_a_refused_port_leaves_nothing_behind(self):
        with Testpmd("net_null9") as testpmd:
            answer = testpmd.ask("port attach net_holdfast0,dev(net_null0),hotplug_poll=10x")
            self.assertIn('"10x" at character', answer)
            self.assertIn("is attached", testpmd.ask("port attach net_null0"))
            self.assertEqual(testpmd.quit(), 0)

    def test_started_without_any_sub_device_the_link_is_down(self):
        with Testpmd("net_holdfast0,hotplug_poll=50,dev(net_af_packet7,iface=nosuchif0)", options=["--forward-mode=io"]) as testpmd:
            self.assertIn("Link status: down", testpmd.ask("show port info 0"))
            testpmd.ask("start")
            time.sleep(0.3)
            testpmd.ask("stop")
            self.assertEqual(testpmd.packets(), 0)
            self.assertEqual(testpmd.quit(), 0)

    def test_killed_by_a_signal_it_ends_cleanly(self):
        with Testpmd(f"net_holdfast0,dev(net_mayfly0,{GENERATE})", options=["--forward-mode=io"]) as testpmd:
            testpmd.ask("start")
            testpmd.process.send_signal(signal.SIGTERM)
            testpmd.process.stdin.close()
            status = testpmd.process.wait(PATIENCE)
            self.assertIn(status, (0, -signal.SIGTERM))  # testpmd closes its ports, then dies of the signal


if __name__ == "__main__":
    unittest.main()
