// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <ethdev_driver.h>

#include <cerrno>
#include <concepts>
#include <new>
#include <type_traits>

namespace holdfast::abi {

/// The C++ object behind a port in this process. ethdev clears process_private when it releases the port.
template <class Port> [[nodiscard]] Port *self(const rte_eth_dev *dev) noexcept {
    return static_cast<Port *>(dev->process_private);
}

namespace detail {

/// Turns what a member function gave into what ethdev expects. A port may have a `report(Status)`: the one place where
/// its failures are logged.
template <class Port, class Value> auto to_c(Port &port, Value value) noexcept {
    if constexpr (std::same_as<Value, Status>) {
        if constexpr (requires { port.report(value); }) {
            if (!value.ok())
                port.report(value);
        }
        return value.code();
    } else {
        return value;
    }
}

template <auto Method> struct Callback;

template <class Port, class Ret, class... Args, Ret (Port::*Method)(Args...)> struct Callback<Method> {
    using CRet = std::conditional_t<std::same_as<Ret, Status>, int, Ret>;

    static CRet call(rte_eth_dev *dev, Args... args) noexcept {
        int failure = -ENODEV; // the port was released in this process
        if (Port *port = self<Port>(dev); port != nullptr) {
            // Our own code throws nothing; the handlers are for the standard library.
            try {
                if constexpr (std::is_void_v<Ret>)
                    return (port->*Method)(args...);
                else
                    return to_c(*port, (port->*Method)(args...));
            } catch (const std::bad_alloc &) {
                failure = -ENOMEM;
            } catch (...) {
                failure = -EFAULT;
            }
        }
        if constexpr (std::is_integral_v<CRet>)
            return static_cast<CRet>(failure);
        else if constexpr (!std::is_void_v<CRet>)
            return CRet{};
    }
};

} // namespace detail

/// A C function for a slot of eth_dev_ops that calls a member function of the port's object: noexcept, a negative errno
/// on failure. `.mtu_set = abi::callback<&VirtualPort::set_mtu>`
template <auto Method> inline constexpr auto callback = &detail::Callback<Method>::call;

} // namespace holdfast::abi
