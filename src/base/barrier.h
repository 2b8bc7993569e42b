// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast {

/// A memory barrier in every thread of this process, paid for by the one who asks for it: membarrier(2). Threads of
/// other processes are not reached, so what it orders must not lie in memory that processes share.
class ProcessBarrier {
  public:
    /// Can this process have it? Asks the kernel once; an old one, or a sandbox, may say no.
    [[nodiscard]] static bool available() noexcept {
        static const bool registered = command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        return registered;
    }

    /// Returns after every thread of this process has passed a full barrier since the call. False: it was refused, and
    /// nothing is known. Cost: a system call and an interrupt on each CPU that runs one of our threads. Any thread.
    [[nodiscard]] static bool pass() noexcept {
        // The second one is slow, but known to more kernels, and needs no registration.
        return command(MEMBARRIER_CMD_PRIVATE_EXPEDITED) || command(MEMBARRIER_CMD_GLOBAL);
    }

  private:
    static bool command(int what) noexcept { return ::syscall(SYS_membarrier, what, 0, 0) == 0; }
};

} // namespace holdfast
