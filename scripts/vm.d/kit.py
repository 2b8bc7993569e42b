# SPDX-License-Identifier: BSD-3-Clause
"""The VM's parts that no environment has: qemu, a kernel with its modules, busybox. scripts/setup --vm unpacks them."""

import glob
import lzma
import os
import re
import subprocess

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class VmError(Exception):
    """The VM cannot be made, or did not do what it was told."""


def plain(module):
    """The kernel takes both signs for the same in a module's name."""
    return module.replace("-", "_")


class Kit:
    """The folder of scripts/setup --vm."""

    def __init__(self, folder=None):
        self.folder = folder or self.where()
        if not os.path.isdir(self.folder):
            raise VmError("there is no qemu: run scripts/setup --vm")
        self.modules = {}
        for path in glob.glob(self.path("usr/lib/modules/*/kernel/**/*.ko*"), recursive=True):
            self.modules[plain(os.path.basename(path).split(".ko")[0])] = path

    @staticmethod
    def where():
        script = 'source "$0" && hf_vm_kit'
        common = os.path.join(CHECKOUT, "scripts", "lib", "common.sh")
        return subprocess.run(["bash", "-c", script, common], capture_output=True, text=True, check=True).stdout.strip()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def kernel(self):
        return glob.glob(self.path("boot/vmlinuz-*"))[0]

    def busybox(self):
        return self.path("usr/bin/busybox")

    def qemu(self):
        """The command, and the environment that it needs. What a system has already was not unpacked."""
        own = self.path("usr/bin/qemu-system-x86_64")
        libraries = self.path("usr/lib/x86_64-linux-gnu")
        command = [own if os.path.exists(own) else "qemu-system-x86_64"]
        for folder in ("share/qemu", "share/seabios", "lib/ipxe/qemu"):
            for top in (self.path("usr"), "/usr"):
                command += ["-L", os.path.join(top, folder)]
        environment = dict(os.environ, LD_LIBRARY_PATH=libraries, QEMU_MODULE_DIR=os.path.join(libraries, "qemu"))
        return command, environment

    def module_with_needs(self, name, found):
        """Adds the module's data to `found`, after those that it needs."""
        name = plain(name)
        if name in found or name not in self.modules:
            return  # that one is in the kernel itself
        with open(self.modules[name], "rb") as f:
            data = f.read()
        if self.modules[name].endswith(".xz"):
            data = lzma.decompress(data)
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs[1].decode().split(",") if needs else ():
            self.module_with_needs(other, found)
        found[name] = data
