# SPDX-License-Identifier: BSD-3-Clause
"""What happens to the devices of a guest while its testpmd forwards."""

import time
from dataclasses import dataclass

from bench import BACKUP, BACKUP_2, FAST, FAST_2, MACS
from kit import VmError
from machine import now

PATIENCE = 30.0
QUIET = 2.0  # how long nothing happens, to know what this machine does by itself
ENOUGH = 100  # frames that show that traffic flows


class Trouble(Exception):
    """A run that cannot go on."""


class Play:
    """One run: what is done, when, and what cannot be read from the packets."""

    def __init__(self, bench):
        self.bench = bench
        self.run = {
            "events": {"switch_ms": [], "return_ms": []},
            "deleted_ms": [],
            "downtime_ms": [],
            "migrations": [],
            "problems": [],
            "marks": [],
        }

    def mark(self, at, words):
        self.run["marks"].append((at, words))

    def check(self):
        if not self.bench.testpmd_lives():
            raise Trouble("testpmd died")

    def flows(self, link):
        """Of both ports, if there are two."""
        for pair, frames in enumerate(self.bench.networks):
            name = link + ("%d" % pair if pair else "")
            if not frames.more(name, ENOUGH, PATIENCE):
                self.check()
                raise Trouble("no traffic over %s" % link)

    def begin(self):
        self.flows("fast")
        at = now()
        time.sleep(QUIET)
        self.run["quiet"] = (at, now())
        self.run["begin"] = now()

    def end(self):
        time.sleep(0.3)
        self.check()
        self.run["end"] = now()

    def cut(self, words, act, to="backup"):
        """Does something after which traffic has to flow over another link; returns when that was."""
        at = now()
        self.mark(at, words)
        act()
        if to is not None:
            self.flows(to)
            self.run["events"]["switch_ms"].append((at, now()))
        return at

    def bring(self, words, act):
        at = now()
        self.mark(at, words)
        act()
        self.flows("fast")
        self.run["events"]["return_ms"].append((at, now()))

    def delete(self, device, to="backup"):
        """device_del, until qemu says that it is done."""
        at = self.cut("device_del " + device, lambda: self.bench.unplug(device), to)
        took = self.bench.unplugged(at, PATIENCE, device)
        if took is None:
            self.check()
            raise Trouble("device_del %s came to no end" % device)
        self.run["deleted_ms"].append(took * 1000)

    def add(self, device):
        self.bring("device_add " + device, lambda: self.bench.plug(device))


# ---- before testpmd starts

def on_vfio(bench):
    bench.remember("vfio-pci")  # which takes the device that is there, too; and each that comes
    for backup in (BACKUP, BACKUP_2)[: len(bench.pairs)]:
        bench.bind(backup, "vfio-pci")


def all_on_vfio(bench):
    """The passive one, too, when it comes again."""
    on_vfio(bench)
    bench.remember("vfio-pci", "virtio-net-pci")


def backup_on_vfio(bench):
    """The other one is Holdfast's to bind."""
    bench.machine.do("load %s" % bench.nic)
    bench.bind(BACKUP, "vfio-pci")


def as_interface(bench):
    """The kernel's own driver has it, and somebody has set its interface up."""
    backup_on_vfio(bench)
    up = "ip link set $(ls /sys/bus/pci/devices/%s/net) up" % FAST
    if not bench.eventually(lambda: bench.machine.run(up)[0] == 0):
        raise VmError("%s gets no interface" % FAST)


def with_functions(bench):
    """A virtual function, which is Holdfast's to bind, of a card that stays the kernel's."""
    bench.machine.do("load igb")
    bench.bind(FAST, "igb")
    bench.machine.do("ip link set $(ls /sys/bus/pci/devices/%s/net) up" % FAST)
    bench.machine.do("echo 1 > /sys/bus/pci/devices/%s/sriov_numvfs" % FAST)
    bench.bind(BACKUP, "vfio-pci")


# ---- what happens

def active(play):
    play.delete("fast0")
    play.add("fast0")


def passive(play):
    """Nothing may happen to the traffic."""
    play.delete("backup0", to="fast")
    play.run["events"]["switch_ms"].clear()
    at = now()
    play.mark(at, "device_add backup0")
    play.bench.plug("backup0")
    play.bench.eventually(lambda: play.bench.driver_of(BACKUP) == "vfio-pci", PATIENCE)
    play.flows("fast")


