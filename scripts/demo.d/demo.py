# SPDX-License-Identifier: BSD-3-Clause
"""The body of scripts/demo; runs inside the environment, after the build."""

import argparse
import os
import shutil
import signal
import sys

import report
from lab import LabError, missing_for_lab
from mayfly_stage import MayflyStage
from measure import measure
from processes import describe_exit
from scenario import Died
from stand import SIGNALS, Stand, interrupted
from switch_stage import DRIVERS
from switching import SCENARIOS, switching
from veth_stage import VethStage

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENOUGH = 0.95


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
    parser.add_argument(
        "--measure",
        type=int,
        nargs="?",
        const=50,
        metavar="N",
        help="how long N (50) deletions and re-creations of the preferred interface take, with events and without",
    )
    parser.add_argument(
        "--switching",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="what a switch costs, N (20) times in each scenario, beside in-tree fail-safe and bonding",
    )
    parser.add_argument("--scenarios", metavar="A,B", help="of --switching: " + ", ".join(SCENARIOS))
    parser.add_argument("--drivers", metavar="A,B", help="of --switching: " + ", ".join(DRIVERS))
    parser.add_argument("--flap-runs", type=int, metavar="N", help="of --switching, if not as many as of the others")
    parser.add_argument("--flap-at-once", type=int, default=1, metavar="N", help="so many of them side by side")
    parser.add_argument("--flap-seconds", type=float, default=60, metavar="S", help="of --switching (default 60)")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="at least 3 (default 4)")
    rate_help = "frames per second, 500 to 20000 (default 2000; --measure: 10000; at link events: 5000)"
    parser.add_argument("--rate", type=int, metavar="PPS", help=rate_help)
    parser.add_argument(
        "--pace", type=float, default=1.5, metavar="S", help="how long traffic is watched per phase (default 1.5)"
    )
    parser.add_argument("--out", default=None, metavar="DIR", help="for logs, plot and JSON (default build/demo)")
    options = parser.parse_args()
    options.given_rate = options.rate
    if options.rate is None:
        options.rate = 2000 if options.measure is None else 10000
    if options.measure is not None and (options.measure < 1 or options.compare or options.mayfly):
        parser.error("--measure takes at least one deletion, and neither --compare nor --mayfly")
    if options.flap_runs is None:
        options.flap_runs = options.switching
    if options.switching is not None and (options.switching < 1 or options.measure or options.compare):
        parser.error("--switching takes at least one run, and neither --compare nor --measure")
    if options.rounds < 3 or not 500 <= options.rate <= 20000 or not 0.2 <= options.pace <= 60:
        parser.error("--rounds is at least 3, --rate from 500 to 20000, --pace from 0.2 to 60")
    options.build = os.environ.get("HOLDFAST_BUILD_DIR") or os.path.join(
        CHECKOUT, "build", os.environ.get("HOLDFAST_IN_ENV", "native") + "-release"
    )
    options.out = os.path.abspath(options.out or os.path.join(CHECKOUT, "build", "demo"))
    return options


def ways(options):
    """How each round removes the active sub-device."""
    if options.compare:
        return ["link"] * options.rounds
    return (["telemetry", "link", "link"] + ["cascade", "telemetry", "link"] * options.rounds)[: options.rounds]


class Demo(Stand):
    """Rounds under traffic, and what came of them."""

    def __init__(self, options, stage_class):
        name = ("compare" if options.compare else "demo") + ("-mayfly" if stage_class is MayflyStage else "")
        stage = stage_class(options, 2 if options.compare else 3)  # in-tree fail-safe takes two
        super().__init__(options, stage, "net_failsafe0" if options.compare else "net_holdfast0", name)

    def run(self):
        """Returns the verdict: (ok, sentences)."""
        self.build_up(["hotplug_poll=200"], 3.0 if self.options.compare else 10.0)
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


def perform(options, stage_class):
    """One run on one stage; returns the exit status."""
    with Demo(options, stage_class) as demo:
        ok, problems = demo.run()
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
        if options.measure is not None:
            if missing is not None:
                raise LabError("nothing to measure: this machine lacks " + missing)
            return measure(options)
        if options.switching is not None:
            if missing is not None:
                raise LabError("nothing to switch: this machine lacks " + missing)
            return switching(options)
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
