// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <cerrno>

namespace holdfast::abi {

/// Registers what under_vdev_lock() needs. At load, once, after the driver itself.
void register_vdev_key() noexcept;

namespace detail {
Status under_vdev_lock(void (*call)(void *), void *arg) noexcept;
}

/// Runs f() while the virtual bus's list of devices stands still: nobody adds, removes or frees one meanwhile. (But not
/// against rte_eal_cleanup(), which walks the list without the lock.) May be called by a thread that has the lock, as a
/// probe or a remove has. An error: f() did not run.
template <class F> Status under_vdev_lock(F f) noexcept {
    struct Guarded {
        F &f;
        bool out_of_memory = false;
    } guarded{f};
    const Status status = detail::under_vdev_lock(
        [](void *arg) {
            auto &g = *static_cast<Guarded *>(arg);
            try { // the bus is C, and has a spinlock
                g.f();
            } catch (...) {
                g.out_of_memory = true;
            }
        },
        &guarded);
    return guarded.out_of_memory ? Status{-ENOMEM, "get memory under the lock of the virtual bus"} : status;
}

} // namespace holdfast::abi
