# SPDX-License-Identifier: BSD-3-Clause
"""Table, timeline, plot and JSON of one run of the demo."""

import json
import os
import shutil
import subprocess

import analysis


def milliseconds(value):
    return "none" if value is None else "%.1f" % value


def table(rows, heads):
    cells = [heads] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = [
        "  ".join(
            cell.rjust(width) if i not in (1,) else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths)] + lines[1:])


HEADS = [
    "round",
    "removed by",
    "sent",
    "received",
    "lost",
    "duplicates",
    "longest gap ms",
    "switch seen ms",
    "return seen ms",
    "answers",
    "result",
]


def row_of(name, how, span, switch, back, result):
    return [
        name,
        how,
        span.sent,
        span.received,
        span.lost,
        span.duplicates,
        "%.1f" % (span.longest_gap * 1000),
        switch,
        back,
        span.answers,
        result,
    ]


def rounds_table(scenario, packets):
    """Returns (text, total span, list of dictionaries for the JSON file)."""
    rows, records = [], []
    for rnd in scenario.rounds:
        span = packets.measure(rnd.begin, rnd.end)
        switches = " + ".join(milliseconds(ms) for ms in rnd.switch_ms) or "none"
        rows.append(
            row_of(
                rnd.number,
                scenario.stage.HOW[rnd.how],
                span,
                switches,
                milliseconds(rnd.return_ms),
                "ok" if not rnd.problems else "NOT OK",
            )
        )
        records.append(
            {
                "round": rnd.number,
                "removed_by": scenario.stage.HOW[rnd.how],
                "begin": rnd.begin - scenario.start,
                "end": rnd.end - scenario.start,
                "sent": span.sent,
                "received": span.received,
                "lost": span.lost,
                "duplicates": span.duplicates,
                "answers": span.answers,
                "longest_gap_ms": span.longest_gap * 1000,
                "sender_pause_ms": span.sender_pause * 1000,
                "switch_ms": rnd.switch_ms,
                "return_ms": rnd.return_ms,
                "received_by": span.received_by,
                "returned_one": rnd.carried,
                "problems": rnd.problems,
            }
        )
    total = packets.measure(scenario.rounds[0].begin, scenario.rounds[-1].end)
    rows.append(row_of("all", "", total, "", "", ""))
    return table(rows, HEADS), total, records


def timeline(scenario, packets, rate):
    letter_of = {sub.sink: sub.letter for sub in scenario.subs}
    who = ", ".join("%s = %s" % (sub.letter, sub.interface) for sub in scenario.subs)
    lines = [
        "Timeline, one letter per 100 ms (%s; small: under 80 %% of the rate; '.': nothing arrived;" % who,
        "          below it - : removed, + : brought back):",
    ]
    for rnd in scenario.rounds:
        strip = analysis.letters(packets, rnd.begin, rnd.end, letter_of, rate)
        marks = [" "] * len(strip)
        for moves, sign in ((rnd.removals, "-"), (rnd.returns, "+")):
            for at, _, _ in moves:
                marks[min(len(marks) - 1, int((at - rnd.begin) / 0.1))] = sign
        lines += ["  round %d  %s" % (rnd.number, strip), "           %s" % "".join(marks).rstrip()]
    return "\n".join(lines)


def plot(scenario, packets, out_dir, name, title):
    """Writes the data for the plot, and the plot when gnuplot is there. Returns a sentence."""
    begin, end = scenario.rounds[0].begin, scenario.rounds[-1].end
    data, marks, image = (os.path.join(out_dir, name + suffix) for suffix in (".dat", ".marks", ".png"))
    with open(data, "w", encoding="ascii") as f:
        f.write("# seconds " + " ".join(sub.interface for sub in scenario.subs) + "\n")
        for i, counts in enumerate(packets.histogram(begin, end)):
            f.write("%.3f %s\n" % (i * 0.010, " ".join(str(counts.get(sub.sink, 0)) for sub in scenario.subs)))
    with open(marks, "w", encoding="ascii") as f:
        for rnd in scenario.rounds:
            for moves, colour, sign in ((rnd.removals, "#c00000", "-"), (rnd.returns, "#007000", "+")):
                for at, sub, _ in moves:
                    x = at - begin
                    f.write(
                        'set arrow from %.3f, graph 0 to %.3f, graph 1 nohead front lc rgb "%s" dt 2\n' % (x, x, colour)
                    )
                    f.write(
                        'set label "%s%s" at %.3f, graph 1.02 center tc rgb "%s" font ",8"\n'
                        % (sign, sub.letter, x, colour)
                    )
    if shutil.which("gnuplot") is None:
        return "gnuplot is not installed: no plot, its data is in %s" % data
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packets.gp")
    names = " ".join("%s" % sub.interface for sub in scenario.subs)
    given = "data='%s'; marks='%s'; image='%s'; names='%s'; heading='%s'; until=%.3f" % (
        data,
        marks,
        image,
        names,
        title,
        end - begin,
    )
    command = ["gnuplot", "-e", given, script]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "gnuplot failed (%s): no plot, its data is in %s" % (done.stderr.strip(), data)
    return "plot of packets per 10 ms: %s" % image


def write_json(path, record):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1)
        f.write("\n")
