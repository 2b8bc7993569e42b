# SPDX-License-Identifier: BSD-3-Clause
"""The test bench: a guest on two links, frames that go round through its testpmd, and what one can do to its devices."""

import json
import os
import shutil
import sys
import tempfile
import time

from image import OWN, build
from kit import CHECKOUT, Kit, VmError
from machine import PATIENCE, Machine, now

sys.path.insert(0, os.path.join(CHECKOUT, "scripts", "demo.d"))
from processes import Traffic  # noqa: E402

# Of the virtual ports and of both devices of each, as an operator gives it to a VF and its stand-in.
MACS = ("02:00:00:00:00:0a", "02:00:00:00:00:0b")
# Where the devices are in the guest: those of the first port, and those of the second.
FAST, BACKUP = "0000:01:00.0", "0000:02:00.0"
FAST_2, BACKUP_2 = "0000:04:00.0", "0000:05:00.0"
# Links to the network outside, a pair for each port, and the slots of their devices: fast0, backup0, fast1, backup1.
PAIRS = ((("fast", "slot1"), ("backup", "slot2")), (("fast1", "slot4"), ("backup1", "slot5")))
NICS = {"e1000e": ("8086", "10d3"), "igb": ("8086", "10c9"), "virtio-net-pci": ("1af4", "1041")}
NOTHING_TO_PROBE = "0000:00:1f.6"  # an allow-list of nothing, so that EAL leaves the devices to Holdfast
RECIPE = os.path.join(CHECKOUT, "examples", "live-migration", "qmp")
VFIO_MODULES = "vfio_pci,vfio_iommu_type1,uio_pci_generic"


def build_dir():
    named = os.environ.get("HOLDFAST_BUILD_DIR")
    return named or os.path.join(CHECKOUT, "build", os.environ.get("HOLDFAST_IN_ENV", "native") + "-release")


def recipe(name, **changes):
    """A command of examples/live-migration, as (command, arguments): what operators are told is what is tried here."""
    with open(os.path.join(RECIPE, name + ".json"), encoding="utf-8") as f:
        step = json.load(f)
    return step["execute"], {**step["arguments"], **changes}


class Frames(Traffic):
    """The network outside."""

    def __init__(self, links, out_dir, rate=1000, pair=0):
        name = "frames" + ("%d" % pair if pair else "")
        self.packet_log = os.path.join(out_dir, name + ".packets")
        self.start([os.path.join(build_dir(), "tests", "holdfast_frames"), "--to", MACS[pair], "--log", self.packet_log]
                   + ["--rate", str(rate)] + [word for link in links for word in ("--link", link)],
                   os.path.join(out_dir, name + ".log"))

    def more(self, link, count, patience=PATIENCE):
        """Waits until so many more frames have come back over that link; False if they do not."""
        with self.changed:
            wanted = self.counts["received"].get(link, 0) + count
            until = now() + patience
            while self.counts["received"].get(link, 0) < wanted:
                if now() >= until:
                    return False
                self.changed.wait(0.1)
        return True


