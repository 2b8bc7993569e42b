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
    unsigned rounds = 0;
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

/// Is row 0 against itself 1.00, within what this run spreads?
inline bool control_holds(const Table &table) {
    const Spread r = ratio(table, table.rows.at(1));
    return r.low <= 1.0 && r.high >= 1.0;
}

inline std::string as_text(const std::vector<Table> &tables) {
    std::string out = machine() + "\n";
    for (const Table &t : tables) {
        out += line("\n%s: cycles per burst of 32, Rx and Tx; %u rounds of %u bursts each, taking turns\n",
                    t.title.c_str(), t.rounds, t.bursts);
        out += line("%-28s %8s %17s %8s %8s %15s\n", "", "median", "p10..p90", "+cycles", "ratio", "p10..p90");
        const double direct = Spread::of(t.rows[0].cycles).median;
        for (const Row &row : t.rows) {
            const Spread c = Spread::of(row.cycles);
            const Spread r = ratio(t, row);
            out += line("%-28s %8.1f %8.1f..%7.1f %+8.1f %8.3f %7.3f..%6.3f\n", row.name.c_str(), c.median, c.low,
                        c.high, c.median - direct, r.median, r.low, r.high);
        }
        if (!control_holds(t))
            out += "THE CONTROL FAILED: direct against direct is not 1.00 here, so these figures say nothing\n";
    }
    return out;
}

inline std::string as_json(const std::vector<Table> &tables) {
    std::string out =
        "{\"machine\": \"" + machine() + "\", \"unit\": \"cycles per burst of 32, Rx and Tx\", \"tables\": [";
    for (const Table &t : tables) {
        out += &t == tables.data() ? "\n" : ",\n";
        out += line(" {\"device\": \"%s\", \"rounds\": %u, \"bursts\": %u, \"control_holds\": %s, \"rows\": [",
                    t.title.c_str(), t.rounds, t.bursts, control_holds(t) ? "true" : "false");
        for (const Row &row : t.rows) {
            const Spread c = Spread::of(row.cycles);
            const Spread r = ratio(t, row);
            out += &row == t.rows.data() ? "\n" : ",\n";
            out += line("  {\"name\": \"%s\", \"cycles\": {\"p10\": %.2f, \"median\": %.2f, \"p90\": %.2f}, ",
                        row.name.c_str(), c.low, c.median, c.high);
            out += line("\"ratio\": {\"p10\": %.4f, \"median\": %.4f, \"p90\": %.4f}}", r.low, r.median, r.high);
        }
        out += "]}";
    }
    return out + "\n]}\n";
}

/// Prints the tables and keeps them as text and JSON. False: a control failed, or they cannot be kept.
inline bool report(const std::vector<Table> &tables, const std::filesystem::path &folder) {
    const std::string text = as_text(tables);
    std::fputs(text.c_str(), stdout);
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    std::ofstream(folder / "burst.txt") << text;
    std::ofstream json(folder / "burst.json");
    json << as_json(tables);
    json.close();
    if (!json)
        std::fprintf(stderr, "burst_bench: cannot write into %s\n", folder.c_str());
    return json && std::all_of(tables.begin(), tables.end(), control_holds);
}

} // namespace holdfast::bench
