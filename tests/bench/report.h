// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/utsname.h>

namespace holdfast::bench {

struct Row {
    std::string name;
    std::vector<double> cycles; ///< per burst, one sample a round
};

/// Row 0 is what the others are compared with; row 1 is the same once more, which shows what this run can tell apart.
struct Table {
    std::string title;
    unsigned processes = 0;
    unsigned rounds = 0; ///< in one process
    unsigned bursts = 0; ///< in one sample
    std::vector<Row> rows;
};

struct Spread {
    double low = 0, median = 0, high = 0; ///< 10th, 50th and 90th percentile

    static Spread of(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        const auto at = [&](double part) {
            return values.at(static_cast<std::size_t>(part * static_cast<double>(values.size() - 1)));
        };
        return {at(0.1), at(0.5), at(0.9)};
    }
};

/// Against row 0 of the same round, so that slow phases of the machine cancel out.
inline Spread ratio(const Table &table, const Row &row) {
    std::vector<double> out;
    for (std::size_t i = 0; i < row.cycles.size(); i++)
        out.push_back(row.cycles[i] / table.rows[0].cycles[i]);
    return Spread::of(out);
}

inline std::string line(const char *format, auto... values) {
    char text[256];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

inline std::string machine() {
    std::string text;
    for (std::ifstream info("/proc/cpuinfo"); std::getline(info, text);)
        if (text.starts_with("model name") && text.find(": ") != std::string::npos) {
            text = text.substr(text.find(": ") + 2);
            std::erase_if(text, [](char c) { return c == '"' || c == '\\'; });
            break;
        }
    utsname system{};
    (void)::uname(&system);
    return text + ", Linux " + system.release;
}

/// Is row 0 against itself 1.00, within what this run spreads, and does it spread little enough to say so?
inline bool control_holds(const Table &table) {
    const Spread r = ratio(table, table.rows.at(1));
    return r.low <= 1.0 && r.high >= 1.0 && r.median > 0.99 && r.median < 1.01;
}

/// What the virtual port may add to a burst over net_ring, as a part of what DPDK's own net_failsafe adds.
inline constexpr double kTarget = 0.45;

struct Comparison {
    std::string name;
    Spread part; ///< of net_failsafe's overhead, round by round
    [[nodiscard]] bool met() const { return part.median <= kTarget; }
};

/// The virtual port's overhead against net_failsafe's, for each number of sub-devices that both have.
inline std::vector<Comparison> compare(const Table &table) {
    const auto row = [&](const std::string &name) {
        return std::find_if(table.rows.begin(), table.rows.end(), [&](const Row &r) { return r.name == name; });
    };
    std::vector<Comparison> out;
    for (const char *n : {"1", "2"}) {
        const auto ours = row(std::string("holdfast over ") + n);
        const auto theirs = row(std::string("failsafe over ") + n);
        if (ours == table.rows.end() || theirs == table.rows.end())
            continue;
        std::vector<double> parts;
        for (std::size_t i = 0; i < ours->cycles.size(); i++) {
            const double direct = table.rows[0].cycles[i];
            parts.push_back((ours->cycles[i] - direct) / (theirs->cycles[i] - direct));
        }
        out.push_back({ours->name, Spread::of(parts)});
    }
    return out;
}

/// The virtual port's cycles against net_bonding's where both spread packets.
inline std::vector<Comparison> compare_spreading(const Table &table) {
    std::vector<Comparison> out;
    for (std::size_t i = 0; i + 1 < table.rows.size(); i++) {
        const std::string &name = table.rows[i].name;
        if (!name.starts_with("holdfast ") || table.rows[i + 1].name != "bonding " + name.substr(9))
            continue;
        std::vector<double> parts;
        for (std::size_t k = 0; k < table.rows[i].cycles.size(); k++)
            parts.push_back(table.rows[i].cycles[k] / table.rows[i + 1].cycles[k]);
        out.push_back({name, Spread::of(parts)});
    }
    return out;
}

/// The target is one over net_ring: other devices take so long themselves that the difference drowns.
inline bool has_target(const Table &table) {
    return table.title == "net_ring";
}

inline bool target_met(const Table &table) {
    const std::vector<Comparison> all = compare(table);
    return all.size() == 2 && std::all_of(all.begin(), all.end(), [](const Comparison &c) { return c.met(); });
}

inline std::string as_text(const Table &t) {
    std::string out = machine() + "\n";
    out += line("\n%s: cycles per burst of 32, Rx and Tx; %u processes, %u rounds of %u bursts each, taking turns\n",
                t.title.c_str(), t.processes, t.rounds, t.bursts);
    out += line("%-28s %8s %17s %8s %8s %15s\n", "", "median", "p10..p90", "+cycles", "ratio", "p10..p90");
    const double direct = Spread::of(t.rows[0].cycles).median;
    for (const Row &row : t.rows) {
        const Spread c = Spread::of(row.cycles);
        const Spread r = ratio(t, row);
        out += line("%-28s %8.1f %8.1f..%7.1f %+8.1f %8.3f %7.3f..%6.3f\n", row.name.c_str(), c.median, c.low, c.high,
                    c.median - direct, r.median, r.low, r.high);
    }
    if (std::none_of(t.rows.begin(), t.rows.end(), [](const Row &r) { return r.name.starts_with("bonding"); }))
        out += "bonding does not start over " + t.title + ", which cannot set a MAC address\n";
    for (const Comparison &c : compare(t)) {
        out += line("%s adds %.3f (%.3f..%.3f) of what failsafe adds", c.name.c_str(), c.part.median, c.part.low,
                    c.part.high);
        out += has_target(t) ? line("; the target is %.2f: %s\n", kTarget, c.met() ? "met" : "MISSED") : "\n";
    }
    for (const Comparison &c : compare_spreading(t))
        out += line("%s takes %.3f (%.3f..%.3f) of what bonding takes\n", c.name.c_str(), c.part.median, c.part.low,
                    c.part.high);
    if (!control_holds(t))
        out += "THE CONTROL FAILED: direct against direct is not 1.00 here, so these figures say nothing\n";
    return out;
}

inline std::string as_json(const Table &t) {
    std::string out = "{\"machine\": \"" + machine() + "\", \"unit\": \"cycles per burst of 32, Rx and Tx\",\n";
    out += line(" \"device\": \"%s\", \"processes\": %u, \"rounds\": %u, \"bursts\": %u, \"control_holds\": %s,\n",
                t.title.c_str(), t.processes, t.rounds, t.bursts, control_holds(t) ? "true" : "false");
    if (has_target(t))
        out += line(" \"target\": %.2f, \"target_met\": %s,\n", kTarget, target_met(t) ? "true" : "false");
    out += " \"part_of_failsafe_overhead\": [";
    const std::vector<Comparison> comparisons = compare(t);
    for (const Comparison &c : comparisons)
        out += line("%s{\"name\": \"%s\", \"p10\": %.4f, \"median\": %.4f, \"p90\": %.4f}",
                    &c == comparisons.data() ? "" : ", ", c.name.c_str(), c.part.low, c.part.median, c.part.high);
    out += "],\n \"rows\": [";
    for (const Row &row : t.rows) {
        const Spread c = Spread::of(row.cycles);
        const Spread r = ratio(t, row);
        out += &row == t.rows.data() ? "\n" : ",\n";
        out += line("  {\"name\": \"%s\", \"cycles\": {\"p10\": %.2f, \"median\": %.2f, \"p90\": %.2f}, ",
                    row.name.c_str(), c.low, c.median, c.high);
        out += line("\"ratio\": {\"p10\": %.4f, \"median\": %.4f, \"p90\": %.4f}}", r.low, r.median, r.high);
    }
    return out + "]}\n";
}

/// Prints the table and keeps it as text and JSON. 0; 1: the control failed; 2: the target was missed; 3: it cannot be
/// kept.
inline int report(const Table &table, const std::filesystem::path &folder) {
    const std::string text = as_text(table);
    std::fputs(text.c_str(), stdout);
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    std::ofstream(folder / (table.title + ".txt")) << text;
    std::ofstream json(folder / (table.title + ".json"));
    json << as_json(table);
    json.close();
    if (!json) {
        std::fprintf(stderr, "burst_bench: cannot write into %s\n", folder.c_str());
        return 3;
    }
    if (!control_holds(table))
        return 1;
    return has_target(table) && !target_met(table) ? 2 : 0;
}

} // namespace holdfast::bench
