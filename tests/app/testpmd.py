# SPDX-License-Identifier: BSD-3-Clause
"""Debian's own dpdk-testpmd at its prompt, with net_holdfast and net_mayfly loaded as users load them."""

import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time

BUILD = pathlib.Path(os.environ["HOLDFAST_BUILD_DIR"])
PROMPT = "testpmd> "
PATIENCE = 30  # seconds for one answer: bounds a hang, measures nothing


class Testpmd:
    """One testpmd with a prompt. Ends with the block that made it."""

    def __init__(self, *vdevs, options=(), eal=(), cores=("-l", "0,1")):
        self.output = ""
        # EAL loads no driver from below a folder that others may write to (a checkout under /tmp).
        self.modules = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-testpmd-", dir="/run"))
        # Its output line by line: the prompt does not go through the same buffer.
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--no-pci", *cores, "--file-prefix", self.modules.name]
        command += self.environment()
        for vdev in vdevs:
            command += ["--vdev", vdev]
        command += [*eal, "--", "-i", "--no-mlockall", "--total-num-mbufs=8192", *options]
        # The log has a file of its own: a line of it would come in the middle of the prompt, which is written bytewise.
        log = self.modules / "log"
        with log.open("wb") as to:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=to)
        self.log = log.open("rb")

    def environment(self):
        """What EAL is told of its memory and drivers."""
        arguments = ["--no-huge", "-m", "512", "--no-telemetry"]
        for name in ("holdfast", "mayfly"):
            shutil.copy(BUILD / f"librte_net_{name}.so", self.modules)
            arguments += ["-d", str(self.modules / f"librte_net_{name}.so")]
        return arguments

    def __enter__(self):
        self.read_until(PROMPT)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.modules)

    def read_until(self, text):
        """Gives what came up to and with `text`, then what was logged since the last time."""
        got = ""
        until = time.monotonic() + PATIENCE
        while text not in got:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"no {text!r} within {PATIENCE} s:\n{self.output}{got}{self.logged()}")
            chunk = os.read(self.process.stdout.fileno(), 65536).decode(errors="replace")
            if not chunk:
                self.output += got + self.logged()
                raise AssertionError(f"testpmd ended ({self.process.wait(PATIENCE)}):\n{self.output}")
            got += chunk
        got += self.logged()
        self.output += got
        return got

    def logged(self):
        return self.log.read().decode(errors="replace")

    def ask(self, command):
        """One command, and what testpmd printed for it."""
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        return self.read_until(PROMPT)

    def packets(self, port=0, direction="RX"):
        return int(re.search(rf"{direction}-packets: (\d+)", self.ask(f"show port stats {port}"))[1])

    def xstat(self, name, port=0):
        return int(re.search(rf"^{name}: (\d+)", self.ask(f"show port xstats {port}"), re.M)[1])

    def eventually(self, condition, what):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() >= until:
                raise AssertionError(f"not within {PATIENCE} s: {what}\n{self.output[-4000:]}")
            time.sleep(0.05)

    def quit(self):
        self.process.stdin.write(b"quit\n")
        self.process.stdin.flush()
        status = self.process.wait(PATIENCE)
        self.output += self.process.stdout.read().decode(errors="replace") + self.logged()
        return status


GENERATE = "mode=generate,size=64"
