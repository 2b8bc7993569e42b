# SPDX-License-Identifier: BSD-3-Clause
"""Two links below one port of testpmd, of a driver of one's choice, and hands that cut them."""

import fcntl
import os
import socket
import struct
import threading
import time

from lab import OWN_SYSFS, Lab, LabError
from processes import Testpmd, Traffic, describe_exit, now
from stand import Stand, built, find_port

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

# What each driver is called with; members are ports of testpmd's own only for net_bonding.
DRIVERS = {
    "holdfast": "net_holdfast0,lsc_poll=10,hotplug_poll=200",
    "holdfast rx=active": "net_holdfast0,lsc_poll=10,hotplug_poll=200,rx=active",
    "failsafe": "net_failsafe0,hotplug_poll=200",
    "bonding": "net_bonding0,mode=1",
}
BOND = 2  # net_bonding's port, behind its members


class Hand:
    """Sets interfaces of one namespace up and down at once, without a process for each."""

    def __init__(self, netns):
        self.socket = None
        opener = threading.Thread(target=self._open, args=(netns,))
        opener.start()
        opener.join()
        if self.socket is None:
            raise LabError("no socket in the namespace %s" % netns)

    def _open(self, netns):
        # A socket stays in the namespace in which it was made; only this short-lived thread goes there.
        with open("/run/netns/" + netns, encoding="ascii") as place:
            os.setns(place.fileno(), os.CLONE_NEWNET)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def set_up(self, interface, up):
        request = struct.pack("16sH22x", interface.encode(), 0)
        flags = struct.unpack_from("H", fcntl.ioctl(self.socket, SIOCGIFFLAGS, request), 16)[0]
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(self.socket, SIOCSIFFLAGS, struct.pack("16sH22x", interface.encode(), flags))

    def close(self):
        self.socket.close()


class Stage:
    """Frames enter testpmd at hfin and leave at hfa1 or hfb1; each flooded one is sent into both of these.

    Over veth pairs (hfa, hfb), which net_af_packet has no link events for, or over simulated NICs, which tell: each is
    wired to another one, whose frames testpmd carries on to hfa or hfb."""

    def __init__(self, driver, simulated):
        self.driver = driver
        self.simulated = simulated
        self.lab = Lab()
        self.prefix = self.lab.mid.replace("-mid", "")
        self.inside = self.lab.inside(self.lab.mid) + OWN_SYSFS
        self.hands = {}

    def create(self):
        self.lab.create()
        for name in ("hfin", "hfa", "hfb"):
            self.lab.add_veth(name)
        self.hands = {netns: Hand(netns) for netns in (self.lab.mid, self.lab.far)}

    def destroy(self):
        for hand in self.hands.values():
            hand.close()
        self.lab.destroy()

    def below(self):
        if self.simulated:
            return ["net_mayfly%d,mode=pair,peer=net_mayfly%d" % (i, i + 10) for i in (0, 1)]
        return ["net_af_packet%d,iface=hf%s" % (i, "ab"[i]) for i in (0, 1)]

    def vdevs(self):
        own = DRIVERS[self.driver]
        if self.driver == "bonding":
            names = [args.split(",")[0] for args in self.below()]
            made = self.below() + [own + "".join(",member=" + name for name in names) + ",primary=" + names[0]]
        else:
            made = [own + "".join(",dev(%s)" % args for args in self.below())]
        made.append("net_af_packet9,iface=hfin")
        if self.simulated:
            for i in (0, 1):
                made.append("net_mayfly%d,mode=pair,peer=net_mayfly%d" % (i + 10, i))
                made.append("net_af_packet%d,iface=hf%s" % (i + 1, "ab"[i]))
        return made

    def app(self):
        """Bonding's members are ports like any others, but not to be forwarded between."""
        if self.driver != "bonding":
            return []
        return ["--portlist=" + ",".join(str(BOND + i) for i in range(6 if self.simulated else 2))]

    def modules(self):
        return (["mayfly"] if self.simulated else []) + (["holdfast"] if self.driver.startswith("holdfast") else [])


