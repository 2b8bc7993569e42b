#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs the build three times and looks where things went: with DESTDIR, with --prefix, and for real.

"For real" is a private mount namespace in which DPDK's driver folder is a copy: there an unmodified testpmd must find
both drivers without -d.

Usage: check_install.py BUILD PMD_DIR HEADER_DIR PREFIX
PMD_DIR and HEADER_DIR are DPDK's, absolute; PREFIX is DPDK's own.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, PMD_DIR, HEADER_DIR, PREFIX = (pathlib.Path(arg) for arg in sys.argv[1:5])
MODULES = ("librte_net_holdfast.so", "librte_net_mayfly.so")
HEADERS = ("rte_pmd_holdfast.h", "rte_pmd_mayfly.h")

FOR_REAL = r"""
set -euo pipefail
build=$1 pmd_dir=$2 header_dir=$3 copy=$4
cp -a "$pmd_dir" "$copy/pmds"
cp -a "$header_dir" "$copy/headers"
mount --bind "$copy/pmds" "$pmd_dir"
mount --bind "$copy/headers" "$header_dir"
cmake --install "$build" >/dev/null
# The folder's name, and so the file prefix, is this run's own.
printf 'show port summary all\nquit\n' | dpdk-testpmd --no-huge -m 256 --no-pci --no-telemetry \
    --file-prefix="${copy##*/}" --vdev=net_mayfly0 --vdev='net_holdfast0,dev(net_null0)' -- \
    --interactive --total-num-mbufs=4096
"""


def install(*arguments, **environment):
    return subprocess.run(
        ["cmake", "--install", BUILD, *arguments],
        check=True, capture_output=True, text=True, timeout=60, env={**os.environ, **environment},
    )


def tree(top):
    return {str(path.relative_to(top)) for path in pathlib.Path(top).rglob("*") if path.is_file()}


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-install-")
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def test_destdir_gets_dpdks_own_folders(self):
        install(DESTDIR=str(self.top))
        expected = {f"{PMD_DIR}/{name}".lstrip("/") for name in MODULES}
        expected |= {f"{HEADER_DIR}/{name}".lstrip("/") for name in HEADERS}
        self.assertEqual(tree(self.top), expected)

    def test_a_prefix_gets_the_same_tree_below_it(self):
        install("--prefix", str(self.top))
        expected = {str((PMD_DIR / name).relative_to(PREFIX)) for name in MODULES}
        expected |= {str((HEADER_DIR / name).relative_to(PREFIX)) for name in HEADERS}
        self.assertEqual(tree(self.top), expected)

    def test_testpmd_finds_both_drivers_without_being_told_where(self):
        if os.geteuid() != 0:
            self.skipTest("needs root for a mount namespace")
        run = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", FOR_REAL, "bash",
             BUILD, PMD_DIR, HEADER_DIR, self.top],
            capture_output=True, text=True, timeout=120,
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        summary = run.stdout[run.stdout.index("MAC Address"):]
        self.assertRegex(summary, r"net_mayfly\b", run.stdout)
        self.assertRegex(summary, r"net_holdfast\b", run.stdout)
        self.assertFalse((PMD_DIR / MODULES[0]).exists() and not self.was_installed, "left in the real folder")

    was_installed = (PMD_DIR / MODULES[0]).exists()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
