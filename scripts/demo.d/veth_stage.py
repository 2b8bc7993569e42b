# SPDX-License-Identifier: BSD-3-Clause
"""The stage of the demo: real packets through veth pairs and a tap, in namespaces."""

import os

import analysis
from lab import OWN_SYSFS, Lab
from processes import Traffic
from scenario import Sub


MAC = "02:48:46:00:00:0a"
# By its MAC address. The port gives that to all its sub-devices, so the name has to tell them apart.
BY_MAC = "udev(subsystem=net;kernel=hfa*;address=%s;devargs=net_af_packet0,iface=%%k)" % MAC
BY_NAME = "dev(net_af_packet0,iface=hfa)"


class VethStage:
    """Frames enter testpmd through hfin and leave through the active sub-device; answers take the way back."""

    HOW = {"telemetry": "remove command", "link": "ip link del", "cascade": "ip link del twice"}
    LIFE = "ifindex"
    MODULES = ()

    def __init__(self, options, most_subs):
        self.options = options
        self.lab = Lab()
        self.prefix = self.lab.mid.replace("-mid", "")
        self.inside = self.lab.inside(self.lab.mid) + OWN_SYSFS
        self.subs = [
            Sub(0, "hfa", "hfa1", "A", BY_NAME if options.compare else BY_MAC, MAC),
            Sub(1, "hfb", "hfb1", "B", "dev(net_af_packet1,iface=hfb)"),
            Sub(2, "hftap", "hftap", "T", "dev(net_tap0,iface=hftap)"),
        ][:most_subs]
        self.second_port = "net_af_packet9,iface=hfin"

    def create(self):
        self.lab.create()
        self.lab.add_veth("hfin")
        for sub in self.subs:
            if sub.interface != "hftap":  # that one is made by its driver
                self.add(sub)

    def start_traffic(self, testpmd, name, answers=True):
        # The far end of a veth pair is in the other namespace; a tap has none: its frames come out of itself.
        sinks = ["%s/%s" % (self.lab.mid if sub.sink == sub.interface else self.lab.far, sub.sink) for sub in self.subs]
        tool = os.path.join(self.options.build, "tests", "holdfast_traffic")
        source = self.lab.far + "/hfin1"
        return Traffic(tool, source, sinks, self.options.rate, self.options.out, name + ".traffic", answers)

    def figures(self, traffic):
        return analysis.read_log(traffic.packet_log)

    def between_rounds(self):
        """Nothing to do: each frame says when it was sent, so it is known to which round it belongs."""

    def remove_words(self, sub):
        return "ip link del %s" % sub.interface

    def add_words(self, sub):
        return "ip link add %s" % " address ".join(filter(None, (sub.interface, sub.mac)))

    def remove(self, sub):
        self.lab.delete(sub.interface)

    def add(self, sub):
        self.lab.add_veth(sub.interface, sub.mac)

    def counters(self, sub):
        return self.lab.counters(sub.interface)

    def destroy(self):
        self.lab.destroy()
