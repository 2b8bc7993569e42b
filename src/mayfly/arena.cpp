// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/arena.h"

#include <algorithm>
#include <csignal>

#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::mayfly {
namespace {

void *inaccessible(void *where, std::size_t bytes) noexcept {
    const int fixed = where == nullptr ? 0 : MAP_FIXED;
    void *mapping = mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    return mapping == MAP_FAILED ? nullptr : mapping;
}

std::atomic<std::uint64_t> g_late{0};
struct sigaction g_former; // NOLINT: written only while no handler of ours is installed
bool g_catching = false;

void on_fault(int signal, siginfo_t *info, void *context) {
    const Arena &queues = arena();
    if (queues.owns(info->si_addr)) {
        // pairs: counter (late_accesses).
        g_late.fetch_add(1, std::memory_order_relaxed);
        queues.pacify(info->si_addr);
        return;
    }
    if ((g_former.sa_flags & SA_SIGINFO) != 0) {
        g_former.sa_sigaction(signal, info, context);
    } else if (g_former.sa_handler == SIG_DFL || g_former.sa_handler == SIG_IGN) {
        std::signal(signal, SIG_DFL); // the access is tried again when we return, and now kills
    } else {
        g_former.sa_handler(signal);
    }
}

} // namespace

Arena::Arena(std::size_t chunk_pages, std::size_t max_chunks) noexcept
    : page_size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), chunk_pages_(chunk_pages),
      max_chunks_(std::min(max_chunks, kMaxChunks)) {}

Arena::~Arena() {
    for (const std::atomic<char *> &chunk : chunks_)
        if (char *base = chunk.load(std::memory_order_acquire); base != nullptr) // pairs: chunk (Arena::reserve_chunk)
            munmap(base, chunk_pages_ * page_size_);
}

char *Arena::address(std::size_t page) const noexcept {
    // pairs: chunk (Arena::reserve_chunk).
    return chunks_[page / chunk_pages_].load(std::memory_order_acquire) + page % chunk_pages_ * page_size_;
}

bool Arena::reserve_chunk() noexcept {
    std::atomic<char *> &chunk = chunks_[next_ / chunk_pages_];
    if (chunk.load(std::memory_order_acquire) != nullptr) // pairs: chunk (below)
        return true;
    void *base = inaccessible(nullptr, chunk_pages_ * page_size_);
    // pairs: chunk (Arena::owns): a fault handler that sees the chunk sees a mapping.
    chunk.store(static_cast<char *>(base), std::memory_order_release);
    return base != nullptr;
}

void *Arena::take() {
    const Locked held(mutex_);
    const std::size_t pages = chunk_pages_ * max_chunks_;
    if (live_.size() >= pages)
        return nullptr;
    if (next_ == pages)
        next_ = 0;
    while (live_.contains(next_))
        next_ = (next_ + 1) % pages;
    if (!reserve_chunk())
        return nullptr;
    char *page = address(next_);
    // A page that a late accessor was pacified with may be dirty; a new mapping is zero.
    void *fresh = mmap(page, page_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (fresh == MAP_FAILED)
        return nullptr;
    live_.insert(next_++);
    return fresh;
}

void Arena::close(void *page) noexcept {
    const Locked held(mutex_);
    for (const std::size_t number : live_) {
        if (address(number) == page) {
            // mprotect would keep the page's history, which keeps the kernel from merging it with its neighbours.
            inaccessible(page, page_size_);
            live_.erase(number);
            return;
        }
    }
}

bool Arena::owns(const void *where) const noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(where);
    return std::any_of(chunks_.begin(), chunks_.end(), [&](const std::atomic<char *> &chunk) {
        // pairs: chunk (Arena::reserve_chunk).
        const auto base = reinterpret_cast<std::uintptr_t>(chunk.load(std::memory_order_acquire));
        return base != 0 && value >= base && value - base < chunk_pages_ * page_size_;
    });
}

void Arena::pacify(const void *where) const noexcept {
    const auto page = reinterpret_cast<std::uintptr_t>(where) & ~(page_size_ - 1);
    mprotect(reinterpret_cast<void *>(page), page_size_, PROT_READ | PROT_WRITE);
}

Arena &arena() {
    static Arena *const only = new Arena;
    return *only;
}

void catch_late(bool on) {
    if (on == g_catching)
        return;
    if (on) {
        (void)arena();                              // made now, because a handler may not make it
        g_late.store(0, std::memory_order_relaxed); // pairs: counter (on_fault)
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        g_catching = sigaction(SIGSEGV, &action, &g_former) == 0;
    } else {
        g_catching = sigaction(SIGSEGV, &g_former, nullptr) != 0;
    }
}

std::uint64_t late_accesses() noexcept {
    return g_late.load(std::memory_order_relaxed); // pairs: counter (on_fault)
}

} // namespace holdfast::mayfly
