// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/virtual_port.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>

/// Interfaces of the kernel, in a network namespace of this process's own.
namespace holdfast::test {

/// Before main(): EAL's threads and ours are then born in the new namespace. With a sysfs of its own, for one shows the
/// namespace of whoever mounted it.
inline const bool g_in_own_network = ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
                                     ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                                     ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;

/// False: that needs root.
[[nodiscard]] inline bool in_own_network() {
    return g_in_own_network;
}

/// The Ethernet type of our frames.
inline constexpr std::uint16_t kType = RTE_PMD_MAYFLY_ETHER_TYPE;

inline void ip(const std::string &arguments) {
    ASSERT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments; // NOLINT(cert-env33-c)
}

/// A pair of interfaces for one scope: `name()` for the sub-device, the other end for the test.
class Veth {
  public:
    Veth() : name_(unique("v")) { make(); }
    ~Veth() {
        if (::if_nametoindex(name_.c_str()) != 0)
            remove();
    }
    Veth(const Veth &) = delete;
    Veth &operator=(const Veth &) = delete;
    void make() const {
        ip("link add " + name_ + " type veth peer name " + peer());
        ip("link set " + name_ + " up");
        ip("link set " + peer() + " up");
    }
    void remove() const { ip("link del " + name_); }
    [[nodiscard]] const std::string &name() const noexcept { return name_; }
    [[nodiscard]] std::string peer() const { return name_ + "p"; }

  private:
    const std::string name_;
};

/// Makes a packet of at least 14 bytes a broadcast of our type.
inline void address_frame(rte_mbuf *m) {
    auto *frame = rte_pktmbuf_mtod(m, unsigned char *);
    std::fill_n(frame, 6, static_cast<unsigned char>(0xff));
    frame[6] = 2;
    frame[12] = kType >> 8U;
    frame[13] = kType & 0xffU;
}

} // namespace holdfast::test
