# SPDX-License-Identifier: BSD-3-Clause
"""The body of scripts/vm; runs inside the environment, after the build."""

import argparse
import json
import os
import shutil
import subprocess
import sys

import figures
from bench import Bench
from kit import CHECKOUT, VmError
from machine import now
from scenarios import SCENARIOS, Play, Trouble

sys.path.insert(0, os.path.join(CHECKOUT, "scripts", "demo.d"))
import report  # noqa: E402


class Series:
    """Runs of one scenario over one driver: in one guest and one testpmd, until that dies."""

    def __init__(self, options, name, driver):
        self.options = options
        self.name = name
        self.driver = driver
        self.scenario = SCENARIOS[name]
        self.runs = []
        self.out = os.path.join(options.out, "%s-%s" % (name, driver))

    def perform(self):
        guests = 0
        while len(self.runs) < self.options.runs:
            guests += 1
            out = os.path.join(self.out, "guest-%d" % guests)
            with Bench(out, self.scenario.nic, pairs=self.scenario.pairs) as bench:
                self.scenario.prepare(bench)
                bench.start_frames(("a", "b"))
                bench.start_testpmd(*self.scenario.vdevs(self.driver))
                self.in_guest(bench, out)
        return self.runs

    def in_guest(self, bench, out):
        mine, trouble = [], False
        while len(self.runs) + len(mine) < self.options.runs and not trouble:
            play = Play(bench)
            mine.append(play.run)
            try:
                play.begin()
                self.scenario.play(play)
                play.end()
            except (Trouble, VmError) as error:
                trouble = True
                play.run["problems"].append(str(error).splitlines()[0])
                play.run.setdefault("quiet", (now() - 1, now()))
                play.run.setdefault("begin", now() - 1)
                play.run["end"] = now()
            play.run["alive"] = bench.machine.runs() and bench.testpmd_lives()
            print("  run %d: %s" % (len(self.runs) + len(mine), "; ".join(play.run["problems"]) or "ok"), flush=True)
        if not trouble and not bench.quit_testpmd():
            mine[-1]["problems"].append("testpmd does not end")
        logs = [figures.Log.read(path) for path in bench.stop_frames()]
        for run in mine:
            figures.judge(run, logs)
        self.plot(mine[0], logs[0], out)
        self.runs += mine

    def plot(self, run, log, out):
        """The first run: what returned over which link, per 10 ms."""
        data, marks, image = (os.path.join(out, "timeline" + end) for end in (".dat", ".marks", ".png"))
        begin, end = run["begin"] - 0.5, run["end"]
        bins = [[0, 0] for _ in range(int((end - begin) * 100) + 1)]
        for one in log.returns:
            if begin <= one.arrived < end:
                bins[int((one.arrived - begin) * 100)][0 if one.over == "fast" else 1] += 1
        with open(data, "w", encoding="ascii") as f:
            for i, counts in enumerate(bins):
                f.write("%.3f %d %d\n" % (i * 0.010, *counts))
        with open(marks, "w", encoding="ascii") as f:
            for at, words in run["marks"]:
                x = at - begin
                f.write("set arrow from %.3f, graph 0 to %.3f, graph 1 nohead front dt 2\n" % (x, x))
                f.write('set label "%s" at %.3f, graph 0.98 right rotate by 90 noenhanced font ",7"\n' % (words, x))
        if shutil.which("gnuplot") is None:
            return
        given = "data='%s'; marks='%s'; image='%s'; names='fast backup'; heading='%s, %s'; until=%.3f" % (
            data, marks, image, self.name, self.driver, end - begin)
        script = os.path.join(CHECKOUT, "scripts", "demo.d", "packets.gp")
        done = subprocess.run(["gnuplot", "-e", given, script], capture_output=True, text=True, check=False)
        print("  timeline: %s" % (image if done.returncode == 0 else done.stderr.strip()))


def parse():
    parser = argparse.ArgumentParser(prog="scripts/vm", description="Hot-unplug and live migration in a real VM.")
    parser.add_argument("scenarios", nargs="*", default=["all"], metavar="SCENARIO", help="default: all")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="of each scenario (default 1)")
    parser.add_argument("--driver", choices=("holdfast", "failsafe", "both"), default="holdfast")
    parser.add_argument("--out", metavar="DIR", default=None, help="for logs, plots and JSON (default build/vm-report)")
    parser.add_argument("--list", action="store_true", help="says what each scenario does")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out or os.path.join(CHECKOUT, "build", "vm-report"))
    if options.scenarios == ["all"]:
        options.scenarios = list(SCENARIOS)
    unknown = [name for name in options.scenarios if name not in SCENARIOS]
    if unknown or options.runs < 1:
        parser.error("%s is none of: %s" % (unknown[0], ", ".join(SCENARIOS)) if unknown else "--runs is at least 1")
    return options


def main():
    options = parse()
    if options.list:
        for name, scenario in SCENARIOS.items():
            print("%-9s %s: %s" % (name, scenario.words, " ".join(scenario.vdevs("holdfast"))))
        return 0
    os.makedirs(options.out, exist_ok=True)
    drivers = ("holdfast", "failsafe") if options.driver == "both" else (options.driver,)
    table, rows, missed, told = {}, [], [], []
    for name in options.scenarios:
        for driver in drivers:
            if driver != "holdfast" and not SCENARIOS[name].comparable():
                continue
            print("%s over net_%s: %s" % (name, driver, SCENARIOS[name].words), flush=True)
            runs = Series(options, name, driver).perform()
            line = figures.summarize(runs)
            table["%s, %s" % (name, driver)] = {"runs": runs, "line": line}
            rows.append(figures.row(name, driver, line))
            if driver == "holdfast":
                for words, met, is_count in figures.targets(name, line):
                    told.append("%s: %s" % (words, "met" if met else "MISSED"))
                    missed += [words] if is_count and not met else []
            for problem in line["problems"]:
                told.append("%s over net_%s: %s" % (name, driver, problem))
    print("\n" + report.table(rows, list(figures.HEADS)))
    print("\n(Times in ms and numbers of packets: median / 90th percentile / worst.)\n\n" + "\n".join(told))
    with open(os.path.join(options.out, "vm.json"), "w", encoding="utf-8") as f:
        json.dump(table, f, indent=1)
    with open(os.path.join(options.out, "vm.md"), "w", encoding="utf-8") as f:
        for cells in [list(figures.HEADS), ["---"] * len(figures.HEADS)] + rows:
            f.write("| " + " | ".join(cells) + " |\n")
    print("\nfigures as JSON: %s" % os.path.join(options.out, "vm.json"))
    print("\nOK" if not missed else "\nNOT OK:\n" + "\n".join("  - " + words for words in missed))
    return 0 if not missed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VmError as error:
        print("vm: %s" % error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nvm: interrupted, everything taken down", file=sys.stderr)
        sys.exit(130)
