#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a fuzz target from its corpus, for a fixed number of executions and from a fixed seed.

Usage: run.py PROGRAM CORPUS RUNS LONGEST
Prints one line with the number of executions that libFuzzer itself counted. What it finds stays out of the corpus.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SEED = 20241130


def main():
    program, corpus, runs, longest = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    seeds = sum(1 for path in corpus.iterdir() if path.is_file())
    if seeds == 0:
        sys.exit(f"{corpus} holds nothing to begin with")
    with tempfile.TemporaryDirectory() as scratch:
        found = pathlib.Path(scratch) / "found"
        found.mkdir()
        done = subprocess.run(
            [program, f"-runs={runs}", f"-seed={SEED}", f"-max_len={longest}", "-timeout=10", "-print_final_stats=1",
             f"-artifact_prefix={scratch}/", found, corpus],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        output = done.stdout.decode(errors="replace")
        for artifact in sorted(pathlib.Path(scratch).glob("*-*")):
            print(f"{artifact.name}: {artifact.read_bytes()!r}")
    counted = re.search(r"^stat::number_of_executed_units:\s*(\d+)", output, re.M)
    if done.returncode != 0 or counted is None:
        print(output)
        return 1
    edges = re.findall(r"cov: (\d+)", output)
    print(f"fuzz: {program.name}: {counted[1]} executions from {seeds} seeds, {edges[-1] if edges else '?'} edges, no fault")
    if int(counted[1]) < runs:
        print(f"asked for {runs}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
