# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of taking the active sub-device away and bringing it back, under traffic."""

import json
import time
from dataclasses import dataclass, field

from processes import describe_exit, now

PREFERRED = 0


@dataclass(frozen=True)
class Sub:
    """A sub-device: where it is in the devargs, its interface, and where its frames come out."""

    index: int
    interface: str
    sink: str  # the interface at which the receiver sees them
    letter: str
    source: str  # its part of the devargs: dev(...) or udev(...)
    mac: str = None  # None: whatever the kernel makes up


@dataclass
class Round:
    number: int
    how: str
    begin: float
    end: float = 0.0
    removals: list = field(default_factory=list)  # (time, Sub, name of the way)
    returns: list = field(default_factory=list)
    switch_ms: list = field(default_factory=list)  # one for each removal; None: not seen
    return_ms: object = None
    problems: list = field(default_factory=list)
    carried: str = ""


class Died(Exception):
    """testpmd has ended while it should run."""


class Scenario:
    """Runs rounds against a testpmd that already forwards, and keeps a list of what happened when."""

    def __init__(self, stage, testpmd, traffic, rate, port, pace, patience):
        self.stage = stage
        self.testpmd = testpmd
        self.traffic = traffic
        self.subs = stage.subs
        self.rate = rate
        self.port = port  # the number of Holdfast's port; None for a driver without Holdfast's telemetry
        self.pace = pace  # how long traffic is watched in each phase, seconds
        self.patience = patience
        self.start = now()
        self.events = []  # (time, text)
        self.rounds = []

    # --- what an operator sees --------------------------------------------------------------------------------------

    def note(self, text, at=None):
        at = at if at is not None else now()
        self.events.append((at, text))
        print("%8.3f s  %s" % (at - self.start, text), flush=True)

    def by_sink(self, sink):
        return next(sub for sub in self.subs if sub.sink == sink)

    def info(self):
        return self.testpmd.telemetry("/holdfast/info,%d" % self.port)

    def sub_info(self, sub):
        """What Holdfast says of one sub-device, or None."""
        subs = (self.info() or {}).get("subs", {})
        # DPDK's telemetry has no array of objects, so this is an object of objects.
        return next(
            (s for s in (subs.values() if isinstance(subs, dict) else subs) if s.get("index") == sub.index), None
        )

    def check_alive(self):
        if not self.testpmd.alive():
            raise Died(describe_exit(self.testpmd.exit_code()))

    def watch(self, seconds):
        """Lets traffic run; returns the frames received meanwhile by each sub-device."""
        before = self.traffic.received()
        end = now() + seconds
        while now() < end:
            self.check_alive()
            time.sleep(min(0.05, max(0.0, end - now())))
        after = self.traffic.received()
        return {sub.index: after.get(sub.sink, 0) - before.get(sub.sink, 0) for sub in self.subs}

    def expect_carried_by(self, rnd, sub, when):
        got = self.watch(self.pace)
        shown = ", ".join("%s %d" % (s.interface, got[s.index]) for s in self.subs)
        self.note("%s: frames in %.1f s: %s" % (when, self.pace, shown))
        if got[sub.index] < 0.5 * self.rate * self.pace:
            rnd.problems.append(
                "%s, %s carried only %d frames in %.1f s" % (when, sub.interface, got[sub.index], self.pace)
            )

    def expect_active(self, rnd, sub, when):
        if self.port is None:
            return
        end = now() + 2.0
        info = self.info()
        # Frames prove the switch at once; the control side's answer may come a moment later.
        while (info is None or info.get("active") != sub.index) and now() < end:
            self.check_alive()
            time.sleep(0.02)
            info = self.info()
        if info is None:
            rnd.problems.append("%s: no answer to /holdfast/info,%d" % (when, self.port))
        elif info.get("active") != sub.index:
            rnd.problems.append(
                "%s: /holdfast/info names sub-device %s as active, not %d" % (when, info.get("active"), sub.index)
            )

    def own_counters(self, sub):
        """The sub-device's own counters: (those below the driver, those of the driver), None where there are none."""
        return self.stage.counters(sub), self.sub_info(sub) if self.port is not None else None

    # --- the two moves ----------------------------------------------------------------------------------------------

    def command(self, rnd, name, sub):
        answer = self.testpmd.telemetry("/holdfast/%s,%d,%d" % (name, self.port, sub.index))
        if not isinstance(answer, dict) or answer.get("status") != 0:
            rnd.problems.append("/holdfast/%s,%d,%d answered %s" % (name, self.port, sub.index, json.dumps(answer)))

    def remove(self, rnd, sub, way):
        """Takes away the active sub-device; returns the one that carries then, or None."""
        at = now()
        what = "/holdfast/remove,%s,%d" % (self.port, sub.index) if way == "telemetry" else self.stage.remove_words(sub)
        self.note("round %d: %s" % (rnd.number, what), at)
        rnd.removals.append((at, sub, what))
        if way == "telemetry":
            self.command(rnd, "remove", sub)
        else:
            self.stage.remove(sub)
        via = self.traffic.wait_for_via(
            at, lambda sink: sink != sub.sink, self.patience, lambda: not self.testpmd.alive()
        )
        self.check_alive()
        if via is None:
            rnd.switch_ms.append(None)
            rnd.problems.append("no switch within %.0f s after %s" % (self.patience, what))
            self.note("round %d: no switch within %.0f s" % (rnd.number, self.patience))
            return None
        rnd.switch_ms.append((via[0] - at) * 1000)
        new = self.by_sink(via[1])
        self.note(
            "round %d: frames arrive through %s, %.1f ms after the order"
            % (rnd.number, new.interface, rnd.switch_ms[-1]),
            via[0],
        )
        self.expect_carried_by(rnd, new, "after the switch to %s" % new.interface)
        self.expect_active(rnd, new, "after the switch")
        return new

    def bring_back(self, rnd, sub, way):
        """Brings a sub-device back without looking at traffic; returns when."""
        at = now()
        what = "/holdfast/plug,%s,%d" % (self.port, sub.index) if way == "telemetry" else self.stage.add_words(sub)
        self.note("round %d: %s" % (rnd.number, what), at)
        rnd.returns.append((at, sub, what))
        if way == "telemetry":
            self.command(rnd, "plug", sub)
        else:
            self.stage.add(sub)
        return at

    def see_return(self, rnd, sub, at, before):
        via = self.traffic.wait_for_via(
            at, lambda sink: sink == sub.sink, self.patience, lambda: not self.testpmd.alive()
        )
        self.check_alive()
        if via is None:
            rnd.problems.append("no return to %s within %.0f s" % (sub.interface, self.patience))
            self.note("round %d: no return within %.0f s" % (rnd.number, self.patience))
            return
        rnd.return_ms = (via[0] - at) * 1000
        self.note(
            "round %d: frames arrive through %s again, %.1f ms after the order"
            % (rnd.number, sub.interface, rnd.return_ms),
            via[0],
        )
        self.expect_carried_by(rnd, sub, "after the return of %s" % sub.interface)
        self.expect_active(rnd, sub, "after the return")
        self.show_own_counters(rnd, sub, before)

    def show_own_counters(self, rnd, sub, before):
        below, driver = self.own_counters(sub)
        if below is None:
            rnd.problems.append("%s is not there after its return" % sub.interface)
            return
        life, received, sent = below
        if before[0] is not None and before[0][0] == life:
            received, sent = received - before[0][1], sent - before[0][2]
        least = 0.5 * self.rate * self.pace
        rnd.carried = "%s (%s %d) since its return: sent %d, received %d" % (
            sub.interface,
            self.stage.LIFE,
            life,
            sent,
            received,
        )
        if sent < least:
            rnd.problems.append("%s itself counts only %d frames since its return" % (sub.interface, sent))
        if self.port is not None:
            now_sent, then_sent = (int((d or {}).get("tx_packets", 0)) for d in (driver, before[1]))
            rnd.carried += "; Holdfast: %s, sent %d more, removals %s, plug-ins %s" % (
                (driver or {}).get("state"),
                now_sent - then_sent,
                (driver or {}).get("removals"),
                (driver or {}).get("plugins"),
            )
            if now_sent - then_sent < least:
                rnd.problems.append("Holdfast counts only %d frames more on %s" % (now_sent - then_sent, sub.interface))
        self.note("round %d: own counters of %s" % (rnd.number, rnd.carried))

    def wait_until_started(self, rnd, sub):
        """For a sub-device that comes back as a standby: no frame shows it, so its state has to."""
        end = now() + self.patience
        while now() < end:
            self.check_alive()
            if (self.sub_info(sub) or {}).get("state") == "started":
                self.note("round %d: %s is back as a standby" % (rnd.number, sub.interface))
                return
            time.sleep(0.05)
        rnd.problems.append("%s did not come back as a standby within %.0f s" % (sub.interface, self.patience))

    # --- rounds -----------------------------------------------------------------------------------------------------

    def run_round(self, number, how):
        self.stage.between_rounds()
        rnd = Round(number, how, now())
        self.rounds.append(rnd)
        try:
            self.play(rnd)
        except Died as death:
            rnd.problems.append("testpmd %s" % death)
            rnd.end = now()
            raise
        self.stage.between_rounds()
        rnd.end = now()

    def play(self, rnd):
        preferred = self.subs[PREFERRED]
        way = "telemetry" if rnd.how == "telemetry" else "link"
        self.expect_carried_by(rnd, preferred, "round %d begins" % rnd.number)
        self.expect_active(rnd, preferred, "at the beginning")
        gone = [preferred]
        standby = self.remove(rnd, preferred, way)
        if rnd.how == "cascade" and standby is not None and standby.interface != self.subs[-1].interface:
            gone.append(standby)
            self.remove(rnd, standby, way)
        before = self.own_counters(preferred)
        at = self.bring_back(rnd, preferred, way)
        self.see_return(rnd, preferred, at, before)
        for sub in gone[1:]:
            self.bring_back(rnd, sub, way)
            self.wait_until_started(rnd, sub)
