#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Expects that a drill finds the fault of a mutant.

expect_killed.py HOW SECONDS COMMAND...

HOW is "run": the drill has to end with 1, which is how it says that it saw something it must not see; "tsan": it has to end
with ThreadSanitizer's status and a report of a data race; "crash": it has to end by SIGSEGV or SIGBUS; "says=TEXT": it has to
end with 1 and to say TEXT. Races are a matter of luck, so it is run again until SECONDS are over. Then the mutant has survived,
which is a failure: also when the threads never met (the drill's status 2), for such runs prove nothing. Any other end is a
failure at once.
"""

import os
import signal
import subprocess
import sys
import time

TSAN_STATUS = 66


def main(args):
    how, seconds, command = args[0], float(args[1]), args[2:]
    environment = dict(os.environ)
    if how == "tsan":
        environment["TSAN_OPTIONS"] = f"exitcode={TSAN_STATUS}:halt_on_error=1"
    end = time.monotonic() + seconds
    survived = never_met = 0
    while True:
        run = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=300, check=False)
        lines = run.stdout.strip().splitlines()
        print("\n".join(line for line in lines if "rounds" in line or "WARNING" in line or "SUMMARY" in line))
        if how == "run" and run.returncode == 1:
            break
        if how == "tsan" and run.returncode == TSAN_STATUS and "data race" in run.stdout:
            break
        if how == "crash" and run.returncode in (-signal.SIGSEGV, -signal.SIGBUS):
            break
        if how.startswith("says=") and run.returncode == 1 and how.removeprefix("says=") in run.stdout:
            break
        if run.returncode == 0 or (how.startswith(("crash", "says=")) and run.returncode == 1):
            survived += 1
        elif run.returncode == 2:
            never_met += 1
        else:
            print(run.stdout)
            print(f"the drill ended with {run.returncode}, which is neither a find nor a clean run")
            return 1
        if time.monotonic() > end:
            print(f"the mutant has survived {survived} runs, and in {never_met} more the threads never met")
            return 1
    print(f"killed (after {survived} clean runs and {never_met} without a meeting)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
