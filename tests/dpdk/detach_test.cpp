// SPDX-License-Identifier: BSD-3-Clause
// Foreign hands: somebody else (an application, an operator at its prompt) takes a sub-device off its bus.
#include "dpdk/detach_rig.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

TEST_F(Detach, WhatAnOperatorDetachedStaysAbsentUntilItIsPluggedByHand) {
    const std::vector<std::pair<const char *, std::function<int(const std::string &)>>> ways{
        {"rte_dev_remove", detach},
        {"rte_eal_hotplug_remove",
         [](const std::string &name) { return rte_eal_hotplug_remove("vdev", name.c_str()); }},
        {"rte_vdev_uninit", [](const std::string &name) { return rte_vdev_uninit(name.c_str()); }}};
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    std::uint64_t removals = 0;
    for (const auto &[name, way] : ways) {
        SCOPED_TRACE(name);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        EXPECT_EQ(send(port, 3), 3);
        ASSERT_EQ(way(a.name()), 0);
        removals++;
        EXPECT_EQ(port.active(), 1) << "at once";
        EXPECT_EQ(send(port, 2), 2);
        EXPECT_EQ(find_vdev(a.name()), nullptr);
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        EXPECT_FALSE(port.sub(0).wanted);
        EXPECT_EQ(port.sub(0).reason, "detached by somebody else");
        EXPECT_EQ(port.sub(0).removals, removals);
        const std::int64_t probes = a.calls("probe");
        EXPECT_TRUE(always([&] { return !a.there(); }, 50ms));
        EXPECT_EQ(a.calls("probe"), probes) << "it is not even looked for";
        ASSERT_EQ(port.stop(), 0); // not by a new configuration either
        ASSERT_EQ(port.up(pool()), 0);
        EXPECT_TRUE(always([&] { return !a.there(); }, 20ms));
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
    }
    EXPECT_EQ(port.stats().opackets, 15U);
    expect_no_late_access({&a, &b});
}

TEST_F(Detach, EveryOtherWayToGoDoesNotKeepASubDeviceAway) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    const auto back = [&](std::uint64_t removals) {
        return eventually([&] { return port.sub(0).removals >= removals && port.joined(0); });
    };
    ASSERT_TRUE(back(0));
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there(); }));
    a.plug();
    EXPECT_TRUE(back(1)) << "RMV";
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    a.fail("dev_start", -EIO, 2);
    ASSERT_TRUE(port.plug_by_hand(0).ok());
    EXPECT_TRUE(back(4)) << "two failed plug-ins: " << port.sub(0).reason;
    const std::uint16_t below = a.port().raw();
    ASSERT_EQ(rte_eth_dev_stop(below), 0);
    ASSERT_EQ(rte_eth_dev_close(below), 0);
    EXPECT_TRUE(back(5)) << "closed by somebody else";
}

// Everybody who looks at the device sees what he saw before.
TEST_F(Detach, TheBusAndEthdevSeeTheDriverThatTheDeviceHas) {
    const Mayfly direct("mode=loop");
    ASSERT_EQ(rte_vdev_init(direct.name().c_str(), ""), 0);
    Mayfly a;
    Vport port(a.dev());
    ASSERT_EQ(port.rc(), 0);
    rte_device *below = find_vdev(a.name()), *plain = find_vdev(direct.name());
    ASSERT_NE(below, nullptr);
    EXPECT_NE(rte_dev_is_probed(below), 0);
    EXPECT_STREQ(rte_driver_name(rte_dev_driver(below)), "net_mayfly");
    EXPECT_EQ(rte_driver_name(rte_dev_driver(below)), rte_driver_name(rte_dev_driver(plain)))
        << "some compare the pointers";
    EXPECT_EQ(rte_dev_driver(below)->alias, rte_dev_driver(plain)->alias);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(a.port().raw(), &info), 0);
    EXPECT_EQ(info.driver_name, rte_driver_name(rte_dev_driver(plain)));
    const auto driver = [](const rte_device *dev) {
        return reinterpret_cast<const rte_vdev_driver *>(reinterpret_cast<const char *>(rte_dev_driver(dev)) -
                                                         offsetof(rte_vdev_driver, driver));
    };
    EXPECT_NE(driver(below), driver(plain));
    EXPECT_EQ(driver(below)->probe, driver(plain)->probe);
    EXPECT_EQ(driver(below)->dma_map, driver(plain)->dma_map);
    EXPECT_EQ(driver(below)->dma_unmap, driver(plain)->dma_unmap);
    EXPECT_EQ(driver(below)->drv_flags, driver(plain)->drv_flags);
    EXPECT_NE(driver(below)->remove, driver(plain)->remove);
    EXPECT_EQ(rte_vdev_uninit(direct.name().c_str()), 0);
}

