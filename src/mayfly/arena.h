// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/mutex.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

namespace holdfast::mayfly {

/// Pages for queues, one page a queue. A page that was given back cannot be accessed any more and is not handed out
/// again for a long time, so whoever comes late to a queue faults at once. A closed page costs address space only: its
/// memory goes back to the system, and neighbours melt into one mapping, so ten thousand lives cost neither memory nor
/// maps.
///
/// Addresses are used again only when all `chunk_pages * max_chunks` of them (16 GiB, about four million queues) were
/// used, the oldest first.
class Arena {
  public:
    static constexpr std::size_t kMaxChunks = 256;
    static constexpr std::size_t kChunkPages = 16384;

    explicit Arena(std::size_t chunk_pages = kChunkPages, std::size_t max_chunks = kMaxChunks) noexcept;
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    /// A page of zeros, or nullptr when there is no memory.
    [[nodiscard]] void *take();
    /// Makes a page inaccessible.
    void close(void *page) noexcept;

    [[nodiscard]] std::size_t page_size() const noexcept { return page_size_; }
    /// Is this an address that queues have or had? Async-signal-safe.
    [[nodiscard]] bool owns(const void *address) const noexcept;
    /// Gives a late accessor an empty page to go on with. Async-signal-safe.
    void pacify(const void *address) const noexcept;

  private:
    [[nodiscard]] char *address(std::size_t page) const noexcept;
    [[nodiscard]] bool reserve_chunk() noexcept HOLDFAST_TSA(requires_capability(mutex_));

    const std::size_t page_size_;
    const std::size_t chunk_pages_;
    const std::size_t max_chunks_;
    Mutex mutex_;
    std::size_t next_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;
    std::set<std::size_t> live_ HOLDFAST_TSA(guarded_by(mutex_));
    /// Written under the mutex, read by the fault handler.
    std::array<std::atomic<char *>, kMaxChunks> chunks_{};
};

/// The one of this process; made at first use, never destroyed, since late accesses may come at any time.
[[nodiscard]] Arena &arena();

/// Count late accesses instead of dying of them. Installs a SIGSEGV handler, or puts the former one back.
void catch_late(bool on);
[[nodiscard]] std::uint64_t late_accesses() noexcept;

} // namespace holdfast::mayfly
