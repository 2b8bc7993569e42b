// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <rte_log.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

namespace holdfast::test {

/// All log lines from its making on, EAL's too.
class CapturedLog {
  public:
    CapturedLog() : file_(std::tmpfile()) { EXPECT_EQ(rte_openlog_stream(file_), 0); }
    ~CapturedLog() {
        EXPECT_EQ(rte_openlog_stream(nullptr), 0);
        std::fclose(file_);
    }
    CapturedLog(const CapturedLog &) = delete;
    CapturedLog &operator=(const CapturedLog &) = delete;

    [[nodiscard]] std::string text() const {
        std::string out;
        std::array<char, 4096> part{};
        for (ssize_t n = 0;
             (n = ::pread(::fileno(file_), part.data(), part.size(), static_cast<off_t>(out.size()))) > 0;)
            out.append(part.data(), static_cast<std::size_t>(n));
        return out;
    }
    /// How many lines hold both texts.
    [[nodiscard]] std::size_t lines_with(std::string_view a, std::string_view b) const {
        std::size_t count = 0;
        const std::string all = text();
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t end = std::min(all.find('\n', at), all.size());
            const std::string_view line = std::string_view(all).substr(at, end - at);
            count += line.find(a) != std::string_view::npos && line.find(b) != std::string_view::npos ? 1 : 0;
            at = end + 1;
        }
        return count;
    }

  private:
    std::FILE *file_;
};

} // namespace holdfast::test
