// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <sched.h>

/// A network namespace for a part of one test; support/netdev.h has one for a whole process.
namespace holdfast::test {

/// Runs f in a thread with a network namespace of its own, which goes with it and takes the interfaces along.
template <class F> void in_own_namespace(F f) {
    int error = 0;
    std::thread([&] {
        if (::unshare(CLONE_NEWNET) != 0)
            error = errno;
        else
            f();
    }).join();
    if (error != 0)
        GTEST_SKIP() << "cannot make a network namespace: " << std::strerror(error);
}

/// In the namespace of the calling thread.
inline void ip_here(const std::string &arguments) {
    EXPECT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments; // NOLINT(cert-env33-c)
}

} // namespace holdfast::test