class Bed(Stand):
    """testpmd on a stage under traffic, and what one can do to it."""

    def __init__(self, options, driver, simulated, name, rate, forwarder=1):
        super().__init__(options, Stage(driver, simulated), driver, name)
        self.rate = rate
        self.forwarder = forwarder
        self.port = None

    def build_up(self):
        stage, options = self.stage, self.options
        stage.create()
        modules = [self.loadable(built(options, "librte_net_%s.so" % name)) for name in stage.modules()]
        self.testpmd = Testpmd(
            stage.prefix,
            stage.vdevs(),
            options.out,
            self.name + ".testpmd",
            modules,
            stage.inside,
            eal=["--main-lcore=%d" % (1 - self.forwarder)],
            app=stage.app(),
        )
        if not self.testpmd.wait_for_prompt(20.0):
            state = describe_exit(self.testpmd.exit_code())
            raise LabError("testpmd did not come up (%s), see %s" % (state, self.testpmd.log_path))
        if self.driver.startswith("holdfast"):
            self.port = find_port(self.testpmd)
        if self.driver == "bonding":  # its argument lsc_poll_period_ms= is refused as an unknown one
            self.testpmd.write("set bonding mon_period %d 10" % BOND)
        tool = built(options, "tests", "holdfast_traffic")
        far = stage.lab.far
        self.traffic = Traffic(
            tool, far + "/hfin1", [far + "/hfa1", far + "/hfb1"], self.rate, options.out, self.name, flood=True
        )
        if not self.carried_by("hfa1", 10.0):
            raise LabError("no frame came through; see %s" % self.testpmd.log_path)

    # --- what is seen -----------------------------------------------------------------------------------------------

    def way(self):
        with self.traffic.changed:
            return self.traffic.vias[-1][1] if self.traffic.vias else None

    def carried_by(self, sink, patience):
        """Do frames leave there, now or within so many seconds?"""
        end = now() + patience
        while self.way() != sink:
            if now() >= end or not self.testpmd.alive():
                return False
            time.sleep(0.005)
        return True

    def flows(self, patience):
        """Do frames leave anywhere?"""
        before = sum(self.traffic.received().values())
        end = now() + patience
        while sum(self.traffic.received().values()) == before:
            if now() >= end or not self.testpmd.alive():
                return False
            time.sleep(0.02)
        return True

    def info(self):
        return self.testpmd.telemetry("/holdfast/info,%d" % self.port) if self.port is not None else None

    # --- what is done -----------------------------------------------------------------------------------------------

    def command(self, words):
        answer = self.testpmd.telemetry(words)
        return isinstance(answer, dict) and answer.get("status", answer.get("result")) == 0

    def switch(self, to):
        """By hand; False: this driver cannot, or the sub-device does not run or has no link yet."""
        if self.port is not None:
            return self.command("/holdfast/switch,%d,%d" % (self.port, to))
        if self.driver == "bonding":
            self.testpmd.write("set bonding primary %d %d" % (to, BOND))
            return True
        return False

    def cut(self, scenario):
        self._set(scenario, False)

    def mend(self, scenario):
        self._set(scenario, True)
        # Links that fail again and again within a minute have to be up for longer each time. So the preferred one is
        # chosen by hand, until it fails again.
        end = now() + 2.0
        while scenario != "flap" and self.way() != "hfa1" and now() < end and self.testpmd.alive():
            self.switch(0)
            time.sleep(0.02)

    def _set(self, scenario, up):
        """Nothing of this is for the scenarios in which nothing happens: what is measured then is the machine."""
        lab, hands = self.stage.lab, self.stage.hands
        if scenario in ("local", "flap"):
            hands[lab.mid].set_up("hfa", up)
        elif scenario == "carrier":
            hands[lab.far].set_up("hfa1", up)
        elif scenario == "delete" and up:
            lab.add_veth("hfa")
        elif scenario == "delete":
            lab.delete("hfa")
        elif scenario == "lsc":
            self.command("/mayfly/link%s,net_mayfly0" % ("up" if up else "down"))
        elif scenario == "planned" and not up:
            self.switch(1)
