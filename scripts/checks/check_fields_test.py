#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants faults in copies of src/abi/dpdk: the compiler must stop at each field that is shifted, missing or of another size
(fields.cpp), and check_fields.py must find what the compiler cannot see.

Usage: check_fields_test.py CHECKOUT BUILD TABLE
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKOUT, BUILD, TABLE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
SHIMS = CHECKOUT / "src" / "abi" / "dpdk"


def compile_command():
    """How this build compiles fields.cpp, without what is about files."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"].endswith("src/abi/fields.cpp") and "fields_dump" in entry["command"]:
            words = shlex.split(entry["command"])
            del words[words.index("-o"):words.index("-o") + 2]
            return [word for word in words if word not in ("-c", entry["file"])] + [entry["file"]]
    raise AssertionError("fields.cpp is not in this build")


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-fields-")
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.shims = self.top / "dpdk"
        shutil.copytree(SHIMS, self.shims)

    def plant(self, header, old, new):
        path = self.shims / header
        text = path.read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def compiled(self, *options):
        words = [word.replace(str(SHIMS), str(self.shims)) for word in compile_command()]
        self.assertIn(str(self.shims), " ".join(words))
        return subprocess.run([*words, *options], capture_output=True, text=True, timeout=120, cwd=BUILD)

    def stops_at(self, *fields):
        result = self.compiled("-fsyntax-only")
        self.assertNotEqual(result.returncode, 0)
        named = re.findall(r"static assertion failed[^:]*: (\S+)", result.stderr)
        for field in fields:
            self.assertIn(field, named)

    def test_ours_compile(self):
        result = self.compiled("-fsyntax-only")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_shifted_field_of_a_port(self):
        self.plant("ethdev_driver.h", "    void *process_private;", "    char shift; void *process_private;")
        self.stops_at("rte_eth_dev.process_private", "rte_eth_dev.dev_ops", "rte_eth_dev.state")

    def test_two_fields_that_changed_places(self):
        self.plant("ethdev_driver.h", "    uint32_t dev_flags;\n    int numa_node;", "    int numa_node;\n    uint32_t dev_flags;")
        self.stops_at("rte_eth_dev_data.dev_flags", "rte_eth_dev_data.numa_node")

    def test_a_slot_too_few(self):
        self.plant("ethdev_driver.h", "    holdfast_empty_slot dev_led_on;\n", "")
        self.stops_at("eth_dev_ops", "eth_dev_ops.get_restore_flags")

    def test_a_field_of_another_size(self):
        self.plant("dev_driver.h", "    int numa_node;", "    short numa_node;")
        self.stops_at("rte_device.numa_node")

    def test_a_shifted_field_of_the_bus(self):
        self.plant("bus_vdev_driver.h", "    rte_vdev_probe_t *probe;", "    void *shift;\n    rte_vdev_probe_t *probe;")
        self.stops_at("rte_vdev_driver.probe", "rte_vdev_driver.drv_flags")

    def checked(self):
        """check_fields.py on an object of the planted headers that does compile."""
        object_file = self.top / "fields.o"
        result = self.compiled("-c", "-o", str(object_file))
        self.assertEqual(result.returncode, 0, result.stderr)
        return subprocess.run(
            [sys.executable, "-B", CHECKOUT / "scripts" / "checks" / "check_fields.py", object_file, self.shims, TABLE],
            capture_output=True, text=True, timeout=120)

    def test_bits_that_changed_places_and_a_struct_without_rows(self):
        self.plant("ethdev_driver.h", "scattered_rx : 1, all_multicast : 1", "all_multicast : 1, scattered_rx : 1")
        self.plant("dev_driver.h", "struct rte_bus;\n", "struct rte_bus;\nstruct planted {\n    int x;\n};\n")
        result = self.checked()
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("HOLDFAST_BITS(rte_eth_dev_data, all_multicast", result.stdout)
        self.assertIn("only in the headers: HOLDFAST_FIELD(planted, x", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
