# SPDX-License-Identifier: BSD-3-Clause
"""The two processes of the demo: testpmd with its telemetry socket, and the traffic tool."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time


def now():
    """Seconds of CLOCK_MONOTONIC: the clock of the traffic tool as well."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def describe_exit(code):
    if code is None:
        return "alive"
    if code < 0:
        return "killed by %s" % signal.Signals(-code).name
    return "ended with status %d" % code


class Child:
    """A process that ends when its stdin closes: so none of them outlives the demo, even one that is killed."""

    def __init__(self, command, log_path, stdout=None):
        self.log_path = log_path
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=stdout or log, stderr=log, start_new_session=True
            )

    def exit_code(self):
        return self.process.poll()

    def alive(self):
        return self.process.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def write(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; alive() tells

    def close(self, patience):
        """Closes stdin, waits, then insists. Returns the exit code."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self.process.send_signal(number)
            try:
                return self.process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
        return self.process.wait()


class Testpmd(Child):
    """Debian's dpdk-testpmd at its prompt, forwarding."""

    def __init__(self, prefix, vdevs, out_dir, name, modules=(), inside=(), forward="io", eal=(), app=()):
        self.prefix = prefix
        command = list(inside) + [
            "dpdk-testpmd",
            "-l",
            "0,1",
            "--no-huge",
            "-m",
            "256",
            "--no-pci",
            "--iova-mode=va",
            "--file-prefix=" + prefix,
            *eal,
        ]
        for module in modules:
            command += ["-d", module]
        for vdev in vdevs:
            command += ["--vdev", vdev]
        command += ["--", "-i", "--auto-start", "--forward-mode=" + forward, "--nb-cores=1", "--total-num-mbufs=8192"]
        command += app
        self.command = command
        super().__init__(command, os.path.join(out_dir, name + ".log"))

    def runtime_dir(self):
        return os.path.join(os.environ.get("RUNTIME_DIRECTORY", "/var/run"), "dpdk", self.prefix)

    def close(self, patience):
        code = super().close(patience)
        shutil.rmtree(self.runtime_dir(), ignore_errors=True)  # EAL leaves it behind
        return code

    def wait_for_prompt(self, patience):
        end = now() + patience
        while now() < end and self.alive():
            if "testpmd>" in self.log():
                return True
            time.sleep(0.05)
        return False

    def telemetry(self, command, patience=5.0):
        """Returns the answer to one telemetry command; None when there is none."""
        path = os.path.join(self.runtime_dir(), "dpdk_telemetry.v2")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(patience)
                s.connect(path)
                hello = json.loads(s.recv(4096))
                s.send(command.encode())
                answer = json.loads(s.recv(hello["max_output_len"]))
            return answer.get(command.split(",")[0])
        except (OSError, ValueError, KeyError):
            return None

    def quit(self):
        """Ends testpmd as its operator would; returns the exit code."""
        self.write("quit")
        return self.close(8.0)


class Traffic(Child):
    """The sender and the receivers."""

    def __init__(self, tool, source, sinks, rate, out_dir, name, answers=True, flood=False):
        self.packet_log = os.path.join(out_dir, name + ".packets")
        command = [tool, "--source", source, "--log", self.packet_log, "--rate", str(rate)]
        for sink in sinks:
            command += ["--sink", sink]
        if not answers:
            command.append("--no-answers")
        if flood:
            command.append("--flood")
        self.start(command, os.path.join(out_dir, name + ".log"))

    def start(self, command, log_path):
        """Starts the tool, or one that speaks as it does."""
        self.changed = threading.Condition()
        self.counts = {"sent": 0, "answers": 0, "received": {}}
        self.vias = []  # (time, interface): the way that frames take has changed
        self.last = None
        super().__init__(command, log_path, stdout=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            with self.changed:
                if event["event"] in ("counts", "end"):
                    self.counts = event
                    self.last = event if event["event"] == "end" else None
                elif event["event"] == "via":
                    self.vias.append((event["t"] / 1e9, event["if"]))
                self.changed.notify_all()

    def wait_for_via(self, after, accept, patience, give_up=lambda: False):
        """Waits until frames begin to arrive, after `after`, at an interface that `accept`s: (time, interface)."""
        end = now() + patience
        with self.changed:
            while True:
                for t, interface in self.vias:
                    if t >= after and accept(interface):
                        return t, interface
                if now() >= end or give_up():
                    return None
                self.changed.wait(0.02)

    def received(self):
        with self.changed:
            return dict(self.counts["received"])

    def close(self, patience):
        code = super().close(patience)
        self.reader.join(5.0)
        self.process.stdout.close()
        return code

    def finish(self):
        """Ends the tool, which then writes its log; returns the final counts."""
        code = self.close(20.0)
        if code != 0 or self.last is None:
            raise RuntimeError("the traffic tool %s; see %s" % (describe_exit(code), self.log_path))
        return self.last
