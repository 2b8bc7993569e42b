# SPDX-License-Identifier: BSD-3-Clause
"""scripts/demo --measure: how long deletions and re-creations of the preferred interface take, over many real ones."""

import bisect
import math
import os
import random
import socket
import statistics
import struct
import threading
import time

import report
from lab import LabError
from processes import describe_exit, now
from scenario import PREFERRED, Died
from stand import Stand, built
from veth_stage import VethStage

# The poll for absent sub-devices is at its default: with events it must not matter, without them it is what users have.
POLL = 2.0
PATIENCE = 10.0
STEADY = 0.3
DEAF = ("no netlink socket here", "no device events here")
TARGETS = {"switch": 5.0, "return": 50.0}
RTM_NEWLINK, RTMGRP_LINK, IFF_UP, IFLA_IFNAME = 16, 1, 1, 3


class LinkWatch:
    """When the kernel said of an interface that it is there and up. Its own thread, so that nothing delays it."""

    def __init__(self, netns, interface):
        self.interface = interface
        self.changed = threading.Condition()
        self.ups = []  # times
        self.known = set()  # indexes of those that were up
        self.socket = None
        self.ending = False
        opener = threading.Thread(target=self._open, args=(netns,))
        opener.start()
        opener.join()
        if self.socket is None:
            raise LabError("no netlink socket in the namespace %s" % netns)
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _open(self, netns):
        # A socket stays in the namespace in which it was made; only this short-lived thread goes there.
        with open("/run/netns/" + netns, encoding="ascii") as place:
            os.setns(place.fileno(), os.CLONE_NEWNET)
        opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        opened.bind((0, RTMGRP_LINK))
        opened.settimeout(0.2)
        self.socket = opened

    def _listen(self):
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # of this thread
        except OSError:
            pass  # then the moment is late by what the machine's load makes it
        while not self.ending:
            try:
                message = self.socket.recv(65536)
            except TimeoutError:
                continue
            at = now()
            for index, name, flags in links(message):
                if name == self.interface and flags & IFF_UP and index not in self.known:
                    with self.changed:
                        self.known.add(index)
                        self.ups.append(at)
                        self.changed.notify_all()

    def wait_for_up(self, after, patience=5.0):
        end = now() + patience
        with self.changed:
            while not self.ups or self.ups[-1] < after:
                if now() >= end:
                    return None
                self.changed.wait(0.1)
            return self.ups[-1]

    def close(self):
        self.ending = True
        self.thread.join()
        self.socket.close()


def links(message):
    """The (index, name, flags) of each RTM_NEWLINK in a datagram of the kernel's."""
    at = 0
    while at + 16 <= len(message):
        size, kind = struct.unpack_from("=IH", message, at)
        if size < 16:
            return
        if kind == RTM_NEWLINK and size >= 32:
            index, flags = struct.unpack_from("=iI", message, at + 20)
            attribute, end = at + 32, min(at + size, len(message))
            while attribute + 4 <= end:
                length, what = struct.unpack_from("=HH", message, attribute)
                if length < 4:
                    break
                if what == IFLA_IFNAME:
                    yield index, message[attribute + 4 : attribute + length].rstrip(b"\0").decode(), flags
                attribute += (length + 3) & ~3
        at += (size + 3) & ~3


