#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Secondary processes beside a testpmd that forwards over net_holdfast: DPDK's own tools and one of ours.

The tools find the drivers in DPDK's folder, as installed ones do (dpdk-dumpcap cannot be told another): here a copy of it,
in this run's mount namespace. DPDK's memory is in hugepages, which are reserved for this run.
"""

import contextlib
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from testpmd import BUILD, PATIENCE, Testpmd

sys.path.insert(0, os.path.join(os.environ["HOLDFAST_SOURCE_DIR"], "tests", "support"))
import hugepages  # noqa: E402

PAGES = 240
MEMORY = 320  # MB of them for the primary; all of it at once, so that it never has to ask secondaries for more
GENERATE = "mode=generate,size=64"
VDEV = f"net_holdfast0,hotplug_poll=50,dev(net_mayfly0,{GENERATE}),dev(net_null0),dev(net_mayfly1,{GENERATE})"


def install_drivers():
    """Puts our drivers into DPDK's folder, for this run's mount namespace only."""
    libraries = subprocess.run(["pkg-config", "--variable=libdir", "libdpdk"], capture_output=True, text=True, check=True)
    (drivers,) = pathlib.Path(libraries.stdout.strip()).glob("dpdk/pmds-*")
    copy = pathlib.Path("/run/holdfast-pmds")
    shutil.copytree(drivers, copy, symlinks=True)
    for name in ("holdfast", "mayfly"):
        shutil.copy(BUILD / f"librte_net_{name}.so", copy)
    subprocess.run(["mount", "--bind", copy, drivers], check=True)


class Primary(Testpmd):
    """The testpmd, with memory that others can share."""

    def environment(self):
        return ["--huge-dir", str(HUGE), "-m", str(MEMORY)]

    @property
    def prefix(self):
        return self.modules.name

    @property
    def runtime(self):
        return pathlib.Path("/var/run/dpdk") / self.prefix

    def __exit__(self, *failure):
        if failure[0] is not None:
            print(f"testpmd: {self.process.poll()}\n{self.output[-3000:]}", file=sys.stderr)
        super().__exit__(*failure)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def telemetry(self, command):
        """One command to the primary's telemetry."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.runtime / "dpdk_telemetry.v2"))
            connection.recv(4096)
            connection.send(command.encode())
            return json.loads(connection.recv(65536))[command.split(",")[0]]

    def counters(self):
        stats = self.telemetry("/ethdev/stats,0")
        return stats["ipackets"], stats["opackets"]

    def grows(self, what):
        """Traffic flows: both counters go up, and neither ever down."""
        before = last = self.counters()

        def both():
            nonlocal last
            now = self.counters()
            if now[0] < last[0] or now[1] < last[1]:
                raise AssertionError(f"{what}: counters went back, {last} -> {now}")
            last = now
            return now[0] > before[0] and now[1] > before[1]

        self.eventually(both, f"traffic: {what}")

    def sub(self, index):
        return self.telemetry("/holdfast/info,0")["subs"][str(index)]

    def replug(self, index):
        """One sub-device out and in again."""
        plugins = self.sub(index)["plugins"]
        self.telemetry(f"/holdfast/remove,0,{index}")
        self.eventually(lambda: self.sub(index)["state"] == "absent", f"removal of {index}")
        self.telemetry(f"/holdfast/plug,0,{index}")
        self.eventually(lambda: self.sub(index)["state"] == "started" and self.sub(index)["plugins"] == plugins + 1,
                        f"return of {index}")  # fmt: skip

    def tool(self, name, *arguments, eal=(), **options):
        """A secondary process. dpdk-dumpcap gives EAL its arguments itself."""
        command = [name, "--file-prefix", self.prefix]
        command += arguments if name == "dpdk-dumpcap" else ["--no-pci", *eal, "--", *arguments]
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        return subprocess.Popen(command, text=True, **options)

    def ask_tool(self, name, *arguments):
        """Runs one to its end; what it printed."""
        with self.tool(name, *arguments) as tool:
            output, _ = tool.communicate(timeout=PATIENCE)
        if tool.returncode != 0:
            raise AssertionError(f"{name} ended with {tool.returncode}:\n{output}")
        return output

    def onlook(self, case, environment=()):
        command = [str(BUILD / "tests" / "holdfast_onlooker"), f"--gtest_filter={case}", "--gtest_brief=1"]
        command += ["--no-pci", "--proc-type=secondary", "--file-prefix", self.prefix]
        return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, **dict(environment)})  # fmt: skip

    def onlooker(self, case, environment=()):
        """Runs tests in a secondary of ours."""
        with self.onlook(case, environment) as process:
            output, _ = process.communicate(timeout=2 * PATIENCE)
        if process.returncode != 0:
            raise AssertionError(f"{case} ended with {process.returncode}:\n{output}")
        return output


