// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::abi {

/// Puts a value somewhere and takes it back at the end of the scope. For the layout check, which writes at places that
/// may be wrong: it remembers just what it overwrote, so nothing that others write elsewhere meanwhile is lost.
class Patch {
  public:
    template <class T> Patch(std::byte *at, const T &value) noexcept : at_(at), size_(sizeof value) {
        static_assert(sizeof value <= sizeof old_);
        std::memcpy(old_.data(), at, sizeof value);
        std::memcpy(at, &value, sizeof value);
    }
    ~Patch() { std::memcpy(at_, old_.data(), size_); }
    Patch(const Patch &) = delete;
    Patch &operator=(const Patch &) = delete;

  private:
    std::byte *at_;
    std::size_t size_;
    std::array<std::byte, 64> old_{};
};

/// Lets every empty word of a struct point at something harmless, until the end of the scope. DPDK follows some
/// pointers without looking at them; if ours is put at the wrong place, it then finds this one and not null.
class Decoys {
  public:
    static constexpr std::size_t kMaxWords = 1024;

    Decoys(std::byte *base, std::size_t size, const void *harmless) noexcept : base_(base) {
        for (std::size_t i = 0; i < kMaxWords && (i + 1) * sizeof(std::uintptr_t) <= size; i++) {
            std::uintptr_t word = 0;
            std::memcpy(&word, at(i), sizeof word);
            if (word == 0) {
                std::memcpy(at(i), &harmless, sizeof harmless);
                mine_.set(i);
            }
        }
    }
    ~Decoys() {
        for (std::size_t i = 0; i < kMaxWords; i++)
            if (mine_[i])
                std::memset(at(i), 0, sizeof(std::uintptr_t));
    }
    Decoys(const Decoys &) = delete;
    Decoys &operator=(const Decoys &) = delete;

  private:
    [[nodiscard]] std::byte *at(std::size_t word) const noexcept { return base_ + word * sizeof(std::uintptr_t); }

    std::byte *base_;
    std::bitset<kMaxWords> mine_;
};

} // namespace holdfast::abi
