#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of a burst under callgrind and compares them with the references.

burst_count_test.py [--renew] PROGRAM REFERENCES KEY

PROGRAM is burst_count. What is counted are our burst functions and what is inlined into them, not the sub-devices. REFERENCES is a JSON file: for each KEY (compiler, DPDK, machine) the instructions of one call in each
case, which do not depend on time. A case that takes more than 3 % more than its reference is a fault; one that takes more than
3 % less has to be made the new reference, or the gain could be lost again unseen. --renew writes what was counted as the
references of KEY; scripts/bench --renew does it for the present build.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BOUND = 0.03
CALLS = 1000  # of one case, kCalls in burst_count.cpp
OURS = "holdfast::datapath::"


def own_cost(text):
    """Instructions of our burst functions in one dump of callgrind's, without those of what they call."""
    cost = 0
    ours = called = False
    for line in text.splitlines():
        if line.startswith("fn="):
            ours = OURS in line
        elif line.startswith("calls="):
            called = True  # the next line is what the callee took
        elif re.match(r"[+\-*\d]\S* \d+$", line):
            if ours and not called:
                cost += int(line.split()[1])
            called = False
    return cost


def counted(program):
    """{case: instructions of one call}"""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--compress-strings=no",
             f"--callgrind-out-file={folder}/out", program],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        if run.returncode != 0:
            sys.exit(f"{run.stdout}\n{program} ended with {run.returncode} under valgrind")
        cases = {}
        for path in pathlib.Path(folder).iterdir():
            text = path.read_text(encoding="utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
            if name:
                cases[name.group(1)] = own_cost(text) / CALLS
    if not cases or 0 in cases.values():
        sys.exit(f"{run.stdout}\n{cases}\ncallgrind did not see our functions")
    return cases


def compare(now, reference):
    """Prints the table; returns what is wrong."""
    faults = []
    print(f"{'instructions per call':28} {'reference':>10} {'now':>10} {'difference':>11}")
    for case in sorted(now.keys() | reference.keys()):
        new, old = now.get(case), reference.get(case)
        difference = (new - old) / old if new is not None and old else None
        print(f"{case:28} {'none' if old is None else f'{old:.2f}':>10} {'none' if new is None else f'{new:.2f}':>10} "
              + ("" if difference is None else f"{difference:+11.2%}"))
        if new is None:
            faults.append(f"'{case}' was not counted")
        elif old is None:
            faults.append(f"'{case}' has no reference")
        elif difference > BOUND:
            faults.append(f"'{case}' takes {difference:.1%} more instructions than its reference; {BOUND:.0%} are allowed")
        elif difference < -BOUND:
            faults.append(f"'{case}' takes {-difference:.1%} less: renew the references, so that it stays so")
    return faults


def main(args):
    renew = args[:1] == ["--renew"]
    program, file, key = args[1:] if renew else args
    path = pathlib.Path(file)
    references = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    now = counted(program)
    print(f"{key}, {len(now)} cases of {CALLS} calls each")
    if renew:
        compare(now, references.get(key, {}))
        references[key] = {case: round(now[case], 2) for case in sorted(now)}
        path.write_text(json.dumps(references, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        print(f"these are the references now: {path}")
        return 0
    if key not in references:
        compare(now, {})
        print(f"\nno references for '{key}' in {path}\nif the counts are as they should be: scripts/bench --renew")
        return 1
    faults = compare(now, references[key])
    if faults:
        print("\n" + "\n".join(faults) + "\nif that is as it should be: scripts/bench --renew, and say why in the commit")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
