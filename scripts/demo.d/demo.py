# SPDX-License-Identifier: BSD-3-Clause
"""The body of scripts/demo; runs inside the environment, after the build."""

import argparse
import os
import shutil
import signal
import sys
import tempfile

import report
from lab import LabError, missing_for_lab
from mayfly_stage import MayflyStage
from processes import Testpmd, describe_exit
from scenario import Died, Scenario
from veth_stage import VethStage

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENOUGH = 0.95
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def parse():
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="dpdk-testpmd forwards real packets through net_holdfast0 while its sub-devices go and come.",
    )
    parser.add_argument(
        "--compare", action="store_true", help="the same with DPDK's own net_failsafe; reports what happens"
    )
    parser.add_argument(
        "--mayfly", action="store_true", help="over simulated NICs, as on a machine without tun or namespaces"
    )
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="at least 3 (default 4)")
    parser.add_argument(
        "--rate", type=int, default=2000, metavar="PPS", help="frames per second, 500 to 20000 (default 2000)"
    )
    parser.add_argument(
        "--pace", type=float, default=1.5, metavar="S", help="how long traffic is watched per phase (default 1.5)"
    )
    parser.add_argument("--out", default=None, metavar="DIR", help="for logs, plot and JSON (default build/demo)")
    options = parser.parse_args()
    if options.rounds < 3 or not 500 <= options.rate <= 20000 or not 0.2 <= options.pace <= 60:
        parser.error("--rounds is at least 3, --rate from 500 to 20000, --pace from 0.2 to 60")
    options.build = os.environ.get("HOLDFAST_BUILD_DIR") or os.path.join(
        CHECKOUT, "build", os.environ.get("HOLDFAST_IN_ENV", "native") + "-release"
    )
    options.out = os.path.abspath(options.out or os.path.join(CHECKOUT, "build", "demo"))
    return options


def world_writable(path):
    """Is one of the folders above a file open to everybody? EAL loads nothing from there."""
    folder = os.path.dirname(os.path.realpath(path))
    while not os.stat(folder).st_mode & 0o002:
        if folder == "/":
            return False
        folder = os.path.dirname(folder)
    return True


def module(options, name):
    path = os.path.join(options.build, "librte_net_%s.so" % name)
    if not os.path.exists(path):
        raise LabError("%s is missing: scripts/build makes it" % path)
    return path


def ways(options):
    """How each round removes the active sub-device."""
    if options.compare:
        return ["link"] * options.rounds
    return (["telemetry", "link", "link"] + ["cascade", "telemetry", "link"] * options.rounds)[: options.rounds]


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


