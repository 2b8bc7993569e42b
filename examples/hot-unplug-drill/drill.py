#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a DPDK application, as it is, on a port whose NIC is pulled out, put back, cut off and fails. No hardware.

drill.py [--modules DIR] [--seconds S] [--script SCRIPT] APPLICATION [ARGUMENT ...]

The application gets its EAL arguments from here, before its own ones: give those as usual, behind "--". Its port 0 is
net_holdfast0, over two simulated NICs that make packets. What happens to the first one is in SCRIPT, see net_mayfly.
Exits 0 if the application lived, its port got packets all the time, and what was to happen was seen to happen.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

SCRIPT = "unplug@2s;plug@3s;linkdown@5s;linkup@6s;recover@7s"
SECONDS = 9.0
START = 20.0  # within this time the application has to have its first packet
SILENCE = 1.0  # longer without a packet is an outage: a busy machine alone can hold an application up for a while


class Telemetry:
    def __init__(self, prefix):
        self.path = os.path.join(os.environ.get("RUNTIME_DIRECTORY", "/var/run"), "dpdk", prefix, "dpdk_telemetry.v2")

    def ask(self, command):
        """The answer; None if there is none."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(2.0)
                s.connect(self.path)
                most = json.loads(s.recv(4096))["max_output_len"]
                s.send(command.encode())
                return json.loads(s.recv(most)).get(command.split(",")[0])
        except (OSError, ValueError):
            return None


def watch(application, telemetry, seconds):
    """Prints what changes; returns (longest silence or None, the last answer). The time begins with the first packet."""
    begin = time.monotonic()
    last_packet, packets, longest, said, info = None, -1, 0.0, None, None
    while application.poll() is None:
        now = time.monotonic()
        if now > begin + (seconds if last_packet is not None else START):
            break
        stats, told = telemetry.ask("/ethdev/stats,0"), telemetry.ask("/holdfast/info,0")
        if stats and stats["ipackets"] > 0:
            begin = now if last_packet is None else begin
            if stats["ipackets"] != packets:
                packets, last_packet = stats["ipackets"], now
            longest = max(longest, now - last_packet)
        if told:
            info = told
            state = ", ".join("%s %s%s" % (s["name"], s["state"], " (link %s)" % s["link"] if s["link"] else "")
                              for s in told["subs"].values())
            line = "active: %s; %s" % (told["active"], state)
            if line != said:
                print("%6.1f s  %s; packets: %s" % (now - begin, line, max(packets, 0)), flush=True)
                said = line
        time.sleep(0.05)
    return (longest if last_packet is not None else None), info


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", metavar="DIR", help="where the drivers are, if they are not installed")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--script", default=SCRIPT)
    parser.add_argument("application")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    # argparse would take the "--" for its own.
    words, own = sys.argv[1:], []
    if "--" in words:
        words, own = words[: words.index("--")], words[words.index("--") :]
    options = parser.parse_args(words)
    prefix = "drill-%d" % os.getpid()
    command = [options.application, "--no-pci", "--no-huge", "-m", "256", "--file-prefix=" + prefix]
    for name in ("holdfast", "mayfly") if options.modules else ():
        command += ["-d", os.path.join(options.modules, "librte_net_%s.so" % name)]
    nic = "dev(net_mayfly%d,mode=generate,rate=2000%s)"
    subs = nic % (0, ",script=" + options.script) + "," + nic % (1, "")
    command += ["--vdev", "net_holdfast0,hotplug_poll=100," + subs, *options.arguments, *own]
    print(" ".join("'%s'" % word if "(" in word else word for word in command), flush=True)
    with tempfile.TemporaryFile() as said:
        # Its input stays open: many applications end with it.
        application = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said)
        silence, info = watch(application, Telemetry(prefix), options.seconds)
        problems = []
        if application.poll() is not None:
            code = application.returncode
            killed = code < 0
            problems.append("it was killed by " + signal.Signals(-code).name if killed else "it ended with %d" % code)
        else:
            application.stdin.close()
            application.terminate()
            try:
                application.wait(10)
            except subprocess.TimeoutExpired:
                application.kill()
                application.wait()
        if silence is None:
            problems.append("its port never got a packet")
        elif silence > SILENCE:
            problems.append("its port got no packet for %.1f s" % silence)
        first = (info or {}).get("subs", {}).get("0", {})
        if silence is not None and (first.get("removals", 0) < 1 or first.get("state") != "started"):
            problems.append("the first NIC was not seen to go and to come back: %s" % first)
        if problems:
            said.seek(0)
            print(said.read().decode(errors="replace")[-3000:])
    print("the application did not pass: " + "; ".join(problems) if problems else
          "passed; the longest time without a packet: %.2f s" % silence)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
