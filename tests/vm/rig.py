# SPDX-License-Identifier: BSD-3-Clause
"""What the tests in a VM share."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("HOLDFAST_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ["HOLDFAST_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts" / "vm.d"))

import paths  # noqa: E402
from bench import BACKUP, FAST, Bench  # noqa: E402, F401

ENOUGH = 300  # frames that show that traffic flows


class OneGuest:
    """The guest of a whole file: booting one takes longer than most of what is tried in it."""

    bench = None

    @classmethod
    def boot(cls, nic):
        cls.bench = Bench(str(BUILD / "vm"), nic)
        cls.bench.__enter__()

    @classmethod
    def end(cls):
        if cls.bench is not None:
            cls.bench.__exit__(None, None, None)


class UnderTraffic(unittest.TestCase):
    """One testpmd in the guest for all tests of a class, which go on where the one before stopped."""

    VDEV = ""
    EAL = ()
    poll = 200

    @classmethod
    def prepare(cls, bench):
        """Binds the devices."""

    @classmethod
    def setUpClass(cls):
        cls.bench = OneGuest.bench
        cls.prepare(cls.bench)
        cls.bench.start_frames()
        try:
            cls.bench.start_testpmd("net_holdfast0,hotplug_poll=%d,%s" % (cls.poll, cls.VDEV), eal=cls.EAL)
        except BaseException:
            cls.bench.stop_frames()
            raise

    @classmethod
    def tearDownClass(cls):
        lived = cls.bench.testpmd_lives()
        ended = cls.bench.quit_testpmd()
        faults = paths.faults(paths.read(cls.bench.stop_frames()[0]))
        if not lived or not ended or faults:
            raise AssertionError("testpmd %s; frames: %s" % (
                "died" if not lived else "ended" if ended else "does not end", faults or "in order"))

    def setUp(self):
        self.mark = self.bench.machine.testpmd.mark()

    def flows(self, link):
        """Frames come back over that link, and testpmd is the one that was started."""
        if not self.bench.frames.more(link, ENOUGH):
            last = "\n".join(text for _, text in self.bench.machine.testpmd.since(self.mark)[-40:])
            self.fail("no %d frames over %s; %s\ntestpmd said:\n%s" % (
                ENOUGH, link, self.bench.ask("/holdfast/info,0") if self.bench.testpmd_lives() else "it is dead", last))

    def no_flood(self, most=30):
        """A log that grows with each attempt or packet would hold hundreds of lines by now."""
        said = [text for _, text in self.bench.machine.testpmd.since(self.mark)]
        self.assertLessEqual(len(said), most, "\n".join(said))

    def has_driver(self, address, driver):
        self.assertTrue(self.bench.eventually(lambda: self.bench.driver_of(address) == driver),
                        "%s has the driver %r, not %r" % (address, self.bench.driver_of(address), driver))