class Demo:
    """Everything that has to be taken down again, and the run between."""

    def __init__(self, options, stage_class):
        self.options = options
        self.driver = "net_failsafe0" if options.compare else "net_holdfast0"
        self.stage = stage_class(options, 2 if options.compare else 3)  # in-tree fail-safe takes two
        self.name = ("compare" if options.compare else "demo") + ("-mayfly" if stage_class is MayflyStage else "")
        self.copies = None
        self.testpmd = None
        self.traffic = None
        self.scenario = None

    def build_up(self):
        options, stage = self.options, self.stage
        stage.create()
        devices = ",".join(sub.source for sub in stage.subs)
        vdevs = ["%s,%s,hotplug_poll=200" % (self.driver, devices), stage.second_port]
        modules = [module(options, name) for name in stage.MODULES + (() if options.compare else ("holdfast",))]
        modules = [self.loadable(path) for path in modules]
        print("            dpdk-testpmd --vdev '%s' --vdev '%s'" % tuple(vdevs), flush=True)
        self.testpmd = Testpmd(stage.prefix, vdevs, options.out, self.name + ".testpmd", modules, stage.inside)
        if not self.testpmd.wait_for_prompt(20.0):
            state = describe_exit(self.testpmd.exit_code())
            raise LabError("testpmd did not come up (%s):\n%s" % (state, self.testpmd.log()[-2000:]))
        port = None
        if not options.compare:
            port = find_port(self.testpmd)
            if port is None:
                raise LabError("/holdfast/list names no port")
        self.traffic = stage.start_traffic(self.testpmd, self.name)
        patience = 3.0 if options.compare else 10.0
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

    def run(self):
        """Returns the verdict: (ok, sentences)."""
        self.build_up()
        death = None
        try:
            for number, how in enumerate(ways(self.options), 1):
                self.scenario.run_round(number, how)
        except Died as died:
            death = str(died)
            self.scenario.note("testpmd %s" % death)
        port_stats = self.testpmd.telemetry("/ethdev/stats,0") if death is None else None
        end = self.traffic.finish()
        if death is None:
            self.testpmd.write("show port stats all")
            code = self.testpmd.quit()
            if code != 0:
                death = "did not end cleanly: it %s" % describe_exit(code)
        return self.conclude(end, death, port_stats)

    def conclude(self, end, death, port_stats):
        scenario = self.scenario
        packets = self.stage.figures(self.traffic)
        text, total, records = report.rounds_table(scenario, packets)
        print("\n%s under dpdk-testpmd, %d frames per second each way\n\n%s\n" % (self.driver, self.options.rate, text))
        print(report.timeline(scenario, packets, self.options.rate))
        print("\n" + report.plot(scenario, packets, self.options.out, self.name, "%s: packets per 10 ms" % self.driver))
        problems = ["round %d: %s" % (rnd.number, problem) for rnd in scenario.rounds for problem in rnd.problems]
        if death is not None:
            problems.append("testpmd %s (see %s)" % (death, self.testpmd.log_path))
        for what, count in (("distinct frames", total.received), ("answers", total.answers)):
            if total.sent == 0 or count < ENOUGH * total.sent:
                problems.append("%d of %d %s arrived: less than %.0f %%" % (count, total.sent, what, ENOUGH * 100))
        if end["dropped"]:
            problems.append("the receiver itself was too slow for %d frames: they count as lost" % end["dropped"])
        record = {
            "driver": self.driver,
            "ok": not problems,
            "problems": problems,
            "testpmd": death or "lived and ended with status 0",
            "rate": self.options.rate,
            "sent": total.sent,
            "received": total.received,
            "lost": total.lost,
            "duplicates": total.duplicates,
            "answers": total.answers,
            "longest_gap_ms": total.longest_gap * 1000,
            "longest_sender_pause_ms": total.sender_pause * 1000,
            "port_stats": port_stats,
            "rounds": records,
            "events": [{"t": at - scenario.start, "what": what} for at, what in sorted(scenario.events)],
        }
        path = os.path.join(self.options.out, self.name + ".json")
        report.write_json(path, record)
        print("figures as JSON: %s" % path)
        print("longest pause of the sender itself: %.1f ms" % (total.sender_pause * 1000))
        return not problems, problems

    def take_down(self):
        for child, patience in ((self.traffic, 5.0), (self.testpmd, 5.0)):
            if child is not None:
                child.close(patience)
        self.stage.destroy()
        if self.copies is not None:
            self.copies.cleanup()


def interrupted(number, _frame):
    raise KeyboardInterrupt(number)


def perform(options, stage_class):
    """One run on one stage; returns the exit status."""
    demo = Demo(options, stage_class)
    try:
        ok, problems = demo.run()
    finally:
        # A second interrupt must not leave namespaces or processes behind.
        handlers = [(number, signal.signal(number, signal.SIG_IGN)) for number in SIGNALS]
        demo.take_down()
        for number, handler in handlers:
            signal.signal(number, handler)
    if ok:
        print(
            "\nOK: testpmd lived, every round had its switch and its return, >= %.0f %% came through and back."
            % (ENOUGH * 100)
        )
    else:
        print("\nWhat in-tree fail-safe did:" if options.compare else "\nNOT OK:")
    for problem in problems:
        print("  - " + problem)
    return 0 if ok or options.compare else 1


def main():
    options = parse()
    for number in SIGNALS:
        signal.signal(number, interrupted)
    os.makedirs(options.out, exist_ok=True)
    try:
        if shutil.which("dpdk-testpmd") is None:
            raise LabError("dpdk-testpmd is missing: scripts/setup installs it")
        missing = missing_for_lab()
        if missing is not None or options.mayfly:
            why = "--mayfly was asked for" if missing is None else "this machine lacks " + missing
            print("demo: %s: simulated NICs (net_mayfly) instead of real packets" % why)
            return perform(options, MayflyStage)
        status = perform(options, VethStage)
        if options.compare:
            print("\nThe same over simulated NICs, which, unlike net_af_packet, tell their driver of the removal:\n")
            status = max(status, perform(options, MayflyStage))
        return status
    except KeyboardInterrupt:
        print("\ndemo: interrupted, everything taken down", file=sys.stderr)
        return 130
    except (LabError, RuntimeError) as error:
        print("demo: %s" % error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
