#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-pmdinfo.py, DPDK's own tool, shows both modules with the devargs that their documentation names."""

import json
import os
import pathlib
import subprocess
import sys

EXPECTED = {
    "net_holdfast": ["dev(", "mac=", "hotplug_poll="],
    "net_mayfly": ["mode=", "script="],
}


def main():
    build = pathlib.Path(os.environ["HOLDFAST_BUILD_DIR"])
    failures = []
    for driver, params in EXPECTED.items():
        module = build / f"librte_{driver}.so"
        run = subprocess.run(["dpdk-pmdinfo.py", str(module)], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        drivers = json.loads(run.stdout)
        if [shown.get("name") for shown in drivers] != [driver]:
            failures.append(f"{module.name}: shows {run.stdout.strip()} and not just {driver}")
            continue
        text = drivers[0].get("params") or ""
        print(f"{driver}: {text}")
        failures += [f"{module.name}: its params do not name {param}: {text}" for param in params if param not in text]
    print("\n".join(failures) if failures else "both modules are shown")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
