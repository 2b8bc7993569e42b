# SPDX-License-Identifier: BSD-3-Clause
"""What the log of the traffic tool says: per span of time, per 10 ms, and as a line of letters."""

from dataclasses import dataclass, field


@dataclass
class Span:
    """Frames that were *sent* in [begin, end), wherever and whenever they arrived."""

    sent: int = 0
    received: int = 0  # distinct ones
    duplicates: int = 0
    answers: int = 0  # distinct answers to them
    longest_gap: float = 0.0  # between two arrivals of distinct frames, seconds
    sender_pause: float = 0.0  # the longest time that the sender itself sent nothing
    received_by: dict = field(default_factory=dict)

    @property
    def lost(self):
        return self.sent - self.received


def longest_distance(times):
    return max((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)


@dataclass
class Packets:
    """The log of one run. Times in seconds of CLOCK_MONOTONIC."""

    sent: list = field(default_factory=list)  # time sent, by sequence number
    frames: list = field(default_factory=list)  # (arrived, sequence number, interface), by arrival
    answers: list = field(default_factory=list)  # (arrived, sequence number), by arrival
    flooded: list = field(default_factory=list)  # time sent, by sequence number; then `answers` are these

    def measure(self, begin, end):
        """Measures the frames sent in [begin, end). A gap still open at the end counts up to the last frame sent."""
        inside = [t for t in self.sent if begin <= t < end]
        span = Span(sent=len(inside), sender_pause=longest_distance(inside))
        seen = set()
        arrivals = []
        for arrived, seq, interface in self.frames:
            if seq >= len(self.sent) or not begin <= self.sent[seq] < end:
                continue
            if seq in seen:
                span.duplicates += 1
                continue
            seen.add(seq)
            arrivals.append(arrived)
            span.received_by[interface] = span.received_by.get(interface, 0) + 1
        span.received = len(seen)
        span.answers = len({seq for _, seq in self.answers if seq < len(self.sent) and begin <= self.sent[seq] < end})
        if inside:
            edges = [inside[0]] + arrivals + ([] if arrivals and arrivals[-1] >= inside[-1] else [inside[-1]])
            span.longest_gap = longest_distance(edges)
        return span

    def histogram(self, begin, end, width=0.010):
        """Distinct or not, frames per `width` seconds: a list of {interface: count}."""
        bins = [{} for _ in range(max(0, int(round((end - begin) / width))))]
        for arrived, _, interface in self.frames:
            at = int((arrived - begin) / width)
            if arrived >= begin and at < len(bins):
                bins[at][interface] = bins[at].get(interface, 0) + 1
        return bins


def read_log(path):
    packets = Packets()
    with open(path, encoding="ascii") as log:
        for line in log:
            part = line.split()
            if part[0] == "S":
                if int(part[1]) != len(packets.sent):
                    raise ValueError("frame %s was sent out of order" % part[1])
                packets.sent.append(int(part[2]) / 1e9)
            elif part[0] == "F":
                packets.frames.append((int(part[3]) / 1e9, int(part[1]), part[4]))
            elif part[0] == "I":
                packets.flooded.append(int(part[2]) / 1e9)
            elif part[0] == "A":
                packets.answers.append((int(part[3]) / 1e9, int(part[1])))
            else:
                raise ValueError("cannot read the line %r" % line)
    packets.frames.sort()
    packets.answers.sort()
    return packets


def letters(packets, begin, end, letter_of, rate, width=0.1):
    """One letter per `width` seconds: who carried most; small: under 80 % of the rate arrived, '.': nothing did."""
    line = ""
    for counts in packets.histogram(begin, end, width):
        if not counts:
            line += "."
            continue
        best = max(counts, key=counts.get)
        letter = letter_of[best]
        line += letter.upper() if sum(counts.values()) >= 0.8 * rate * width else letter.lower()
    return line