class SharedLocks:
    """EAL's own locks in the memory that processes share, which are not robust.

    A tool that is killed while EAL starts may hold EAL's memory lock: then the primary can never again take memory or end,
    whatever drivers it has. So that the rounds below say something about our driver at every moment of a tool's life, a lock
    whose owner was killed is opened here, as a robust lock would open itself, and counted.
    """

    MAGIC = 19820526
    NAMES = ("memzones", "tail queues", "mempools", "timer", "ethdev", "memory")  # six words behind a header of four

    def __init__(self, primary):
        self.file = open(primary.runtime / "config", "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4096)
        magic = struct.unpack_from("=I", self.map)[0]
        assert magic == self.MAGIC, f"not EAL's shared configuration: {magic}"
        assert not any(self.words()), f"locks are taken while nobody is at work: {self.words()}"

    def words(self):
        return struct.unpack_from("=6i", self.map, 16)

    def open_orphaned(self):
        """With no secondary alive: opens what stays locked. Gives the names."""
        until = time.monotonic() + 0.5
        stuck = set(range(6))
        while stuck and time.monotonic() < until:
            now = self.words()
            stuck = {i for i in stuck if now[i] != 0}
            time.sleep(0.001)
        for i in stuck:
            struct.pack_into("=i", self.map, 16 + 4 * i, 0)
        return [self.NAMES[i] for i in sorted(stuck)]

    def close(self):
        self.map.close()
        self.file.close()


def pcap_packets(path):
    """Packet lengths of a pcapng or pcap file."""
    data = path.read_bytes()
    lengths = []
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        at = 0
        while at + 12 <= len(data):
            kind, length = struct.unpack_from("=II", data, at)
            if kind == 6:  # an enhanced packet block
                lengths.append(struct.unpack_from("=I", data, at + 20)[0])
            at += length
    else:
        at = 24
        while at + 16 <= len(data):
            length = struct.unpack_from("=I", data, at + 8)[0]
            lengths.append(length)
            at += 16 + length
    return lengths


class Secondaries(unittest.TestCase):
    @contextlib.contextmanager
    def primary(self, vdev=VDEV):
        with Primary(vdev, options=["--forward-mode=io"]) as testpmd:
            testpmd.ask("start")
            testpmd.grows("at the start")
            yield testpmd
            testpmd.ask("stop")
            self.assertEqual(testpmd.quit(), 0, testpmd.output[-3000:])

    def test_proc_info_sees_what_the_primary_sees(self):
        with self.primary() as testpmd:
            before = testpmd.counters()
            output = testpmd.ask_tool("dpdk-proc-info", "--show-port", "--stats", "-p", "1")
            after = testpmd.counters()
            self.assertIn("driver net_holdfast device net_holdfast0", output)
            self.assertIn("Link up at 10 Gbps", output)
            mac = testpmd.telemetry("/ethdev/info,0")["mac_addr"]
            self.assertIn(f"mac {mac}".upper(), output.upper())
            self.assertRegex(output, r"mempool mb_pool_0")
            received, sent = (int(n) for n in re.search(r"RX-packets: (\d+)[^T]*TX-packets: (\d+)",
                                                        re.sub(r"RX-nombuf.*", "", output), re.S).groups())  # fmt: skip
            self.assertTrue(before[0] <= received <= after[0], (before, received, after))
            self.assertTrue(before[1] <= sent <= after[1], (before, sent, after))

            before = testpmd.telemetry("/ethdev/xstats,0")
            output = testpmd.ask_tool("dpdk-proc-info", "--xstats", "-p", "1")
            after = testpmd.telemetry("/ethdev/xstats,0")
            seen = {name: int(value) for name, value in re.findall(r"^(\w+): (\d+)$", output, re.M)}
            self.assertEqual(set(seen), set(before))
            for name, value in seen.items():
                self.assertTrue(before[name] <= value <= after[name], (name, before[name], value, after[name]))
            self.assertGreater(seen["sub0_rx_packets"], 0)

    def test_a_secondary_may_look_and_changes_nothing(self):
        with self.primary() as testpmd:
            for case in ("Onlooker.*-*Closes*", "*Closes*", "*SeesTheDevice*"):
                testpmd.onlooker(case)
                testpmd.grows(case)
            testpmd.replug(0)

    def test_the_same_vdev_given_to_both_and_one_that_the_primary_lacks(self):  # F147
        with self.primary() as testpmd:
            for eal in ([f"--vdev={VDEV}"], ["--vdev=net_holdfast0"], []):
                with testpmd.tool("dpdk-proc-info", "--stats", eal=eal) as tool:
                    output, _ = tool.communicate(timeout=PATIENCE)
                self.assertEqual(tool.returncode, 0, output)
                self.assertIn("NIC statistics for port 0", output)
                self.assertNotRegex(output, r"net_holdfast0: cannot")
            with testpmd.tool("dpdk-proc-info", "--stats", eal=["--vdev=net_holdfast9,dev(net_null9)"]) as tool:
                output, _ = tool.communicate(timeout=PATIENCE)
            self.assertIn("net_holdfast9: cannot find the primary process's port", output)
            testpmd.grows("after them")

    def test_a_closed_port_keeps_no_tool_from_starting(self):
        with Primary(VDEV, "net_null9") as testpmd:
            testpmd.ask("port stop 0")
            testpmd.ask("port close 0")
            output = testpmd.ask_tool("dpdk-proc-info", "--stats")
            self.assertNotIn("statistics for port 0", output)
            self.assertEqual(testpmd.quit(), 0)

    def captured(self, testpmd, name, path, *options):
        """dpdk-dumpcap on a port, under traffic; packet lengths.

        The traffic pauses before it ends: it frees its memory right after the primary has dropped the callbacks, also if an
        lcore is still inside one of them. (Seen with net_null alone: 5 of 8 primaries died.)
        """
        with testpmd.tool("dpdk-dumpcap", "-i", name, "-w", str(path), *options) as tool:
            testpmd.eventually(lambda: path.exists() and path.stat().st_size > 20_000, f"packets in {path}")
            testpmd.grows(f"while {name} is captured")
            testpmd.ask("stop")
            tool.send_signal(signal.SIGINT)
            output, _ = tool.communicate(timeout=PATIENCE)
        self.assertEqual(tool.returncode, 0, output)
        self.assertIn(f"Capturing on '{name}'", output)
        testpmd.ask("start")
        testpmd.grows(f"after the capture on {name}")
        return pcap_packets(path)

    def test_capture_on_the_virtual_port_and_on_a_sub_device(self):
        with self.primary() as testpmd:
            for name in ("net_holdfast0", "net_mayfly0", "net_null0"):
                packets = self.captured(testpmd, name, testpmd.modules / f"{name}.pcapng")
                self.assertGreater(len(packets), 100, name)
                # net_mayfly's are as long as it was told; net_null's have no length. The virtual port sees both.
                self.assertLessEqual(set(packets), {64} if name == "net_mayfly0" else {0, 64}, name)
                if name == "net_holdfast0":
                    self.assertIn(64, packets)
            testpmd.replug(0)
            testpmd.grows("after the captures")

    def test_pdump_by_name(self):  # F158
        with self.primary() as testpmd:
            for name in ("net_holdfast0", "net_mayfly0"):
                path = testpmd.modules / f"{name}.pcap"
                pdump = f"device_id={name},queue=*,rx-dev={path},mbuf-size=2176,total-num-mbufs=2047,ring-size=1024"
                with testpmd.tool("dpdk-pdump", "--pdump", pdump) as tool:
                    testpmd.eventually(lambda: path.exists() and path.stat().st_size > 20_000, f"packets in {path}")
                    testpmd.ask("stop")
                    tool.send_signal(signal.SIGINT)
                    output, _ = tool.communicate(timeout=PATIENCE)
                self.assertEqual(tool.returncode, 0, output)
                testpmd.ask("start")
                self.assertIn(64, pcap_packets(path))
                testpmd.grows(f"after the capture on {name}")

    def test_killed_at_any_moment(self):
        seed = int(os.environ.get("HOLDFAST_TEST_SEED", time.time_ns() % 1_000_000))
        print(f"HOLDFAST_TEST_SEED={seed}")
        dice = random.Random(seed)
        orphaned = []
        with self.primary() as testpmd:
            locks = SharedLocks(testpmd)
            self.addCleanup(locks.close)
            with Telemetry(testpmd) as telemetry:
                for round_ in range(20):
                    what, tool, least = self.start_a_tool(testpmd, round_)
                    time.sleep(dice.uniform(0, least))
                    ended = tool.poll()
                    tool.kill()
                    tool.communicate(timeout=PATIENCE)
                    orphans = locks.open_orphaned()
                    orphaned += orphans
                    print(f"round {round_}: {what}, {'had ended: ' + str(ended) if ended is not None else 'killed'}"
                          f"{', EAL lock held: ' + ', '.join(orphans) if orphans else ''}", flush=True)  # fmt: skip
                    testpmd.grows(f"round {round_}, {what}")
                    if round_ % 4 == 3:
                        testpmd.replug(round_ // 4 % 3)
                        testpmd.grows(f"round {round_}, after a replug")
                    if what in ("dpdk-dumpcap", "dpdk-pdump"):
                        testpmd.onlooker("Tool.EndsCaptures", {"HOLDFAST_CAPTURES": "net_holdfast0,net_mayfly0"}.items())
                        self.detach_pdumps(testpmd)
                self.assertEqual(telemetry.failures, [])
                self.assertGreater(telemetry.rounds, 20)
            for index in range(3):
                testpmd.replug(index)
            testpmd.grows("at the end")
            self.assertIn("net_holdfast0", testpmd.ask_tool("dpdk-proc-info", "--show-port"))
            print(f"20 rounds; locks of EAL's that a killed tool held: {orphaned}")

    def start_a_tool(self, testpmd, round_):
        """What it is, its process, and how long its life may be left to it."""
        path = str(testpmd.modules / f"killed{round_}")
        small = "mbuf-size=2176,total-num-mbufs=1023,ring-size=512"
        kinds = (
            ("dpdk-proc-info", ("--stats", "--xstats", "--show-port"), 0.5),
            ("dpdk-dumpcap", ("-i", "net_holdfast0", "-s", "64", "-w", path), 1.5),
            ("dpdk-proc-info", ("--xstats",), 0.5),
            ("dpdk-dumpcap", ("-i", "net_mayfly0", "-s", "64", "-w", path), 1.5),
            ("dpdk-pdump", ("--pdump", f"device_id=net_holdfast0,queue=*,rx-dev={path},{small}"), 2.5),
            ("onlooker", (), 3),
        )
        name, arguments, life = kinds[round_ % len(kinds)]
        tool = testpmd.onlook("Tool.LooksOn") if name == "onlooker" else testpmd.tool(name, *arguments)
        return name, tool, life

    def detach_pdumps(self, testpmd):
        """dpdk-pdump makes its ports in the primary too; one that was killed leaves them there."""
        for port in testpmd.telemetry("/ethdev/list"):
            name = testpmd.telemetry(f"/ethdev/info,{port}")["name"]
            if name.startswith("net_pcap"):
                testpmd.ask(f"port stop {port}")
                testpmd.ask(f"port close {port}")
                testpmd.ask(f"device detach {name}")

    def test_a_secondary_looks_on_while_sub_devices_come_and_go(self):  # F145, F149
        with self.primary() as testpmd:
            with testpmd.onlook("Tool.LooksOn") as tool:
                said = []
                reader = threading.Thread(target=lambda: said.extend(tool.stdout))
                reader.start()
                try:
                    testpmd.eventually(lambda: "looking on\n" in said, "a start")

                    def told():  # it listens from a second after its start
                        testpmd.replug(2)
                        return "told\n" in said or tool.poll() is not None

                    testpmd.eventually(told, "word of a replug")
                    self.assertIsNone(tool.poll())
                    for _ in range(4):
                        for index in range(3):
                            testpmd.replug(index)
                finally:
                    tool.stdin.close()
                    if tool.poll() is None and sys.exc_info()[0] is not None:
                        tool.kill()
                    reader.join(PATIENCE)
                status = tool.wait(PATIENCE)
            self.assertEqual(status, 0, "".join(said))
            print("".join(said).splitlines()[-1])
            testpmd.grows("afterwards")


class Telemetry:
    """Asks the primary for everything, over and over, from a thread (F61, F159)."""

    COMMANDS = ("/ethdev/list", "/ethdev/info,0", "/ethdev/stats,0", "/ethdev/xstats,0", "/ethdev/link_status,0",
                "/ethdev/macs,0", "/ethdev/rx_queue,0", "/ethdev/tx_queue,0", "/ethdev/flow_ctrl,0", "/ethdev/rss_info,0",
                "/holdfast/list", "/holdfast/info,0", "/eal/memzone_list", "/mempool/list")  # fmt: skip

    def __init__(self, primary):
        self.primary = primary
        self.rounds = 0
        self.failures = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.loop)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(PATIENCE)

    def loop(self):
        while not self.over.is_set():
            for command in self.COMMANDS:
                try:
                    self.primary.telemetry(command)
                except (OSError, ValueError, KeyError) as error:
                    self.failures.append(f"{command}: {error!r}")
            self.rounds += 1
            time.sleep(0.01)


if __name__ == "__main__":
    if not hugepages.ready():
        sys.exit(hugepages.run_with_hugepages(PAGES))
    install_drivers()
    HUGE = hugepages.mount(pathlib.Path("/run/holdfast-huge"))
    unittest.main()
