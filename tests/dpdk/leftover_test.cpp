// SPDX-License-Identifier: BSD-3-Clause
// Callbacks that a capture tool has put on a sub-device, when the device goes and comes back to the same port id.
#include "traffic_rig.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <cstdint>

namespace holdfast::test {
namespace {

struct Seen {
    std::uint64_t rx = 0;
    std::uint64_t tx = 0;
};

std::uint16_t see_rx(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, std::uint16_t, void *seen) {
    static_cast<Seen *>(seen)->rx += n;
    return n;
}

std::uint16_t see_tx(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, void *seen) {
    static_cast<Seen *>(seen)->tx += n;
    return n;
}

void forget(const rte_eth_rxtx_callback *callback) {
    rte_free(const_cast<rte_eth_rxtx_callback *>(callback));
}

using Leftover = Traffic;

TEST_F(Leftover, ACallbackDoesNotOutliveTheDeviceAndCanStillBeTakenBack) {
    Mayfly m("mode=generate");
    Vport port(devargs_of({&m}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    const std::uint16_t sub = m.port().raw();
    Seen seen;
    const rte_eth_rxtx_callback *rx = rte_eth_add_rx_callback(sub, 0, see_rx, &seen);
    const rte_eth_rxtx_callback *rx_behind = rte_eth_add_rx_callback(sub, 0, see_rx, &seen);
    const rte_eth_rxtx_callback *tx = rte_eth_add_tx_callback(sub, 0, see_tx, &seen);
    ASSERT_NE(rx, nullptr);
    ASSERT_NE(rx_behind, nullptr);
    ASSERT_NE(tx, nullptr);
    const std::uint16_t got = receive(port);
    EXPECT_GT(got, 0);
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(seen.rx, 2U * got) << "a capture on a sub-device sees its packets";
    EXPECT_EQ(seen.tx, 5U);

    m.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    m.plug();
    ASSERT_TRUE(eventually([&] { return all_joined(port); }));
    ASSERT_EQ(m.port().raw(), sub) << "the test needs the same id";
    seen = {};
    EXPECT_GT(receive(port), 0);
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(seen.rx, 0U) << "what it writes into may be gone";
    EXPECT_EQ(seen.tx, 0U);

    EXPECT_EQ(rte_eth_remove_rx_callback(sub, 0, rx), 0);
    EXPECT_EQ(rte_eth_remove_rx_callback(sub, 0, rx_behind), 0);
    EXPECT_EQ(rte_eth_remove_tx_callback(sub, 0, tx), 0);
    const rte_eth_rxtx_callback *again = rte_eth_add_rx_callback(sub, 0, see_rx, &seen);
    ASSERT_NE(again, nullptr);
    EXPECT_GT(receive(port), 0);
    EXPECT_GT(seen.rx, 0U) << "a new capture works";
    EXPECT_EQ(rte_eth_remove_rx_callback(sub, 0, again), 0);
    for (const rte_eth_rxtx_callback *callback : {rx, rx_behind, tx, again})
        forget(callback);
}

} // namespace
} // namespace holdfast::test
