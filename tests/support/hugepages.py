# SPDX-License-Identifier: BSD-3-Clause
"""Hugepages for tests with several DPDK processes: memory without them cannot be shared.

run_with_hugepages() runs the calling script once more, in a mount namespace of its own, between reserving the pages and
giving them back; they are given back also when that run is interrupted or dies. Only what this run added is taken away.
"""

import os
import pathlib
import signal
import subprocess
import sys

READY = "HOLDFAST_TEST_HUGEPAGES"
COUNT = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def ready():
    return READY in os.environ


def run_with_hugepages(pages):
    """The exit status for the outer process."""
    if os.geteuid() != 0 or not COUNT.exists():
        print("needs root and 2 MB hugepages", file=sys.stderr)
        return 1
    before = int(COUNT.read_text())
    child = None

    def pass_on(number, _):
        if child is not None:
            child.send_signal(number)
        else:
            raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_on)
    try:
        COUNT.write_text(str(before + pages))
        if int(COUNT.read_text()) < before + pages:
            print(f"this machine has no room for {pages} hugepages", file=sys.stderr)
            return 1
        command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv]
        child = subprocess.Popen(command, env={**os.environ, READY: str(pages)})
        status = child.wait()
        return status if status >= 0 else 128 - status
    finally:
        COUNT.write_text(str(max(0, int(COUNT.read_text()) - pages)))


def mount(folder):
    """A folder that EAL takes as --huge-dir. Only in the run that run_with_hugepages() made."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "hugetlbfs", folder], check=True)
    return folder
