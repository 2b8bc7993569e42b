# SPDX-License-Identifier: BSD-3-Clause
"""The network of the demo: two namespaces, veth pairs between them, nothing outside."""

import json
import os
import secrets
import subprocess
import sys


# libudev reads /sys, which shows the network namespace of whoever mounted it. What is mounted here must not get out:
# a mount namespace alone does not see to that where /sys is shared. The command keeps its process id and its signals.
OWN_SYSFS = [
    "unshare",
    "--mount",
    "--propagation",
    "unchanged",
    "--",
    "sh",
    "-c",
    'mount --make-private /sys && mount -t sysfs sysfs /sys && exec "$@"',
    "sh",
]


class LabError(Exception):
    """The machine cannot do what the demo needs."""


def missing_for_lab():
    """Returns what this machine lacks for namespaces, veth and tap, or None."""
    if os.geteuid() != 0:
        return "root"
    probes = (
        ("network namespaces with veth", ["ip", "link", "add", "hfprobe", "type", "veth", "peer", "name", "hfprobe1"]),
        ("a sysfs of a network namespace's own", OWN_SYSFS + ["true"]),
    )
    for what, command in probes:
        probe = subprocess.run(
            ["unshare", "--net"] + command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if probe.returncode != 0:
            return "%s (%s)" % (what, probe.stderr.strip() or "unshare failed")
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return "/dev/net/tun (%s)" % error.strerror
    return None


class Lab:
    """`mid` holds testpmd and its interfaces, `far` holds the other ends."""

    def __init__(self):
        # A killed run leaves its names behind, and process numbers come again.
        unique = "hf%d-%s" % (os.getpid(), secrets.token_hex(3))
        self.mid = unique + "-mid"
        self.far = unique + "-far"
        self.made = []

    def run(self, netns, command, check=True, text=""):
        # Not "ip -n" or "ip netns exec": both remount /sys, which a chroot whose root is no mount point refuses.
        done = subprocess.run(self.inside(netns) + command, input=text, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise LabError("%s: %s" % (" ".join(command), done.stderr.strip()))
        return done

    @staticmethod
    def inside(netns):
        return ["nsenter", "--net=/run/netns/" + netns, "--"]

    def create(self):
        for name in (self.mid, self.far):
            done = subprocess.run(
                ["ip", "netns", "add", name], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise LabError("cannot make the network namespace %s: %s" % (name, done.stderr.strip()))
            self.made.append(name)
            # Otherwise the kernel's own neighbour and router packets run through the driver, too.
            self.run(
                name,
                ["sh", "-c", "for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e $f ] || echo 1 >$f; done"],
            )

    def add_veth(self, name, mac=None):
        """Makes the pair `name` (mid, with that MAC address) and `name`1 (far); both are up when this returns."""
        # By one process: so there is next to no time between its coming into being and its being of use.
        near = name + (" address " + mac if mac is not None else "")
        lines = "link add %s1 netns %s up type veth peer name %s\nlink set %s up\n" % (name, self.far, near, name)
        self.run(self.mid, ["ip", "-batch", "-"], text=lines)

    def delete(self, name):
        self.run(self.mid, ["ip", "link", "del", name])

    def counters(self, name):
        """The kernel's counters of an interface in `mid`: (index, received by it, sent by it); None: it is gone."""
        done = self.run(self.mid, ["ip", "-s", "-j", "link", "show", "dev", name], check=False)
        if done.returncode != 0:
            return None
        link = json.loads(done.stdout)[0]
        stats = link["stats64"]
        return link["ifindex"], stats["rx"]["packets"], stats["tx"]["packets"]

    def destroy(self):
        for name in reversed(self.made):
            done = subprocess.run(
                ["ip", "netns", "del", name], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                print("demo: cannot delete the network namespace %s: %s" % (name, done.stderr.strip()), file=sys.stderr)
        self.made = []
