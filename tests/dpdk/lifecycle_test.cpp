// SPDX-License-Identifier: BSD-3-Clause
// Probe, close, detach; what is left behind. (FAULTS.md, section 2.)
#include "support/virtual_port.h"

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

class Lifecycle : public WithPorts {};

TEST_F(Lifecycle, APortComesUpOverOneSubDeviceAndLeavesNothingBehind) {
    Mayfly m("mode=loop");
    Vport port(m.dev());
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_EQ(send(port, 4), 4);
    EXPECT_EQ(receive(port), 4);
}

} // namespace
} // namespace holdfast::test
