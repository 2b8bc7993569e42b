// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include <cstdint>

/// What the tests of packets share.
namespace holdfast::test {

/// Which mayfly generated it.
inline std::uint32_t maker_of(const rte_mbuf *m) {
    rte_pmd_mayfly_stamp stamp{};
    EXPECT_EQ(rte_pmd_mayfly_read_stamp(rte_pktmbuf_mtod(m, const unsigned char *), rte_pktmbuf_data_len(m), &stamp),
              1);
    return stamp.device;
}

class Traffic : public WithPorts {
  protected:
    static std::uint32_t id_of(const Mayfly &m) {
        return static_cast<std::uint32_t>(rte_pmd_mayfly_id(m.name().c_str()));
    }
    static bool all_joined(const Vport &port) {
        for (const VirtualPort::SubInfo &s : port.describe().subs)
            if (!s.joined || s.state != "started")
                return false;
        return true;
    }
};

} // namespace holdfast::test
