#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutants_complete.py MUTATE.PY LOCAL.CMAKE: every mutant of the one has a test in the other, and the other way round."""

import re
import subprocess
import sys

mutate, cmake = sys.argv[1:]
known = set(subprocess.run([sys.executable, "-B", mutate, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split())
with open(cmake, encoding="utf-8") as file:
    tested = set(re.findall(r"^\s+holdfast_mutant\((\w+) ", file.read(), re.MULTILINE))
for name in sorted(known ^ tested):
    print(f"{name}: {'no test' if name in known else 'no such mutant'}")
print(f"{len(known)} mutants, {len(tested)} tested")
sys.exit(0 if known and known == tested else 1)
