// SPDX-License-Identifier: BSD-3-Clause
// What a command prints and what comes from a descriptor. A device that is named has to be a whole line of the input
// and fit to be probed; where there is none there has to be a reason for a log; and how a stream is cut into pieces
// must not matter.
#include "port/answer.h"
#include "port/device_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using holdfast::Answer;

void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "fault: %s\n", what);
    std::abort();
}

void look_at(const Answer &answer, std::string_view text) {
    require(answer.devargs.empty() != answer.reason.empty(), "neither a device nor a reason, or both");
    require(std::none_of(answer.reason.begin(), answer.reason.end(),
                         [](char c) { return static_cast<unsigned char>(c) < ' '; }),
            "a control character in a log line");
    if (answer.devargs.empty())
        return;
    require(holdfast::fault_in_device(answer.devargs) == nullptr, "a device that cannot be probed");
    require(answer.devargs.size() <= holdfast::kLongestAnswer, "a line that is too long");
    const auto is_line = [&](std::size_t at) {
        return (at == 0 || text[at - 1] == '\n') &&
               (at + answer.devargs.size() == text.size() || text[at + answer.devargs.size()] == '\n');
    };
    std::size_t at = text.find(answer.devargs);
    while (at != std::string_view::npos && !is_line(at))
        at = text.find(answer.devargs, at + 1);
    require(at != std::string_view::npos, "no line of the input");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    // The first byte says how the rest is cut.
    const std::size_t piece = size == 0 ? 1 : std::size_t{data[0]} + 1;
    const std::string_view text(reinterpret_cast<const char *>(data) + (size == 0 ? 0 : 1), size == 0 ? 0 : size - 1);

    look_at(holdfast::answer_of_command(text), text);

    holdfast::LastLine whole;
    whole.feed(text);
    holdfast::LastLine cut;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        const std::string_view part = text.substr(at, piece);
        cut.feed(part);
        if (part.find('\n') == std::string_view::npos) {
            require(!cut.too_long() || cut.unfinished(), "too long, but not even begun");
            continue; // nothing new can be said
        }
        look_at(cut.answer(), text);
    }
    require(whole.answer() == cut.answer(), "pieces give another answer");
    require(whole.unfinished() == cut.unfinished(), "pieces end in another way");
    whole.finish();
    cut.finish();
    require(whole.answer() == cut.answer(), "pieces give another answer at the end");
    require(!whole.unfinished(), "unfinished at the end");
    look_at(whole.answer(), text);
    return 0;
}
