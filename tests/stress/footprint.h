// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/eal_state.h"

#include <rte_lcore.h>
#include <rte_malloc.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include <malloc.h>

#ifdef __SANITIZE_ADDRESS__
// Of the sanitizer's run-time library; g++ does not ship the header that declares it.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace holdfast::test {

/// What a process that runs for long must not use more and more of.
struct Footprint {
    std::size_t files = 0;
    std::size_t threads = 0;
    std::size_t heap = 0;        ///< bytes from malloc
    std::size_t dpdk_pieces = 0; ///< allocations in DPDK's heaps
    std::size_t dpdk_bytes = 0;
    std::size_t mappings = 0;
    std::size_t resident = 0; ///< kB

    [[nodiscard]] static Footprint now() {
        Footprint out;
        out.files = entries("/proc/self/fd");
        out.threads = entries("/proc/self/task");
        out.heap = heap_bytes();
        for (unsigned i = 0; i < rte_socket_count(); i++) {
            rte_malloc_socket_stats stats{};
            if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) != 0)
                continue;
            out.dpdk_pieces += stats.alloc_count;
            out.dpdk_bytes += stats.heap_allocsz_bytes;
        }
        std::string line;
        for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);)
            out.mappings++;
        for (std::ifstream status("/proc/self/status"); std::getline(status, line);)
            if (line.starts_with("VmRSS:"))
                out.resident = std::stoul(line.substr(6));
        return out;
    }
    friend std::ostream &operator<<(std::ostream &out, const Footprint &f) {
        return out << f.files << " files, " << f.threads << " threads, " << f.heap << " bytes of heap, " << f.dpdk_bytes
                   << " bytes in " << f.dpdk_pieces << " pieces of DPDK's, " << f.mappings << " mappings, "
                   << f.resident << " kB resident";
    }

  private:
    static std::size_t entries(const char *folder) {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
    }
    static std::size_t heap_bytes() {
#ifdef __SANITIZE_ADDRESS__
        return __sanitizer_get_current_allocated_bytes(); // its allocator tells mallinfo() nothing
#else
        const struct mallinfo2 info = ::mallinfo2();
        return info.uordblks + info.hblkhd;
#endif
    }
};

} // namespace holdfast::test
