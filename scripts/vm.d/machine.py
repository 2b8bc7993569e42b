# SPDX-License-Identifier: BSD-3-Clause
"""One qemu: its process, its monitor, and the guest behind three serial ports."""

import json
import os
import re
import select
import socket
import subprocess
import threading
import time

from kit import VmError

PATIENCE = 60.0  # seconds for one answer of a guest that is emulated on a busy machine: bounds a hang, measures nothing


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Lines:
    """A unix stream, read line by line."""

    def __init__(self, path, alive):
        self.socket = socket.socket(socket.AF_UNIX)
        self.rest = b""
        until = now() + PATIENCE
        while True:
            try:
                self.socket.connect(path)
                return
            except OSError:
                if now() > until or not alive():
                    raise VmError("nothing listens at %s" % path) from None
                time.sleep(0.02)

    def read(self, patience):
        until = now() + patience
        while b"\n" not in self.rest:
            left = until - now()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise VmError("no line within %.0f s; %r came" % (patience, self.rest[-200:]))
            more = self.socket.recv(65536)
            if not more:
                raise VmError("it was closed; %r came last" % self.rest[-200:])
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def write(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def close(self):
        self.socket.close()


class Monitor(Lines):
    """qemu's monitor (QMP). Events that come between answers are kept."""

    def __init__(self, path, alive):
        super().__init__(path, alive)
        self.events = []  # (time, event)
        self.read(PATIENCE)  # the greeting
        self.ask("qmp_capabilities")

    def take(self, patience):
        """The next answer, or None if an event came."""
        message = json.loads(self.read(patience))
        if "event" not in message:
            return message
        self.events.append((now(), message))
        return None

    def ask(self, command, **arguments):
        """Carries out a command. In the names of arguments _ stands for -."""
        return self.order(command, {key.replace("_", "-"): value for key, value in arguments.items()})

    def order(self, command, arguments):
        """The same with the names as they are."""
        self.write(json.dumps({"execute": command, "arguments": arguments}))
        while (answer := self.take(PATIENCE)) is None:
            pass
        if "error" in answer:
            raise VmError("%s: %s" % (command, answer["error"]["desc"]))
        return answer["return"]

    def wait_for(self, name, since, patience, **data):
        """When the event came; None if it did not."""
        until = now() + patience
        seen = 0
        while True:
            for at, event in self.events[seen:]:
                wanted = event["event"] == name and data.items() <= event.get("data", {}).items()
                if wanted and at >= since:
                    return at
            seen = len(self.events)
            left = until - now()
            if left <= 0:
                return None
            try:
                self.take(left)
            except VmError:
                if now() < until:
                    raise


class Terminal(Lines):
    """testpmd's terminal. Keeps each line with the time when it came."""

    def __init__(self, path, alive, log_path):
        super().__init__(path, alive)
        self.lines = []  # (time, text)
        self.open_line = ""  # what came after the last line's end: the prompt
        self.changed = threading.Condition()
        self.log_path = log_path
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        rest = b""
        with open(self.log_path, "w", encoding="utf-8") as log:
            while True:
                try:
                    more = self.socket.recv(65536)
                except OSError:
                    return
                if not more:
                    return
                at = now()
                *lines, rest = (rest + more).split(b"\n")
                with self.changed:
                    for line in lines:
                        text = line.decode(errors="replace").rstrip("\r")
                        self.lines.append((at, text))
                        log.write("%.4f %s\n" % (at, text))
                    log.flush()
                    self.open_line = rest.decode(errors="replace")
                    self.changed.notify_all()

    def mark(self):
        """Where to look from, for what comes after this moment."""
        with self.changed:
            return len(self.lines)

    def since(self, mark):
        with self.changed:
            return list(self.lines[mark:])

    def wait_for(self, pattern, mark=0, patience=PATIENCE):
        """The time and the match of the first such line; VmError if none comes."""
        until = now() + patience
        with self.changed:
            while True:
                for at, text in self.lines[mark:] + [(now(), self.open_line)]:
                    if match := re.search(pattern, text):
                        return at, match
                if now() >= until:
                    last = "\n".join(text for _, text in self.lines[-30:])
                    raise VmError("no line %r within %.0f s. The last ones:\n%s" % (pattern, patience, last))
                self.changed.wait(min(0.5, max(0.01, until - now())))


class Machine:
    """A guest. Ends with the block that made it."""

    def __init__(self, name, folder, kit, image, devices, words="", memory=512, incoming=None):
        self.name = name
        self.folder = folder
        command, environment = kit.qemu()
        # Always emulated: /dev/kvm may be there and not work.
        command += ["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", "2", "-m", str(memory)]
        command += ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
        command += ["-kernel", kit.kernel(), "-initrd", image]
        # The guest's clock is emulated well enough; watching it costs time, and calls it bad when this machine is busy.
        command += ["-append", "console=ttyS0 quiet panic=-1 tsc=reliable " + words]
        command += ["-serial", "file:" + self.path("console.log")]
        for port in ("shell", "testpmd"):
            command += ["-serial", "unix:%s,server=on,wait=off" % self.path(port)]
        command += ["-qmp", "unix:%s,server=on,wait=off" % self.path("monitor")]
        command += [*devices, *(("-incoming", incoming) if incoming else ())]
        for port in ("shell", "testpmd", "monitor"):
            if os.path.exists(self.path(port)):
                os.unlink(self.path(port))
        with open(self.path("qemu.log"), "wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.shell = self.testpmd = self.monitor = None
        try:
            self.monitor = Monitor(self.path("monitor"), self.runs)
            self.shell = Lines(self.path("shell"), self.runs)
            self.testpmd = Terminal(self.path("testpmd"), self.runs, self.path("testpmd.log"))
        except VmError as error:
            self.end()
            with open(self.path("qemu.log"), encoding="utf-8", errors="replace") as log:
                raise VmError("qemu did not start (%s):\n%s" % (error, log.read())) from None

    def path(self, name):
        return os.path.join(self.folder, "%s.%s" % (self.name, name))

    def runs(self):
        return self.process.poll() is None

    def wait_until_up(self, patience=180.0):
        """Returns when the guest takes commands. The time includes the emulated boot of a kernel."""
        until = now() + patience
        while not self.shell.read(max(1.0, until - now())).startswith("@ "):
            pass

    def run(self, command, patience=PATIENCE):
        """Carries out a shell command in the guest: (status, output)."""
        self.shell.write(command)
        output = []
        while not (line := self.shell.read(patience)).startswith("@ "):
            output.append(line)
        return int(line.split()[1]), "\n".join(output)

    def do(self, command, patience=PATIENCE):
        status, output = self.run(command, patience)
        if status != 0:
            raise VmError("in the guest, %r ended with %d:\n%s" % (command, status, output))
        return output

    def end(self):
        for channel in (self.monitor, self.shell, self.testpmd):
            if channel is not None:
                channel.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