class Bench:
    """One guest and its network. Ends with the block that made it."""

    def __init__(self, out_dir, nic="e1000e", rate=1000, pairs=1):
        self.out = out_dir
        self.pairs = PAIRS[:pairs]
        self.nic = nic
        os.makedirs(out_dir, exist_ok=True)
        self.kit = Kit()
        self.sockets = tempfile.mkdtemp(prefix="holdfast-vm-", dir="/run")  # a socket's path has to be short
        self.image = os.path.join(self.sockets, "image")
        self.rate = rate
        self.machine = None
        self.networks = []  # of each pair, its frames
        self.port = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for frames in self.networks:
            frames.close(5.0)
        if self.machine is not None:
            self.machine.end()
        for name in os.listdir(self.sockets):
            if name.endswith(".log"):
                shutil.copy(os.path.join(self.sockets, name), self.out)
        shutil.rmtree(self.sockets)

    def start(self):
        build(self.image, self.kit, [os.path.join(build_dir(), "librte_net_holdfast.so"),
                                     os.path.join(build_dir(), "tests", "holdfast_ask")])
        self.machine = self.make_machine("a", True)
        self.machine.wait_until_up()

    def wire(self, link, machine, own=False):
        return os.path.join(self.sockets, "%s.%s" % (link, "net" if own else machine))

    def make_machine(self, name, with_fast, incoming=None):
        devices = ["-device", "intel-iommu,intremap=on"]
        for number in range(1, 6):
            devices += ["-device", "pcie-root-port,id=slot%d,slot=%d,chassis=%d" % (number, number, number)]
        for link in (link for pair in self.pairs for link, _ in pair):
            devices += ["-netdev", "dgram,id=%s,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s"
                        % (link, self.wire(link, name), self.wire(link, name, own=True))]
        for pair in range(len(self.pairs)):
            for kind in ("fast", "backup") if with_fast else ("backup",):
                words = self.device("%s%d" % (kind, pair))
                devices += ["-device", words.pop("driver") + "".join(
                    ",%s=%s" % (key, "on" if value is True else value) for key, value in words.items())]
        # iommu=pt: a device that is on no vfio driver sees memory as it is, as uio_pci_generic needs it.
        words = "intel_iommu=on iommu=pt hf.modules=" + VFIO_MODULES
        return Machine(name, self.sockets, self.kit, self.image, devices, words, incoming=incoming)

    def device(self, name):
        """What qemu has to be told of a device: fast0, backup0; of a second port fast1, backup1."""
        pair = int(name[-1])
        kind = 0 if name.startswith("fast") else 1
        link, slot = self.pairs[pair][kind]
        more = {"disable-legacy": "on", "iommu_platform": True} if kind else {}
        driver = "virtio-net-pci" if kind else self.nic
        return {"driver": driver, "id": name, "bus": slot, "netdev": link, "mac": MACS[pair], **more}

    # ---- traffic

    @property
    def frames(self):
        """Those of the first port."""
        return self.networks[0]

    def start_frames(self, machines=("a",)):
        for number, pair in enumerate(self.pairs):
            ways = ["%s=%s" % (link, ",".join([self.wire(link, "", own=True)] + [self.wire(link, m) for m in machines]))
                    for link, _ in pair]
            self.networks.append(Frames(ways, self.out, self.rate, number))

    def stop_frames(self):
        """The logs of the first port's frames and, where there is one, of the second's."""
        networks, self.networks = self.networks, []
        for frames in networks:
            frames.finish()
        return [frames.packet_log for frames in networks]

    # ---- the guest's devices

    def bind(self, address, driver):
        """By hand, as an administrator does; the device keeps it until it goes."""
        folder = "/sys/bus/pci/devices/" + address
        self.machine.do("echo %s > %s/driver_override" % (driver, folder))
        self.machine.do("[ ! -e %s/driver ] || echo %s > %s/driver/unbind" % (folder, address, folder))
        self.machine.do("echo %s > /sys/bus/pci/drivers/%s/bind" % (address, driver))

    def driver_of(self, address):
        """The driver's name; empty: none, or no such device."""
        return self.machine.run("basename $(readlink /sys/bus/pci/devices/%s/driver) 2>/dev/null" % address)[1].strip()

    def remember(self, driver, nic=None):
        """From now on the driver takes each such device that comes."""
        self.machine.do("echo %s %s > /sys/bus/pci/drivers/%s/new_id" % (*NICS[nic or self.nic], driver))

    def forget(self, driver, nic=None):
        self.machine.do("echo %s %s > /sys/bus/pci/drivers/%s/remove_id" % (*NICS[nic or self.nic], driver))

    # ---- the operator's side

    def unplug(self, device="fast0"):
        """Asks for the removal; returns when that was."""
        at = now()
        self.machine.monitor.order(*recipe("unplug", id=device))
        return at

    def unplugged(self, since, patience, device="fast0"):
        """How long the removal took, in seconds; None if it did not come to its end."""
        at = self.machine.monitor.wait_for("DEVICE_DELETED", since, patience, device=device)
        return None if at is None else at - since

    def plug(self, device="fast0"):
        at = now()
        if device == "fast0":
            self.machine.monitor.order(*recipe("plug", driver=self.nic))
        else:
            self.machine.monitor.order("device_add", self.device(device))
        return at

    def migrate(self, name, patience=60.0):
        """Moves the guest, without its fast devices, to a second qemu of that name: (begun, over, qemu's downtime in
        seconds). Its own network goes on where it was."""
        way = "unix:" + os.path.join(self.sockets, name + ".migration")
        target = self.make_machine(name, False, way)
        try:
            source = self.machine.monitor
            source.order(*recipe("parameters"))
            begun = now()
            source.order(*recipe("migrate", uri=way))
            while (state := source.ask("query-migrate"))["status"] != "completed":
                if state["status"] in ("failed", "cancelled") or now() > begun + patience:
                    raise VmError("the migration %s: %s" % (state["status"], state.get("error-desc", "it takes long")))
                time.sleep(0.005)
        except BaseException:
            target.end()
            raise
        over = now()
        self.machine, source = target, self.machine
        source.end()
        return begun, over, state["downtime"] / 1000

    # ---- testpmd

    def start_testpmd(self, *vdevs, options=(), eal=()):
        """Debian's own, with Holdfast loaded as users load it, forwarding."""
        terminal, machine = self.machine.testpmd, self.machine
        mark = terminal.mark()
        command = ["dpdk-testpmd", "-l", "0,1", "--file-prefix=hf", "-a", NOTHING_TO_PROBE, *eal]
        command += ["-d", OWN + "/librte_net_holdfast.so"]
        for vdev in vdevs:
            command += ["--vdev", "'%s'" % vdev]
        command += ["--", "-i", "--forward-mode=macswap", "--nb-cores=1", "--total-num-mbufs=4096", "--rxd=512"]
        command += ["--txd=512", "--port-topology=loop", *options]
        # A session of its own, so that the terminal's signals do not reach the guest's first process.
        machine.do("setsid %s </dev/ttyS2 >/dev/ttyS2 2>&1 & echo $! >/run/testpmd.pid" % " ".join(command))
        terminal.wait_for("testpmd> ", mark)
        self.write("start")
        self.port = self.ask("/holdfast/list")[0] if "holdfast" in vdevs[0] else None

    def write(self, line):
        self.machine.testpmd.write(line)

    def testpmd_lives(self):
        return self.machine.run("kill -0 $(cat /run/testpmd.pid)")[0] == 0

    def quit_testpmd(self):
        """As its operator would; False if it does not end."""
        self.write("quit")
        return self.eventually(lambda: not self.testpmd_lives())

    def ask(self, command):
        """One question to its telemetry."""
        told = self.machine.do("%s/holdfast_ask /run/dpdk/hf/dpdk_telemetry.v2 %s" % (OWN, command))
        return json.loads(told)[command.split(",")[0]]

    def sub(self, index):
        return self.ask("/holdfast/info,%d" % self.port)["subs"][str(index)]

    def active(self):
        return self.ask("/holdfast/info,%d" % self.port)["active"]

    @staticmethod
    def eventually(condition, patience=PATIENCE):
        until = now() + patience
        while not condition():
            if now() >= until:
                return False
        return True
