// SPDX-License-Identifier: BSD-3-Clause
// The parser of devargs. Accepted text has to mean the same when it is written anew; a refusal has to quote a part of
// the text and its place.
#include "fuzz/devargs_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    // libFuzzer's buffer ends where the input ends, so ASan sees a look beyond.
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    if (const std::string fault = holdfast::test::fault_in_parse(text); !fault.empty()) {
        std::fprintf(stderr, "fault: %s\n", fault.c_str());
        std::abort();
    }
    return 0;
}
