# SPDX-License-Identifier: BSD-3-Clause
"""Makes the guest's only file system, an initramfs, from the environment: testpmd with its drivers, udevd, busybox."""

import glob
import os
import re
import stat
import subprocess

from kit import VmError

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = "/usr/lib/holdfast"  # our modules, in the guest: EAL loads nothing from below a folder that others may write to
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_failsafe", "net_af_packet", "net_tap")
PROGRAMS = ("/usr/bin/dpdk-testpmd", "/usr/lib/systemd/systemd-udevd", "/usr/bin/udevadm")
# What glibc and udevd open by name when they need it.
OPENED_BY_NAME = ("libgcc_s.so.1", "libkmod.so.2")
APPLETS = (
    "sh mount cat echo ls grep sed sleep stty dmesg insmod rmmod lsmod mkdir ln rm kill ps basename readlink cut tr wc "
    "setsid test true chmod ip head tail cp mv date find printf nproc usleep timeout"
).split()
KERNEL_MODULES = (
    "uio_pci_generic vfio_pci vfio_iommu_type1 e1000e igb igbvf virtio_net af_packet tun"
).split()
UDEV = ("rules.d/50-udev-default.rules", "rules.d/75-net-description.rules", "rules.d/80-net-setup-link.rules")


def libraries_of(files):
    """The shared libraries that the files are linked with."""
    found = set()
    for path in files:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        if "not found" in told:
            raise VmError("%s lacks a library:\n%s" % (path, told))
        found.update(re.findall(r"(/\S+)\s+\(0x", told))
    return found


class Image:
    """The files of an initramfs, and its writing as a cpio archive."""

    def __init__(self):
        self.files = {}  # path without the leading slash: (mode, content)

    def file(self, path, data, mode=0o755):
        self.files[path.lstrip("/")] = (stat.S_IFREG | mode, data)

    def link(self, path, target):
        self.files[path.lstrip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def folder(self, path):
        self.files.setdefault(path.strip("/"), (stat.S_IFDIR | 0o755, b""))

    def copy(self, source, path=None, mode=0o755):
        """The file, under the name that it has here, and at the place where merged /usr has it."""
        path = re.sub(r"^/(lib64|lib|bin|sbin)/", r"/usr/\1/", path or source)
        with open(source, "rb") as f:
            self.file(path, f.read(), mode)

    def write(self, out):
        for path in list(self.files):
            while path := os.path.dirname(path):
                self.folder(path)
        number = 0
        with open(out, "wb") as f:
            for path in sorted(self.files) + ["TRAILER!!!"]:
                mode, data = self.files.get(path, (0, b""))
                number += 1
                name = path.encode() + b"\0"
                links = 2 if stat.S_ISDIR(mode) else 1
                # inode, mode, user, group, links, time, size, device and its own device (two numbers each), name, sum
                numbers = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
                record = b"070701" + b"".join(b"%08X" % n for n in numbers) + name
                f.write(record + b"\0" * (-len(record) % 4) + data + b"\0" * (-len(data) % 4))


def build(out, kit, extra):
    """Writes the initramfs. `extra`: files of ours, which come to lie in OWN."""
    image = Image()
    pmds = glob.glob("/usr/lib/*/dpdk/pmds-*")
    if not pmds:
        raise VmError("there are no DPDK drivers here: run inside scripts/run-in-env")
    abi = pmds[0].rsplit("-", 1)[1]
    libraries = os.path.dirname(os.path.dirname(pmds[0]))
    drivers = ["%s/librte_%s.so.%s" % (pmds[0], name, abi) for name in DRIVERS]
    copied = [*PROGRAMS, *drivers, *(os.path.join(libraries, name) for name in OPENED_BY_NAME)]
    for path in set(copied) | libraries_of([*copied, *extra]):
        image.copy(path)
    for driver in drivers:  # EAL loads what is named with the first number alone
        image.link(driver.removesuffix(abi) + abi.split(".")[0], os.path.basename(driver))
    for path in extra:
        image.copy(path, "%s/%s" % (OWN, os.path.basename(path)))
    for name in ("lib", "lib64", "bin", "sbin"):
        image.link(name, "usr/" + name)
    image.copy(kit.busybox(), "/usr/bin/busybox")
    for applet in APPLETS:
        image.link("usr/bin/" + applet, "busybox")
    for wanted in KERNEL_MODULES:
        modules = {}
        kit.module_with_needs(wanted, modules)
        image.file("modules/" + wanted, "".join(name + "\n" for name in modules).encode(), 0o644)
        for name, data in modules.items():
            image.file("modules/%s.ko" % name, data, 0o644)
    for name in UDEV:
        image.copy("/usr/lib/udev/" + name, mode=0o644)
    image.copy("/usr/lib/systemd/network/99-default.link", mode=0o644)
    image.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    image.file("etc/group", b"root:x:0:\n", 0o644)
    image.file("etc/ld.so.conf", (libraries + "\n").encode(), 0o644)
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "var"):
        image.folder(name)
    image.copy(os.path.join(HERE, "guest_init"), "/init")
    image.write(out)
