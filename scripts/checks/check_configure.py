#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that configuring stops, with a sentence that says what to do, where it must not go on.

Usage: check_configure.py CHECKOUT
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = sys.argv[1]


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-configure-")
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def refused(self, *arguments, **environment):
        """Configures, requires an error, and returns its text with the line breaks taken out that CMake put in."""
        result = subprocess.run(
            ["cmake", "-G", "Ninja", "-S", CHECKOUT, "-B", self.top / "build", "-DHOLDFAST_BUILD_TESTS=OFF", *arguments],
            capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
        )
        self.assertNotEqual(result.returncode, 0, result.stdout)
        return " ".join(result.stderr.split())

    def with_dpdk(self, version):
        (self.top / "libdpdk.pc").write_text(f"Name: DPDK\nDescription: planted\nVersion: {version}\nCflags:\nLibs:\n")
        return {"PKG_CONFIG_PATH": str(self.top)}

    def test_another_dpdk_is_refused_and_says_what_to_do(self):
        for version in ("22.11.11", "24.110.0", "25.07.0", "26.11.0"):
            with self.subTest(version=version):
                error = self.refused(**self.with_dpdk(version))
                self.assertIn(f"DPDK {version} was found, but src/abi has driver interface blocks for 24.11.x and 25.11.x only", error)
                self.assertIn("HOLDFAST_ENV=root scripts/build --suite trixie", error)

    def test_no_dpdk_is_refused_and_says_what_to_do(self):
        error = self.refused(PKG_CONFIG_LIBDIR=str(self.top), PKG_CONFIG_PATH="")
        self.assertIn("Run scripts/setup", error)

    def test_an_unknown_preset_is_refused(self):
        self.assertIn("must be release, asan or tsan", self.refused("-DHOLDFAST_PRESET=fast"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
