#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutants_complete.py MUTATE.PY CMAKE...: every mutant of the one has a test in the others, and the other way round."""

import re
import subprocess
import sys

mutate, *cmakes = sys.argv[1:]
known = set(subprocess.run([sys.executable, "-B", mutate, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split())
tested = set()
for cmake in cmakes:
    with open(cmake, encoding="utf-8") as file:
        tested |= set(re.findall(r"^\s+holdfast_(?:detach_|datapath_)?mutant\((\w+)[ )]", file.read(), re.MULTILINE))
for name in sorted(known ^ tested):
    print(f"{name}: {'no test' if name in known else 'no such mutant'}")
print(f"{len(known)} mutants, {len(tested)} tested")
sys.exit(0 if known and known == tested else 1)
