#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a built driver module: what it needs, what it exports, and what dpdk-pmdinfo.py reads from it.

Usage: check_module.py MODULE DRIVER PREFIX PUBLIC_HEADER
DRIVER is the driver's name as pmdinfo shows it (net_holdfast), PREFIX the one of its public functions. PUBLIC_HEADER is
"none" for a module that has no functions for applications: then it must export nothing at all.
"""

import json
import pathlib
import re
import subprocess
import sys

# Libraries a driver module may need; DPDK's are those that scripts/cmake/Dpdk.cmake offers.
DPDK = {"eal", "ethdev", "mbuf", "mempool", "ring", "kvargs", "telemetry", "log", "net", "bus_vdev"}
DPDK_REQUIRED = {"eal", "ethdev", "bus_vdev"}
MORE = {"net_holdfast": {"libudev.so.1"}}
SYSTEM = re.compile(r"^(libstdc\+\+|libgcc_s|libm|libc|ld-linux[\w-]*|libatomic|libpthread)\.so")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def faults_of(module, driver, prefix, header):
    dynamic = output("readelf", "--dynamic", "--wide", module)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    dpdk = {m.group(1) for m in (re.match(r"librte_(\w+)\.so", name) for name in needed) if m}
    for name in sorted(DPDK_REQUIRED - dpdk):
        yield f"does not need librte_{name}: a program that has not loaded it could not load the module"
    for name in sorted(dpdk - DPDK):
        yield f"needs librte_{name}, which is not in the list"
    for name in needed:
        if not name.startswith("librte_") and not SYSTEM.match(name) and name not in MORE.get(driver, ()):
            yield f"needs {name}"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "has a run path"

    exported = {}
    for line in output("nm", "--dynamic", "--defined-only", "--with-symbol-versions", module).splitlines():
        _, kind, symbol = line.split(maxsplit=2)
        name, _, version = symbol.partition("@")
        if kind != "A":
            exported[name] = (kind, version.lstrip("@"))
    for name, (kind, version) in sorted(exported.items()):
        if kind != "T":
            yield f"exports {name}, which is not a function (nm: {kind})"
        elif not name.startswith(prefix):
            yield f"exports {name}"
        elif not version:
            yield f"exports {name} without a version"
    text = "" if header == "none" else pathlib.Path(header).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    # A static inline function is the header's own.
    text = re.sub(r"\bstatic\s+inline\b[^;{]*", "", text)
    declared = set(re.findall(rf"^[^={{]*?\b({prefix}\w+)\s*\([^;{{}}]*\)\s*;", text, flags=re.MULTILINE))
    if not declared and header != "none":
        yield f"{header} declares no function {prefix}..."
    for name in sorted(declared - set(exported)):
        yield f"does not export {name}, which {header} declares"
    for name in sorted(set(exported) - declared):
        yield f"exports {name}, which {header} does not declare"

    if re.search(r"\bUNIQUE\b", output("readelf", "--dyn-syms", "--wide", module)):
        yield "has a unique symbol, which all loaded modules would share"

    # Symbols for drivers only do not tie a module to an ABI, a public one does.
    versions = set(re.findall(r"@(DPDK_\d+)\b", output("nm", "--dynamic", "--undefined-only", "--with-symbol-versions", module)))
    if len(versions) != 1:
        yield f"refers to {sorted(versions) or 'no'} public DPDK ABI; it must be one"

    shown = json.loads(output("dpdk-pmdinfo.py", module) or "[]")
    if [entry.get("name") for entry in shown] != [driver]:
        yield f"dpdk-pmdinfo.py shows {shown} and not {driver}"


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    faults = list(faults_of(*sys.argv[1:]))
    for fault in faults:
        print(f"{sys.argv[1]}: {fault}")
    if not faults:
        print(f"{sys.argv[1]}: as it should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
