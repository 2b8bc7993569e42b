# SPDX-License-Identifier: BSD-3-Clause
"""The log of holdfast_frames by the ways that frames took: the link they were sent on and the one they came back over."""

from dataclasses import dataclass


@dataclass
class Return:
    """A frame that came back. Times in seconds."""

    seq: int
    sent: float
    arrived: float
    over: str
    sent_on: str


def read(path):
    """All frames that came back, as they came."""
    found = []
    with open(path, encoding="ascii") as log:
        for line in log:
            part = line.split()
            if part[0] == "F":
                found.append(Return(int(part[1]), int(part[2]) / 1e9, int(part[3]) / 1e9, part[4], part[5]))
    found.sort(key=lambda one: one.arrived)
    return found


def faults(returns):
    """Sentences: what came back twice, or overtaken by a later one that took the same way."""
    twice = out_of_order = 0
    seen = set()
    last = {}
    for one in returns:
        if (one.seq, one.sent_on) in seen:
            twice += 1
        seen.add((one.seq, one.sent_on))
        way = (one.sent_on, one.over)
        if one.seq < last.get(way, -1):
            out_of_order += 1
        last[way] = max(one.seq, last.get(way, -1))
    told = []
    if not returns:
        told.append("no frame came back at all")
    if twice:
        told.append("%d frames came back twice" % twice)
    if out_of_order:
        told.append("%d frames were overtaken on their way" % out_of_order)
    return told