def percentile(values, share):
    """The smallest value that so many of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def figures(frames, preferred, rounds):
    """What one can read from the frames, (arrived, sequence number, sink): adds switch, return and ordered to `rounds`.

    switch: last frame through the interface that is deleted -> first one through another. It has the kernel's own work
    in it, which stops the traffic some time before it tells anybody: an upper bound.
    return: the interface is up -> first frame out of it. ordered: the same from before the command that makes it."""
    came = [t for t, _, sink in frames if sink == preferred]
    other = [t for t, _, sink in frames if sink != preferred]
    for rnd in rounds:
        rnd.update({"switch": None, "return": None, "ordered": None})
        last = bisect.bisect_left(came, rnd["add"]) - 1
        if last >= 0:
            first = bisect.bisect_right(other, came[last])
            if first < len(other) and other[first] >= rnd["delete"] and other[first] < rnd["end"]:
                rnd["switch"] = (other[first] - came[last]) * 1000
        back = bisect.bisect_left(came, rnd["add"])
        if back < len(came) and came[back] < rnd["end"] and rnd["up"] is not None:
            rnd["return"] = (came[back] - rnd["up"]) * 1000
            rnd["ordered"] = (came[back] - rnd["add"]) * 1000


class Measurement(Stand):
    """One run of N rounds."""

    def __init__(self, options, deaf):
        name = "measure-" + ("poll" if deaf else "events")
        super().__init__(options, VethStage(options, 2), "net_holdfast0", name)
        self.deaf = deaf
        self.links = None

    def take_down(self):
        if self.links is not None:
            self.links.close()
        super().take_down()

    def run(self):
        """Returns (rounds, problems)."""
        wrapper = ["env", "LD_PRELOAD=" + built(self.options, "tests", "libholdfast_deaf.so")] if self.deaf else []
        self.build_up((), PATIENCE, wrapper, ["--log-level=pmd.net.holdfast:info"], answers=False)
        self.links = LinkWatch(self.stage.lab.mid, self.stage.subs[PREFERRED].interface)
        said = [words for words in DEAF if words in self.testpmd.log()]
        if len(said) != (len(DEAF) if self.deaf else 0):
            raise LabError("testpmd %s, see %s" % ("is not deaf" if self.deaf else "is deaf", self.testpmd.log_path))
        rounds, problems = [], []
        chance = random.Random(4)  # the same pauses in both runs
        try:
            self.see(rounds, chance)
        except Died as died:
            problems.append("testpmd %s (see %s)" % (died, self.testpmd.log_path))
        end = self.traffic.finish()
        if not problems and (code := self.testpmd.quit()) != 0:
            problems.append("testpmd did not end cleanly: it %s" % describe_exit(code))
        if end["dropped"]:
            problems.append("the receiver itself was too slow for %d frames" % end["dropped"])
        figures(self.stage.figures(self.traffic).frames, self.stage.subs[PREFERRED].sink, rounds)
        for number, rnd in enumerate(rounds, 1):
            for what in ("switch", "return"):
                if rnd[what] is None:
                    problems.append("round %d: no %s seen" % (number, what))
        return rounds, problems

    def see(self, rounds, chance):
        preferred = self.stage.subs[PREFERRED]
        self.carried(0, lambda sink: sink == preferred.sink)
        for number in range(1, self.options.measure + 1):
            time.sleep(STEADY + chance.uniform(0, 0.1))
            rnd = {"delete": now()}
            self.stage.remove(preferred)
            self.carried(rnd["delete"], lambda sink: sink != preferred.sink)
            # The polls begin with the loss: the re-creation has to come at any time between two of them.
            time.sleep(STEADY + chance.uniform(0, POLL))
            rnd["add"] = now()
            self.stage.add(preferred)
            rnd["up"] = self.links.wait_for_up(rnd["add"])
            if not self.carried(rnd["add"], lambda sink: sink == preferred.sink):
                rnd["info"] = self.scenario.info()  # what Holdfast says of it
            time.sleep(STEADY)
            rnd["end"] = now()
            rounds.append(rnd)
            if number % 10 == 0:
                print("%8.3f s  %d rounds" % (now() - self.scenario.start, number), flush=True)

    def carried(self, after, accept):
        """Waits until such frames arrive. What did not come is seen in the figures."""
        via = self.traffic.wait_for_via(after, accept, PATIENCE, lambda: not self.testpmd.alive())
        self.scenario.check_alive()
        return via is not None


ROWS = (
    ("switch", "deleted -> traffic on the backup (upper bound)"),
    ("return", "re-created and up -> traffic on it again"),
    ("ordered", "the same from the ip command's start (upper bound)"),
)


def measure(options):
    """Both runs and the table; returns the exit status."""
    rows, record, problems, met = [], {"rate": options.rate}, [], []
    for name, deaf in (("events", False), ("poll only", True)):
        print("\n%s: %d deletions and re-creations, %d frames per second" % (name, options.measure, options.rate))
        with Measurement(options, deaf) as measurement:
            rounds, wrong = measurement.run()
        problems += ["%s: %s" % (name, problem) for problem in wrong]
        record[name] = {"rounds": rounds}
        for what, words in ROWS:
            values = [rnd[what] for rnd in rounds if rnd[what] is not None]
            if not values:
                continue
            shown = (statistics.median(values), percentile(values, 0.9), max(values))
            record[name][what] = dict(zip(("median", "p90", "worst"), shown))
            target = TARGETS.get(what) if not deaf else None
            if target is not None:
                verdict = "met" if shown[0] <= target else "MISSED"
                met.append("%s: median %.1f ms, target %.0f ms: %s" % (words, shown[0], target, verdict))
            rows.append([name, words, len(values)] + ["%.1f" % value for value in shown])
    print("\n" + report.table(rows, ["heard of by", "ms", "seen", "median", "90th percentile", "worst"]))
    print("\nTargets, with events:\n" + "\n".join("  " + line for line in met))
    record["problems"] = problems
    path = os.path.join(options.out, "measure.json")
    report.write_json(path, record)
    print("figures as JSON: %s" % path)
    for problem in problems:
        print("  - " + problem)
    print("\nOK: every round had its switch and its return." if not problems else "\nNOT OK")
    return 0 if not problems else 1
