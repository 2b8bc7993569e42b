# SPDX-License-Identifier: BSD-3-Clause
"""The stage for machines without tun or namespaces: simulated NICs (net_mayfly), figures from their counters."""

import json
import os
import secrets
import socket
import threading
import time

from analysis import Span
from lab import LabError
from processes import now
from scenario import Sub

SOURCE = "net_mayfly9"
INTERVAL = 0.010


class Samples:
    """The counters every 10 ms: (time, sent by the source, {sub-device: sent}, answers at the source)."""

    def __init__(self):
        self.list = []

    def at(self, t):
        """The last sample up to t."""
        return max((s for s in self.list if s[0] <= t), key=lambda s: s[0], default=self.list[0])

    def measure(self, begin, end):
        first, last = self.at(begin), self.at(end)
        span = Span(sent=last[1] - first[1], answers=last[3] - first[3], duplicates="n/a")
        for name, count in last[2].items():
            if count != first[2][name]:
                span.received_by[name] = count - first[2][name]
        span.received = sum(span.received_by.values())
        heard, spoken = first[0], first[0]
        previous = first
        for sample in self.list:
            if not first[0] < sample[0] <= last[0]:
                continue
            if sample[2] != previous[2]:
                span.longest_gap = max(span.longest_gap, sample[0] - heard)
                heard = sample[0]
            if sample[1] != previous[1]:
                span.sender_pause = max(span.sender_pause, sample[0] - spoken)
                spoken = sample[0]
            previous = sample
        span.longest_gap = max(span.longest_gap, last[0] - heard)
        return span

    def histogram(self, begin, end, width=INTERVAL):
        bins = [{} for _ in range(max(0, int(round((end - begin) / width))))]
        for earlier, later in zip(self.list, self.list[1:]):
            at = int((later[0] - begin) / width)
            if later[0] < begin or at >= len(bins):
                continue
            for name, count in later[2].items():
                if count != earlier[2][name]:
                    bins[at][name] = bins[at].get(name, 0) + count - earlier[2][name]
        return bins


class SampledTraffic:
    """Looks like the traffic tool to a scenario; the traffic itself is made and taken by mayflies inside testpmd."""

    def __init__(self, testpmd, subs, log_path):
        self.log_path = log_path
        self.samples = Samples()
        self.changed = threading.Condition()
        self.vias = []
        self.carrier = True  # has the source link?
        self.ending = threading.Event()
        self.query = Query(testpmd)
        self.names = [sub.sink for sub in subs]
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def _sample(self):
        via = None
        while not self.ending.is_set():
            sent_by = {name: self.query.counts(name) for name in self.names}
            source = self.query.counts(SOURCE)
            if source is None or None in sent_by.values():
                return  # testpmd has ended
            sent_by = {name: counts["tx_packets"] for name, counts in sent_by.items()}
            with self.changed:
                self.carrier = source["carrier"] != 0
                known = self.samples.list
                sample = (now(), source["rx_packets"], sent_by, source["tx_packets"])
                grown = [name for name in self.names if known and sent_by[name] > known[-1][2][name]]
                known.append(sample)
                for name in grown:
                    if name != via:
                        via = name
                        self.vias.append((sample[0], name))
                        break
                self.changed.notify_all()
            time.sleep(INTERVAL)

    def received(self):
        with self.changed:
            return dict(self.samples.list[-1][2]) if self.samples.list else {}

    def settle(self, patience=2.0):
        """Waits until the source has no link and three samples in a row show the same; False: that did not happen."""
        end = now() + patience
        with self.changed:
            first = len(self.samples.list)
            while now() < end:
                last = [sample[1:] for sample in self.samples.list[first:][-3:]]
                if len(last) == 3 and last[0] == last[1] == last[2] and not self.carrier:
                    return True
                self.changed.wait(2 * INTERVAL)
        return False

    def wait_for_via(self, after, accept, patience, give_up=lambda: False):
        end = now() + patience
        with self.changed:
            while True:
                for t, name in self.vias:
                    if t >= after and accept(name):
                        return t, name
                if now() >= end or give_up():
                    return None
                self.changed.wait(0.02)

    def finish(self):
        self.close(5.0)
        return {"dropped": 0}

    def close(self, patience):
        self.ending.set()
        self.thread.join(patience)
        self.query.close()


class Query:
    """One telemetry connection that stays open: a hundred samples a second are too many to connect for each."""

    def __init__(self, testpmd):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(5.0)
        self.socket.connect(os.path.join(testpmd.runtime_dir(), "dpdk_telemetry.v2"))
        self.most = json.loads(self.socket.recv(4096))["max_output_len"]

    def counts(self, name):
        try:
            self.socket.send(("/mayfly/info,%s" % name).encode())
            return json.loads(self.socket.recv(self.most)).get("/mayfly/info")
        except (OSError, ValueError):
            return None

    def close(self):
        self.socket.close()


class MayflyStage:
    """A mayfly makes numbered frames; those below the virtual port send them back."""

    HOW = {"telemetry": "remove command", "link": "surprise unplug", "cascade": "unplug twice"}
    LIFE = "life"
    MODULES = ("mayfly",)

    def __init__(self, options, most_subs):
        self.options = options
        self.prefix = "hf%d-%s" % (os.getpid(), secrets.token_hex(3))
        self.inside = []
        self.subs = [
            Sub(i, "net_mayfly%d" % i, "net_mayfly%d" % i, letter, "dev(net_mayfly%d,mode=loop)" % i)
            for i, letter in enumerate("ABC")
        ][:most_subs]
        self.second_port = "%s,mode=generate,size=128,rate=%d" % (SOURCE, options.rate)
        self.testpmd = None
        self.traffic = None

    def create(self):
        pass

    def start_traffic(self, testpmd, name, _answers=True):
        self.testpmd = testpmd
        self.traffic = SampledTraffic(testpmd, self.subs, testpmd.log_path)
        return self.traffic

    def figures(self, traffic):
        return traffic.samples

    def between_rounds(self):
        """Stills the source for a moment: counters do not say to which round a frame belongs that is under way."""
        self.command("linkdown", SOURCE)
        if not self.traffic.settle() and self.testpmd.alive():
            raise LabError("frames still come from %s after /mayfly/linkdown" % SOURCE)
        self.command("linkup", SOURCE)

    def command(self, word, name):
        answer = self.testpmd.telemetry("/mayfly/%s,%s" % (word, name))
        if isinstance(answer, dict) and answer.get("result") == 0:
            return
        # A process that is about to die answers nothing, too; the scenario sees to that case.
        end = now() + 5.0
        while answer is None and self.testpmd.alive() and now() < end:
            time.sleep(0.05)
        if self.testpmd.alive():
            raise LabError("/mayfly/%s,%s answered %s" % (word, name, json.dumps(answer)))

    def remove_words(self, sub):
        return "/mayfly/unplug,%s" % sub.interface

    def add_words(self, sub):
        return "/mayfly/plug,%s" % sub.interface

    def remove(self, sub):
        self.command("unplug", sub.interface)

    def add(self, sub):
        self.command("plug", sub.interface)

    def counters(self, sub):
        counts = self.testpmd.telemetry("/mayfly/info,%s" % sub.interface)
        return None if counts is None else (counts["lives"], counts["rx_packets"], counts["tx_packets"])

    def destroy(self):
        pass
