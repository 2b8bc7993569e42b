// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

/// What a source of devargs says at present: a device, or why there is none. One of the two is empty.
struct Answer {
    enum class Kind : std::uint8_t {
        kSaid,   ///< what it means to say
        kFailed, ///< there is none because something failed, as it may do while there is none
        kBroken, ///< what it says can be of no use: asked less and less often
    };
    std::string devargs;
    std::string reason;
    Kind kind = Kind::kSaid;
    bool operator==(const Answer &) const = default;
};

/// The most that a source may say about one device.
inline constexpr std::size_t kLongestAnswer = 4096;

/// What the output of a command that ended well says: its first line counts, as for net_failsafe. An empty one means
/// that there is no device.
[[nodiscard]] Answer answer_of_command(std::string_view output);

/// The last line of a stream that comes in pieces, as for net_failsafe's fd(). It stays the last one until another is
/// complete. An empty line takes back what was said before.
class LastLine {
  public:
    /// More of the stream.
    void feed(std::string_view bytes);
    /// Nothing follows for now: what was begun is a line, without a newline.
    void finish();
    /// Has a line been begun and not ended?
    [[nodiscard]] bool unfinished() const noexcept { return !begun_.empty(); }
    /// Is what was begun already longer than a line may be?
    [[nodiscard]] bool too_long() const noexcept { return begun_.size() > kLongestAnswer; }

    [[nodiscard]] Answer answer() const;

  private:
    void take(std::string_view bytes);

    std::string begun_; ///< at most one byte more than a line may have
    std::string last_;
    bool any_ = false;
};

} // namespace holdfast
