// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What this header declares is what the module exports; everything else of it is hidden.
#pragma GCC visibility push(default)
#include <rte_pmd_mayfly.h>
#pragma GCC visibility pop

#include "mayfly/device.h"

#include <cerrno>
#include <new>

namespace holdfast::mayfly {

/// Runs a C function's body on the device of a name. Nothing gets out of it but a number.
template <class F> auto run(const char *name, F &&body) noexcept -> decltype(body(std::declval<Device &>())) {
    try {
        Device *device = name == nullptr ? nullptr : find_device(name);
        return device == nullptr ? -EINVAL : body(*device);
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    } catch (...) {
        return -EFAULT;
    }
}

/// The same with an operation by its name.
template <class F>
auto run(const char *name, const char *op, F &&body) noexcept -> decltype(body(std::declval<Device &>(), Op::kProbe)) {
    return run(name, [&](Device &device) -> decltype(body(device, Op::kProbe)) {
        const auto known = op == nullptr ? std::nullopt : find_op(op);
        if (!known)
            return -EINVAL;
        return body(device, *known);
    });
}

} // namespace holdfast::mayfly
