// SPDX-License-Identifier: BSD-3-Clause
// A detach by somebody else of a device with two ports, whose driver may refuse its removal.
#include "dpdk/detach_rig.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>

namespace holdfast::test {
namespace {

constexpr const char *kTwin = "holdfast_pair";
std::atomic<int> g_refuse{0};
std::atomic<bool> g_stay{false}; ///< lcores do not come out of a Tx burst
std::atomic<int> g_inside{0};

int pair_ok(rte_eth_dev *) {
    return 0;
}
int pair_link(rte_eth_dev *dev, int) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    return 0;
}
int pair_queue(rte_eth_dev *, std::uint16_t, std::uint16_t, unsigned, const rte_eth_rxconf *, rte_mempool *) {
    return 0;
}
int pair_tx_queue(rte_eth_dev *, std::uint16_t, std::uint16_t, unsigned, const rte_eth_txconf *) {
    return 0;
}
std::uint16_t pair_rx(void *, rte_mbuf **, std::uint16_t) {
    return 0;
}
std::uint16_t pair_tx(void *, rte_mbuf **packets, std::uint16_t n) {
    g_inside++;
    while (g_stay.load())
        std::this_thread::sleep_for(1ms);
    g_inside--;
    rte_pktmbuf_free_bulk(packets, n);
    return n;
}
int pair_info(rte_eth_dev *, rte_eth_dev_info *info) {
    info->max_rx_queues = info->max_tx_queues = 4;
    info->max_rx_pktlen = 1518;
    info->max_mac_addrs = 1;
    return 0;
}
std::string pair_port(const rte_vdev_device &vdev, int i) {
    return std::string(rte_dev_name(&vdev.device)) + "_" + std::to_string(i);
}
int pair_probe(rte_vdev_device *vdev) {
    static const eth_dev_ops ops = [] {
        eth_dev_ops o{};
        o.dev_configure = o.dev_start = o.dev_stop = o.dev_close = &pair_ok;
        o.dev_infos_get = &pair_info;
        o.link_update = &pair_link;
        o.rx_queue_setup = &pair_queue;
        o.tx_queue_setup = &pair_tx_queue;
        return o;
    }();
    for (int i = 0; i < 2; i++) {
        rte_eth_dev *dev = rte_eth_dev_allocate(pair_port(*vdev, i).c_str());
        if (dev == nullptr)
            return -ENOMEM;
        dev->device = &vdev->device;
        dev->dev_ops = &ops;
        dev->rx_pkt_burst = &pair_rx;
        dev->tx_pkt_burst = &pair_tx;
        dev->data->mac_addrs = static_cast<rte_ether_addr *>(rte_zmalloc("pair", sizeof(rte_ether_addr), 0));
        dev->data->mac_addrs[0] = {{2, 0, 0, 0, 2, static_cast<std::uint8_t>(i)}};
        rte_eth_dev_probing_finish(dev);
    }
    return 0;
}
int pair_remove(rte_vdev_device *vdev) {
    if (g_refuse.load() > 0) {
        g_refuse--;
        return -EPERM;
    }
    for (int i = 0; i < 2; i++)
        if (rte_eth_dev *dev = rte_eth_dev_allocated(pair_port(*vdev, i).c_str()); dev != nullptr)
            (void)rte_eth_dev_release_port(dev);
    return 0;
}

class DetachPair : public Detach {
  protected:
    void SetUp() override {
        Detach::SetUp();
        driver_.driver.name = kTwin;
        driver_.probe = &pair_probe;
        driver_.remove = &pair_remove;
        rte_vdev_register(&driver_);
        name_ = unique(kTwin);
    }
    void TearDown() override {
        rte_vdev_unregister(&driver_);
        Detach::TearDown();
    }
    [[nodiscard]] const rte_driver *driver() const { return &driver_.driver; }

    rte_vdev_driver driver_{};
    std::string name_;
};

TEST_F(DetachPair, ARemovalThatTheDriverRefusesLeavesTheSubDeviceInTheTraffic) {
    Mayfly m;
    Vport port("hotplug_poll=2,announce=0,dev(" + name_ + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    const PortId below = port.sub(0).port;
    ASSERT_EQ(rte_eth_promiscuous_disable(port.id()), 0);
    g_refuse.store(1);
    EXPECT_EQ(detach(name_), -EPERM);
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
    EXPECT_TRUE(port.sub(0).wanted);
    EXPECT_EQ(port.sub(0).port, below);
    EXPECT_EQ(port.sub(0).removals, 0U);
    EXPECT_EQ(send(port, 2), 2);
    EXPECT_EQ(m.count(RTE_PMD_MAYFLY_TX_PACKETS), 0);
    EXPECT_EQ(detach(name_), 0) << "the retry works, and still by the shadow";
    EXPECT_EQ(port.active(), 1);
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }));
}

TEST_F(DetachPair, AnLcoreThatDoesNotComeOutMakesItFailAndTheSubDeviceStays) {
    Mayfly m;
    Vport port("hotplug_poll=2,announce=0,dev(" + name_ + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; }));
    g_stay.store(true);
    std::thread lcore([&] { EXPECT_EQ(send(port, 1), 1); });
    EXPECT_TRUE(eventually([] { return g_inside.load() == 1; }));
    EXPECT_EQ(detach(name_), -EBUSY);
    EXPECT_NE(find_vdev(name_), nullptr);
    g_stay.store(false);
    lcore.join();
    EXPECT_TRUE(eventually([&] { return port.active() == 0; })) << "it is in the traffic again";
    EXPECT_TRUE(port.joined(0));
    EXPECT_EQ(port.sub(0).removals, 0U);
    EXPECT_EQ(detach(name_), 0) << "the retry works";
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(send(port, 1), 1);
    EXPECT_EQ(m.count(RTE_PMD_MAYFLY_TX_PACKETS), 1);
}

TEST_F(DetachPair, ADeviceWithTwoPortsIsDetachedWithBoth) {
    Mayfly m;
    Vport port("hotplug_poll=2,announce=0,dev(" + name_ + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; }));
    std::uint16_t second = 0;
    ASSERT_EQ(rte_eth_dev_get_port_by_name((name_ + "_1").c_str(), &second), 0);
    EXPECT_EQ(detach(name_), 0);
    EXPECT_EQ(rte_eth_dev_is_valid_port(second), 0);
    EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }));
    EXPECT_EQ(send(port), 1);
    EXPECT_TRUE(always([&] { return find_vdev(name_) == nullptr; }, 20ms));
}

TEST_F(DetachPair, ADeviceThatStaysOnTheBusHasItsOwnDriverAgain) {
    Mayfly m;
    Vport port("hotplug_poll=2,announce=0,dev(" + name_ + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    EXPECT_NE(rte_dev_driver(find_vdev(name_)), driver()) << "the shadow";
    ASSERT_TRUE(port.remove_by_hand(0).ok());
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    ASSERT_NE(find_vdev(name_), nullptr) << "its other port is the application's";
    EXPECT_EQ(rte_dev_driver(find_vdev(name_)), driver());
    EXPECT_EQ(rte_vdev_uninit(name_.c_str()), 0);
}

} // namespace
} // namespace holdfast::test
