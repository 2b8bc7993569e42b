# SPDX-License-Identifier: BSD-3-Clause
"""What stands while something is shown or measured: the stage, testpmd on it and the traffic; and its taking down."""

import os
import shutil
import signal
import tempfile
import threading

from lab import LabError
from processes import Testpmd, describe_exit
from scenario import Scenario

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def world_writable(path):
    """Is one of the folders above a file open to everybody? EAL loads nothing from there."""
    folder = os.path.dirname(os.path.realpath(path))
    while not os.stat(folder).st_mode & 0o002:
        if folder == "/":
            return False
        folder = os.path.dirname(folder)
    return True


def built(options, *name):
    path = os.path.join(options.build, *name)
    if not os.path.exists(path):
        raise LabError("%s is missing: scripts/build makes it" % path)
    return path


def find_port(testpmd, patience=5.0):
    """The number of Holdfast's port, as its telemetry lists it: numbers, names, or objects with both."""
    listed = testpmd.telemetry("/holdfast/list", patience)
    if isinstance(listed, dict):
        listed = listed.get("ports", list(listed))
    for item in listed or []:
        if isinstance(item, dict):
            item = item.get("port_id", item.get("port"))
        if isinstance(item, int) or (isinstance(item, str) and item.isdigit()):
            return int(item)
    return None


def interrupted(number, _frame):
    raise KeyboardInterrupt(number)


class Stand:
    """Everything that has to be taken down again."""

    def __init__(self, options, stage, driver, name):
        self.options = options
        self.driver = driver
        self.stage = stage
        self.name = name
        self.copies = None
        self.testpmd = None
        self.traffic = None
        self.scenario = None

    def build_up(self, devargs, patience, wrapper=(), eal=(), answers=True):
        """Starts testpmd, by `wrapper` where there is one, and the traffic; returns when frames come through."""
        options, stage = self.options, self.stage
        holdfast = self.driver.startswith("net_holdfast")
        stage.create()
        vdevs = [",".join([self.driver] + [sub.source for sub in stage.subs] + list(devargs)), stage.second_port]
        modules = ["librte_net_%s.so" % name for name in stage.MODULES + (("holdfast",) if holdfast else ())]
        modules = [self.loadable(built(options, name)) for name in modules]
        print("            dpdk-testpmd --vdev '%s' --vdev '%s'" % tuple(vdevs), flush=True)
        inside = stage.inside + list(wrapper)
        self.testpmd = Testpmd(stage.prefix, vdevs, options.out, self.name + ".testpmd", modules, inside, eal=eal)
        if not self.testpmd.wait_for_prompt(20.0):
            state = describe_exit(self.testpmd.exit_code())
            raise LabError("testpmd did not come up (%s):\n%s" % (state, self.testpmd.log()[-2000:]))
        port = find_port(self.testpmd) if holdfast else None
        if holdfast and port is None:
            raise LabError("/holdfast/list names no port")
        self.traffic = stage.start_traffic(self.testpmd, self.name, answers)
        self.scenario = Scenario(stage, self.testpmd, self.traffic, options.rate, port, options.pace, patience)
        if self.traffic.wait_for_via(0, lambda sink: True, 10.0, lambda: not self.testpmd.alive()) is None:
            raise LabError(
                "no frame came through within 10 s; see %s, %s" % (self.testpmd.log_path, self.traffic.log_path)
            )

    def loadable(self, path):
        """The module itself, or a copy where EAL accepts to load it from (a checkout below /tmp)."""
        if not world_writable(path):
            return path
        if self.copies is None:
            self.copies = tempfile.TemporaryDirectory(dir="/run", prefix="holdfast-demo-")
        return shutil.copy(path, self.copies.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A second interrupt must not leave namespaces or processes behind.
        main = threading.current_thread() is threading.main_thread()  # others are not interrupted
        handlers = [(number, signal.signal(number, signal.SIG_IGN)) for number in SIGNALS if main]
        self.take_down()
        for number, handler in handlers:
            signal.signal(number, handler)

    def take_down(self):
        for child, patience in ((self.traffic, 5.0), (self.testpmd, 5.0)):
            if child is not None:
                child.close(patience)
        self.stage.destroy()
        if self.copies is not None:
            self.copies.cleanup()