def unbind(play):
    driver = "/sys/bus/pci/drivers/vfio-pci/"
    play.cut("unbind", lambda: play.bench.machine.do("echo %s > %sunbind" % (FAST, driver)))
    play.bring("bind", lambda: play.bench.machine.do("echo %s > %sbind" % (FAST, driver)))


def rapid(play):
    """As fast as qemu takes it."""
    for number in range(20):
        at = now()
        play.mark(at, "device_del fast0")
        play.bench.unplug()
        took = play.bench.unplugged(at, PATIENCE)
        if took is None:
            play.check()
            raise Trouble("device_del %d came to no end" % (number + 1))
        play.run["deleted_ms"].append(took * 1000)
        if number < 19:
            play.bench.plug()
    play.add("fast0")


def link(play):
    def set_link(up):
        play.bench.machine.monitor.ask("set_link", name="fast0", up=up)

    play.cut("set_link down", lambda: set_link(False))
    play.bring("set_link up", lambda: set_link(True))


def sriov(play):
    count = "/sys/bus/pci/devices/%s/sriov_numvfs" % FAST
    play.cut("sriov_numvfs 0", lambda: play.bench.machine.do("echo 0 > " + count))
    play.bring("sriov_numvfs 1", lambda: play.bench.machine.do("echo 1 > " + count))


def migrate(play, times=3):
    """There and back."""
    devices = ["fast%d" % pair for pair in range(len(play.bench.pairs))]
    for _ in range(2 * times):
        for device in devices:
            play.delete(device, None)
        play.flows("backup")
        here = play.bench.machine.name
        begun, over, downtime = play.bench.migrate("b" if here == "a" else "a")
        play.mark(begun, "migrate")
        play.flows("backup")
        play.run["migrations"].append((begun, over + 0.3))
        play.run["downtime_ms"].append(downtime * 1000)
        time.sleep(0.5)
        at = now()
        for device in devices:
            play.mark(now(), "device_add " + device)
            play.bench.plug(device)
        play.flows("fast")
        play.run["events"]["return_ms"].append((at, now()))


@dataclass(frozen=True)
class Scenario:
    words: str
    play: callable
    prepare: callable
    subs: str  # of Holdfast's devargs; FAST and BACKUP, and their ID_PATH, are put in
    nic: str = "e1000e"
    pairs: int = 1

    def vdevs(self, driver):
        """As an operator writes them. In-tree fail-safe finds devices by their address only, and binds none."""
        ports = []
        for pair in range(self.pairs):
            fast, backup = ((FAST, BACKUP), (FAST_2, BACKUP_2))[pair]
            subs = self.subs if driver == "holdfast" else "dev(FAST),dev(BACKUP)"
            subs = subs.replace("FAST", fast).replace("BACKUP", backup).replace("MAC", MACS[pair])
            ports.append("net_%s%d,hotplug_poll=200,%s" % (driver, pair, subs))
        return ports

    def comparable(self):
        return "bind=" not in self.subs and "net_af_packet" not in self.subs


SCENARIOS = {
    "active": Scenario("device_del, device_add of the active device", active, on_vfio, "dev(FAST),dev(BACKUP)"),
    "passive": Scenario("device_del, device_add of the passive device", passive, all_on_vfio, "dev(FAST),dev(BACKUP)"),
    "unbind": Scenario("its driver is unbound, bound", unbind, on_vfio, "udev(ID_PATH=pci-FAST),dev(BACKUP)"),
    "rapid": Scenario(
        "20 x device_del, device_add", rapid, backup_on_vfio, "udev(ID_PATH=pci-FAST;bind=vfio-pci),dev(BACKUP)"
    ),
    "link": Scenario(
        "set_link off, on (QMP)",
        link,
        as_interface,
        "udev(subsystem=net;address=MAC;ID_NET_DRIVER=e1000e;devargs=net_af_packet0,iface=%k),dev(BACKUP)",
    ),
    "sriov": Scenario(
        "sriov_numvfs 0, 1",
        sriov,
        with_functions,
        "mac=MAC,udev(vendor=0x8086;device=0x10ca;bind=vfio-pci),dev(BACKUP)",
        "igb",
    ),
    "migrate": Scenario("live migration there and back, 3 times", migrate, on_vfio, "dev(FAST),dev(BACKUP)"),
    "migrate2": Scenario(
        "the same with two ports", migrate, on_vfio, "dev(FAST),dev(BACKUP)", pairs=2
    ),
}
