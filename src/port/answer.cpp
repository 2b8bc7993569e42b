// SPDX-License-Identifier: BSD-3-Clause
#include "port/answer.h"

#include "port/device_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

/// A line as it may stand in a log: short, and on one line.
std::string quoted(std::string_view line) {
    std::string out = "\"";
    for (const char c : line.substr(0, 80))
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    return out.append(line.size() > 80 ? "...\"" : "\"");
}

Answer broken(std::string reason) {
    return {.devargs = {}, .reason = std::move(reason), .kind = Answer::Kind::kBroken};
}

Answer read_line(std::string_view line) {
    if (line.size() > kLongestAnswer)
        return broken("a line of more than " + std::to_string(kLongestAnswer) + " bytes");
    if (const char *fault = fault_in_device(line); fault != nullptr)
        return broken(quoted(line) + ": " + fault);
    return {.devargs = std::string(line), .reason = {}};
}

} // namespace

Answer answer_of_command(std::string_view output) {
    const std::string_view line = output.substr(0, output.find('\n'));
    if (line.empty())
        return {.devargs = {}, .reason = "its command names no device"};
    Answer answer = read_line(line);
    // It is the mistake that everybody makes who knows the shell and not net_failsafe.
    if (answer.devargs.empty() && line.find(' ') != std::string_view::npos)
        answer.reason += " (a comma in exec(...) is a blank; \\, is a comma)";
    return answer;
}

void LastLine::take(std::string_view bytes) {
    begun_.append(bytes.substr(0, kLongestAnswer + 1 - std::min(begun_.size(), kLongestAnswer + 1)));
}

void LastLine::feed(std::string_view bytes) {
    const std::size_t end = bytes.rfind('\n');
    if (end == std::string_view::npos) {
        take(bytes);
        return;
    }
    // All lines but the last whole one are history.
    const std::size_t before = end == 0 ? std::string_view::npos : bytes.rfind('\n', end - 1);
    if (before != std::string_view::npos)
        begun_.clear();
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    take(bytes.substr(begin, end - begin));
    last_ = std::exchange(begun_, {});
    any_ = true;
    take(bytes.substr(end + 1));
}

void LastLine::finish() {
    if (!unfinished())
        return;
    last_ = std::exchange(begun_, {});
    any_ = true;
}

Answer LastLine::answer() const {
    if (!any_)
        return {.devargs = {}, .reason = "its descriptor has named no device yet"};
    if (last_.empty())
        return {.devargs = {}, .reason = "its descriptor names no device"};
    return read_line(last_);
}

} // namespace holdfast
