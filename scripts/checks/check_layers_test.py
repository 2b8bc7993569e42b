#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each kind of fault in a copy of the sources and requires check_layers.py to report it, and nothing else."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_layers  # noqa: E402

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"

# file to add, its text after the SPDX line, what the report must say about it
FAULTS = [
    ("base/planted.h", '#include "abi/planted.h"', "base must not include abi/planted.h"),
    ("abi/planted.h", '#include "port/planted.h"', "abi must not include port/planted.h"),
    ("datapath/planted.cpp", '#include "abi/planted.h"', "datapath must not include abi/planted.h"),
    ("datapath/planted.cpp", '#include "port/planted.h"', "datapath must not include port/planted.h"),
    ("port/planted.cpp", '#include "hotplug/planted.h"', "port must not include hotplug/planted.h"),
    ("hotplug/planted.cpp", '#include "datapath/planted.h"', "hotplug must not include datapath/planted.h"),
    ("hotplug/planted.cpp", '#include "driver/planted.h"', "hotplug must not include driver/planted.h"),
    ("driver/planted.cpp", '#include "mayfly/planted.h"', "driver must not include mayfly/planted.h"),
    ("mayfly/planted.cpp", '#include "port/planted.h"', "mayfly must not include port/planted.h"),
    ("port/planted.cpp", "#include <base/planted.h>", "must be included with quotes"),
    ("port/planted.cpp", '#include "planted.h"', "is not written as"),
    ("port/planted.cpp", '#include "abi/dpdk/ethdev_driver.h"', "by the name of DPDK's header"),
    ("base/planted.h", "#include <rte_ether.h>", "base must not include rte_ether.h"),
    ("base/planted.h", "#include <dev_driver.h>", "base must not include dev_driver.h"),
    ("base/planted.h", "int f() { return rte_errno; }", "base names rte_errno"),
    ("base/planted.h", "int f() { return RTE_MAX(1, 2); }", "base names RTE_MAX"),
    ("datapath/planted.cpp", "#include <ethdev_driver.h>", "must not include the driver header ethdev_driver.h"),
    ("datapath/planted.cpp", "#include <rte_flow_driver.h>", "must not include the driver header rte_flow_driver.h"),
    ("datapath/planted.cpp", "#include <mutex>", "datapath must not include mutex"),
    ("datapath/planted.cpp", "int *p = new int;", "datapath names new (allocation)"),
    ("datapath/planted.cpp", "void f(int *p) { delete p; }", "datapath names delete (allocation)"),
    ("datapath/planted.cpp", "void *p = malloc(1);", "datapath names malloc (allocation)"),
    ("datapath/planted.cpp", "void *p = rte_zmalloc(nullptr, 1, 0);", "datapath names rte_zmalloc (allocation)"),
    ("datapath/planted.cpp", "std::string s;", "datapath names std::string (allocation)"),
    ("datapath/planted.cpp", "std::mutex m;", "datapath names std::mutex (lock)"),
    ("datapath/planted.cpp", "rte_spinlock_t s;", "datapath names rte_spinlock_t (lock)"),
    ("datapath/planted.cpp", 'void f() { rte_log(1, 2, "x"); }', "datapath names rte_log (log)"),
    ("datapath/planted.cpp", 'void f() { HOLDFAST_LOG(ERR, "x"); }', "datapath names HOLDFAST_LOG (log)"),
    ("datapath/planted.cpp", "auto t = rte_rdtsc();", "datapath names rte_rdtsc (clock)"),
    ("datapath/planted.cpp", "auto t = std::chrono::steady_clock::now();", "datapath names std::chrono (clock)"),
    ("datapath/planted.cpp", "void f() { throw 1; }", "datapath names throw (exception)"),
    ("base/planted.h", "// pairs: planted-label (nobody)", "the ordering 'planted-label' has no partner"),
    ("base/planted.h", "// pairs: a (f). pairs: b (g)\n// pairs: a (h)", "the ordering 'b' has no partner"),
    ("base/planted.h", "// pairs:", "'pairs:' without a label"),
    ("port/planted.cpp", "int f(A &a) { return a.load(); }", "atomic load names no memory order"),
    ("port/planted.cpp", "void f(A *a) { a->store(g(1)); }", "atomic store names no memory order"),
    ("port/planted.cpp", "void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }", "a free-standing fence"),
    ("port/planted.cpp", "void f() { std::atomic_signal_fence(std::memory_order_seq_cst); }", "a free-standing fence"),
    ("planted/planted.h", "", "'planted' is no layer"),
]

# What must not be reported: the same words where they do no harm.
HARMLESS = [
    ("base/planted.h", "// rte_ring is only spoken of\nconstexpr int kMax = 1'000;"),
    ("base/planted.h", "// pairs: planted-label (f)\n// pairs: planted-label (g)"),
    ("base/planted.h", "// pairs: a (f). pairs: b (g)\n// pairs: a (h)\n// pairs: b (i)"),
    ("datapath/planted.cpp", "struct A { A(const A &) = delete; }; // no new, no malloc, no std::mutex, no throw"),
    ("datapath/planted.cpp", "void f(rte_mbuf *m) { rte_pktmbuf_free(m); std::string_view renewed; }"),
    ("datapath/flow_async.cpp", "#include <rte_flow_driver.h>"),
    ("port/planted.cpp", "int f(A &a) { return a.load(std::memory_order_acquire); }"),
    ("port/planted.cpp", '#include "datapath/planted.h"\n#include <ethdev_driver.h>'),
    ("driver/planted.cpp", '#include "rte_pmd_holdfast.h"'),
]


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        self.copy = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-layers-"))
        self.addCleanup(shutil.rmtree, self.copy)
        for folder in ("src", "include"):
            shutil.copytree(CHECKOUT / folder, self.copy / folder)
        self.before = set(check_layers.Checker(self.copy).run())

    def plant(self, name, text, head=SPDX):
        path = self.copy / "src" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + text + "\n")
        new = set(check_layers.Checker(self.copy).run()) - self.before
        path.unlink()
        return new

    def test_each_fault_is_reported_where_it_is(self):
        for name, text, expected in FAULTS:
            with self.subTest(name=name, text=text):
                new = self.plant(name, text)
                self.assertTrue(any(expected in f and f.startswith(f"src/{name}:") for f in new), new)
                self.assertTrue(all(f.startswith(f"src/{name}:") for f in new), new)

    def test_harmless_text_is_not_reported(self):
        for name, text in HARMLESS:
            if (self.copy / "src" / name).exists():
                continue  # the real file is there and was checked as it is
            with self.subTest(name=name, text=text):
                self.assertEqual(self.plant(name, text), set())

    def test_a_missing_spdx_tag_is_reported(self):
        new = self.plant("base/planted.h", "int x;", head="")
        self.assertTrue(any("SPDX" in f for f in new), new)

    def test_an_empty_tree_is_not_clean(self):
        shutil.rmtree(self.copy / "src")
        (self.copy / "src").mkdir()
        self.assertTrue(check_layers.Checker(self.copy).run())


if __name__ == "__main__":
    unittest.main()
