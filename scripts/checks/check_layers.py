#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the compiler cannot: who includes whom, what base and datapath may name, and the partners of orderings.

Usage: check_layers.py CHECKOUT
Prints one line per fault, "file:line: what", and exits with 1 if there was one.
"""

import pathlib
import re
import sys

# Each layer and what it may include. datapath must not see private structs; hotplug has no business with packets.
MAY_INCLUDE = {
    "base": {"base"},
    "abi": {"base", "abi"},
    "datapath": {"base", "datapath"},
    "port": {"base", "abi", "datapath", "port"},
    "hotplug": {"base", "abi", "port", "hotplug"},
    "driver": {"base", "abi", "datapath", "port", "hotplug", "driver"},
    "mayfly": {"base", "abi", "mayfly"},
}

# DPDK's driver headers, ours (src/abi/dpdk) or Debian's. The one named exception: the flow fast path is declared there.
DRIVER_HEADER = re.compile(r"^(rte_\w+_driver\.h|\w*_driver\.h|ethdev_\w+\.h)$")
DRIVER_HEADER_ALLOWED = {("datapath/flow_async.cpp", "rte_flow_driver.h")}

# What the fast path must not name, by what it would do there.
DATAPATH_FORBIDDEN = {
    "allocation": r"\bnew\b|\b(?:m|c|re)alloc\b|\baligned_alloc\b|\bfree\s*\(|\brte_(?:m|zm|c|re)alloc\w*|\brte_free\b"
    r"|\bmake_(?:unique|shared)\b|\b(?:unique|shared)_ptr\b|\bstd::(?:string|vector|map|set|deque|list|function)\b"
    r"|\bstd::unordered_\w+|\bdelete\b",
    "lock": r"\bstd::\w*mutex\b|\bstd::(?:lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable)\b"
    r"|\bpthread_\w+|\brte_(?:spinlock|rwlock|ticketlock|mcslock|seqlock|pflock)\w*|\bMutex\b|\bLocked\b",
    "log": r"\bRTE_LOG\w*|\brte_v?log\w*|\bHOLDFAST_LOG\w*|\b[a-z]*printf\b|\bstd::(?:cout|cerr|clog|format)\b",
    "clock": r"\bstd::chrono\b|\bclock_gettime\b|\bgettimeofday\b|\brte_(?:rdtsc|get_\w*cycles|get_\w*hz|delay_\w+)\w*"
    r"|\bsleep\b|\busleep\b|\bnanosleep\b",
    "exception": r"\bthrow\b",
}
DATAPATH_FORBIDDEN_HEADERS = {
    "mutex", "shared_mutex", "condition_variable", "thread", "chrono", "ctime", "string", "vector", "map", "set", "list",
    "deque", "unordered_map", "unordered_set", "functional", "memory", "iostream", "sstream", "format", "cstdio",
    "rte_malloc.h", "rte_log.h", "rte_spinlock.h", "rte_rwlock.h", "rte_cycles.h", "time.h", "stdio.h", "pthread.h",
    "base/mutex.h",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ATOMIC_ACCESS = re.compile(r"(?:\.|->)(load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set)\s*\(")
# A label ends where its parenthesis begins: "pairs: guard-dekker (Guard::enter)".
PAIRS = re.compile(r"\bpairs:\s*([\w.-]*)")


def blank_comments(text):
    """Replaces comments by blanks, keeping line numbers; strings stay."""

    def blank(match):
        return match.group(0) if match.group(0)[0] in "\"'" else re.sub(r"[^\n]", " ", match.group(0))

    # Digit separators (1'000) are the one place where ' does not open a character literal.
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def argument_text(code, opening):
    """The text between the parenthesis at `opening` and its partner."""
    depth = 0
    for i in range(opening, len(code)):
        if code[i] == "(":
            depth += 1
        elif code[i] == ")":
            depth -= 1
            if depth == 0:
                return code[opening + 1 : i]
    return code[opening + 1 :]


class Checker:
    def __init__(self, checkout):
        self.checkout = pathlib.Path(checkout)
        self.src = self.checkout / "src"
        self.faults = []
        self.labels = {}

    def fault(self, path, line, what):
        self.faults.append(f"{path.relative_to(self.checkout)}:{line}: {what}")

    def run(self):
        files = sorted(p for p in self.src.rglob("*") if p.suffix in (".h", ".cpp"))
        if not files:
            self.faults.append("src: no source found")
        for path in files:
            layer = path.relative_to(self.src).parts[0]
            if layer not in MAY_INCLUDE:
                self.fault(path, 1, f"'{layer}' is no layer")
                continue
            self.check_file(path, layer)
        for label, places in sorted(self.labels.items()):
            if len(places) < 2:
                self.fault(*places[0], f"the ordering '{label}' has no partner")
        self.check_first_lines()
        return self.faults

    def check_file(self, path, layer):
        text = path.read_text(encoding="utf-8")
        code = blank_comments(text)
        shim = path.is_relative_to(self.src / "abi" / "dpdk")
        for number, line in enumerate(code.splitlines(), 1):
            include = INCLUDE.match(line)
            if include:
                if not shim:
                    self.check_include(path, number, layer, *include.groups())
            else:
                self.check_names(path, number, layer, line)
        for match in ATOMIC_ACCESS.finditer(code):
            if not re.search(r"memory_order|\border\b", argument_text(code, match.end() - 1)):
                self.fault(path, code.count("\n", 0, match.start()) + 1, f"atomic {match.group(1)} names no memory order")
        for number, line in enumerate(text.splitlines(), 1):
            for match in PAIRS.finditer(line.partition("//")[2]):
                if match.group(1):
                    self.labels.setdefault(match.group(1), []).append((path, number))
                else:
                    self.fault(path, number, "'pairs:' without a label")

    def check_include(self, path, number, layer, quote, name):
        first = name.split("/")[0]
        if first in MAY_INCLUDE and "/" in name:
            if first not in MAY_INCLUDE[layer]:
                self.fault(path, number, f"{layer} must not include {name}")
            if quote == "<":
                self.fault(path, number, f"own header {name} must be included with quotes")
        elif quote == '"' and not name.startswith("rte_pmd_"):
            self.fault(path, number, f'"{name}" is not written as "layer/file.h"')
        elif name.startswith(".."):
            self.fault(path, number, f"relative include {name}")
        if name.startswith("abi/dpdk/"):
            self.fault(path, number, f"{name} must be included by the name of DPDK's header")
        if layer == "base" and (name.startswith("rte_") or DRIVER_HEADER.match(name)):
            self.fault(path, number, f"base must not include {name}")
        if layer == "datapath":
            where = str(path.relative_to(self.src))
            if DRIVER_HEADER.match(name) and (where, name) not in DRIVER_HEADER_ALLOWED:
                self.fault(path, number, f"datapath must not include the driver header {name}")
            if name in DATAPATH_FORBIDDEN_HEADERS:
                self.fault(path, number, f"datapath must not include {name}")

    def check_names(self, path, number, layer, line):
        if layer == "base":
            match = re.search(r"\b(?:rte|RTE)_\w*", line)
            if match:
                self.fault(path, number, f"base names {match.group(0)}")
        if layer == "datapath":
            line = re.sub(r"=\s*delete\b", "", line)
            for kind, pattern in DATAPATH_FORBIDDEN.items():
                match = re.search(pattern, line)
                if match:
                    self.fault(path, number, f"datapath names {match.group(0).strip(' (')} ({kind})")
        # A fence for the compiler alone troubles no sanitizer; it has one place.
        fence = re.search(r"\batomic_(thread|signal)_fence\b", line)
        if fence and (fence.group(1), str(path.relative_to(self.src))) != ("signal", "base/guard.h"):
            self.fault(path, number, "a free-standing fence: put the order on the operation")

    def check_first_lines(self):
        for folder in ("src", "include", "tests", "scripts", "examples"):
            for path in sorted((self.checkout / folder).rglob("*")):
                if not path.is_file() or path.suffix not in (".h", ".cpp", ".c", ".py", ".sh", ".cmake", ".map"):
                    continue
                lines = path.read_text(encoding="utf-8").splitlines()[:2]
                if lines and lines[0].startswith("#!"):
                    lines = lines[1:]
                if not lines or "SPDX-License-Identifier: BSD-3-Clause" not in lines[0]:
                    self.fault(path, 1, "the first line must be the SPDX tag")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = Checker(sys.argv[1]).run()
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults" if faults else "layers: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
