// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace holdfast {

/// A value that one side publishes and others read, also from another process: a sequence lock over plain words. Who
/// reads writes nothing, so a reader may be killed at any moment; a writer that is killed leaves readers without an
/// answer, never waiting. One writer at a time. Zeroed memory is a Published without a value.
template <class T> class Published {
    static_assert(std::is_trivially_copyable_v<T>, "readers get a copy of its bytes");
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not work between processes");

  public:
    void publish(const T &value) noexcept {
        const std::uint64_t before = sequence_.load(std::memory_order_relaxed); // pairs: published (the only writer)
        sequence_.store(before + 1, std::memory_order_relaxed);                 // pairs: published-word (read)
        for (std::size_t i = 0; i < words_.size(); i++) {
            std::uint64_t word = 0;
            std::memcpy(&word, reinterpret_cast<const std::byte *>(&value) + i * sizeof(word), size_of(i));
            // Release, so that who sees the word sees the odd sequence too. pairs: published-word (read)
            words_[i].store(word, std::memory_order_release);
        }
        sequence_.store(before + 2, std::memory_order_release); // pairs: published (read)
    }

    /// False: there is no value, or it was being written all the time.
    [[nodiscard]] bool read(T &out) const noexcept {
        for (int tries = 0; tries < kTries; tries++) {
            const std::uint64_t before = sequence_.load(std::memory_order_acquire); // pairs: published (publish)
            if (before == 0)
                return false;
            for (std::size_t i = 0; i < words_.size(); i++) {
                const std::uint64_t word = words_[i].load(std::memory_order_acquire); // pairs: published-word (publish)
                std::memcpy(reinterpret_cast<std::byte *>(&out) + i * sizeof(word), &word, size_of(i));
            }
            // pairs: published-word (publish)
            if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before)
                return true;
        }
        return false;
    }

  private:
    static constexpr int kTries = 10'000;
    static constexpr std::size_t kWords = (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

    static constexpr std::size_t size_of(std::size_t word) noexcept {
        return word + 1 < kWords ? sizeof(std::uint64_t) : sizeof(T) - (kWords - 1) * sizeof(std::uint64_t);
    }

    std::atomic<std::uint64_t> sequence_; ///< odd: being written
    std::array<std::atomic<std::uint64_t>, kWords> words_;
};

} // namespace holdfast