// The operator attaches it again, for himself.
TEST_F(Detach, ADeviceThatTheOperatorAttachedAgainIsHisUntilItIsPluggedByHand) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=2"));
    ASSERT_EQ(port.up(pool()), 0);
    for (const bool started : {false, true}) {
        SCOPED_TRACE(started);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        ASSERT_EQ(detach(a.name()), 0);
        ASSERT_EQ(rte_vdev_init(a.name().c_str(), ""), 0);
        const std::uint16_t his = a.port().raw();
        rte_eth_dev_owner owner{};
        EXPECT_TRUE(always([&] { return a.port() == PortId{his} && port.active() == 1; }, 30ms));
        ASSERT_EQ(rte_eth_dev_owner_get(his, &owner), 0);
        EXPECT_EQ(owner.id, static_cast<std::uint64_t>(RTE_ETH_DEV_NO_OWNER));
        if (started) {
            const rte_eth_conf conf{};
            ASSERT_EQ(rte_eth_dev_configure(his, 1, 1, &conf), 0);
            ASSERT_EQ(rte_eth_rx_queue_setup(his, 0, 256, 0, nullptr, pool()), 0);
            ASSERT_EQ(rte_eth_tx_queue_setup(his, 0, 256, 0, nullptr), 0);
            ASSERT_EQ(rte_eth_dev_start(his), 0);
        }
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        if (started) { // he uses it: not under his feet
            ASSERT_TRUE(eventually([&] { return !port.sub(0).reason.empty(); }));
            EXPECT_TRUE(always([&] { return a.port() == PortId{his} && port.state(0) == "absent"; }, 30ms));
            EXPECT_NE(port.sub(0).reason.find("somebody runs"), std::string::npos) << port.sub(0).reason;
            ASSERT_EQ(rte_eth_dev_stop(his), 0);
            ASSERT_TRUE(port.plug_by_hand(0).ok());
        }
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
        EXPECT_EQ(a.port(), PortId{his}) << "taken over";
        EXPECT_EQ(send(port), 1);
    }
    ASSERT_EQ(detach(a.name()), 0) << "what was taken over has a shadow too";
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }));
    expect_no_late_access({&a, &b});
}

// F96: the id goes to somebody else before the host thread has looked.
TEST_F(Detach, APortIdThatIsUsedAgainAtOnceIsNotMistakenForTheOldOne) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 20; round++) {
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
        const PortId id = a.port();
        const std::uint64_t switches = port.describe().switches;
        ASSERT_EQ(detach(a.name()), 0);
        const Mayfly stranger("mode=loop");
        ASSERT_EQ(rte_vdev_init(stranger.name().c_str(), ""), 0);
        ASSERT_EQ(stranger.port(), id) << "the id is used again";
        const rte_eth_conf conf{};
        ASSERT_EQ(rte_eth_dev_configure(id.raw(), 1, 1, &conf), 0);
        ASSERT_EQ(rte_eth_rx_queue_setup(id.raw(), 0, 256, 0, nullptr, pool()), 0);
        ASSERT_EQ(rte_eth_tx_queue_setup(id.raw(), 0, 256, 0, nullptr), 0);
        ASSERT_EQ(rte_eth_dev_start(id.raw()), 0);
        rte_mbuf *m = packets(1).front();
        ASSERT_EQ(rte_eth_tx_burst(id.raw(), 0, &m, 1), 1);
        stranger.raise(RTE_ETH_EVENT_INTR_RMV);
        stranger.raise(RTE_ETH_EVENT_INTR_LSC);
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        EXPECT_EQ(port.active(), 1);
        EXPECT_EQ(port.describe().switches, switches + 1);
        EXPECT_EQ(port.stats().opackets, 0U) << "his packets are not ours";
        EXPECT_EQ(stranger.port(), id) << "not ours to close";
        rte_eth_dev_owner owner{};
        ASSERT_EQ(rte_eth_dev_owner_get(id.raw(), &owner), 0);
        EXPECT_EQ(owner.id, static_cast<std::uint64_t>(RTE_ETH_DEV_NO_OWNER));
        for (const char *op : {"dev_stop", "dev_close", "stats_get"})
            EXPECT_EQ(stranger.calls(op), 0) << op;
        ASSERT_EQ(rte_eth_dev_stop(id.raw()), 0);
        ASSERT_EQ(detach(stranger.name()), 0);
        ASSERT_TRUE(port.plug_by_hand(0).ok());
    }
}

// The bus's next one stays in its list, closed, when the port is detached without a close.
TEST_F(Detach, ADeviceThatIsLeftOnTheBusByADetachWithoutCloseHasItsOwnDriverAgain) {
    Mayfly plain, a;
    ASSERT_EQ(rte_vdev_init(plain.name().c_str(), ""), 0);
    Vport port(a.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    ASSERT_EQ(port.detach(), 0);
    EXPECT_FALSE(a.there());
    rte_device *left = find_vdev(a.name());
    ASSERT_NE(left, nullptr);
    EXPECT_EQ(rte_dev_driver(left), rte_dev_driver(find_vdev(plain.name())));
    EXPECT_EQ(rte_vdev_uninit(plain.name().c_str()), 0);
}

} // namespace
} // namespace holdfast::test
