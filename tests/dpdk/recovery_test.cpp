// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that have an error in themselves but are still there. (FAULTS.md, F109.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>

namespace holdfast::test {
namespace {

class Recovery : public WithPorts {
  protected:
    /// Counts what the application hears of the virtual port.
    class Heard {
      public:
        explicit Heard(std::uint16_t port) : port_(port) {
            for (const rte_eth_event_type event : kEvents)
                EXPECT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, event, on_event, this), 0);
        }
        ~Heard() {
            for (const rte_eth_event_type event : kEvents)
                EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, event, on_event, this), 0);
        }
        Heard(const Heard &) = delete;
        Heard &operator=(const Heard &) = delete;
        [[nodiscard]] int count() const { return count_.load(std::memory_order_relaxed); }

      private:
        static constexpr rte_eth_event_type kEvents[] = {RTE_ETH_EVENT_ERR_RECOVERING, RTE_ETH_EVENT_RECOVERY_SUCCESS,
                                                         RTE_ETH_EVENT_RECOVERY_FAILED, RTE_ETH_EVENT_INTR_RESET,
                                                         RTE_ETH_EVENT_INTR_RMV};
        static int on_event(std::uint16_t port, rte_eth_event_type, void *self, void *) {
            auto *heard = static_cast<Heard *>(self);
            if (port == heard->port_)
                heard->count_.fetch_add(1, std::memory_order_relaxed);
            return 0;
        }
        const std::uint16_t port_;
        std::atomic<int> count_{0};
    };

    static bool carries(const Vport &port, int sub) {
        return eventually([&] { return port.joined(static_cast<std::size_t>(sub)) && port.active() == sub; });
    }
    static rte_eth_conf filtering() {
        rte_eth_conf conf{};
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
        return conf;
    }
};

TEST_F(Recovery, ARecoveringSubDeviceLeavesTheTrafficAndIsKept) {
    Mayfly a("mode=generate"), b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    const Heard heard(port.id());
    EXPECT_EQ(port.active(), 0);
    const PortId before = a.port();
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    EXPECT_EQ(port.active(), 1) << "at once";
    EXPECT_EQ(receive(port), 0);
    EXPECT_EQ(send(port, 7), 7);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 7);
    EXPECT_TRUE(eventually([&] { return port.sub(0).reason == "has an error in itself"; }));
    EXPECT_TRUE(always([&] { return a.port() == before && port.active() == 1; }, 100ms)) << "it is not taken off";

    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    ASSERT_TRUE(carries(port, 0)) << "the preferred one comes back";
    EXPECT_EQ(a.port(), before);
    EXPECT_GT(receive(port), 0);
    EXPECT_EQ(send(port, 3), 3);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 3);
    EXPECT_EQ(a.calls("dev_stop"), 0) << "nothing had changed, so it was not even stopped";
    EXPECT_EQ(port.sub(0).removals, 0U);
    EXPECT_EQ(heard.count(), 0) << "the application notices nothing";
    expect_no_late_access({&a, &b});
}

TEST_F(Recovery, WhatWasSetMeanwhileIsInForceAfterwards) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.conf = filtering()}), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 5, 1), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    rte_ether_addr mac{{2, 9, 9, 9, 9, 9}};
    EXPECT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0) << "-EBUSY of one below is no error of the call";
    EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    EXPECT_EQ(rte_eth_dev_vlan_filter(port.id(), 6, 1), 0);
    EXPECT_EQ(rte_eth_dev_vlan_filter(port.id(), 5, 0), 0);
    EXPECT_EQ(a.settings().promiscuous, 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(a.settings().promiscuous, 1);
    EXPECT_EQ(a.settings().macs, 1);
    std::uint16_t vlan = 0;
    EXPECT_EQ(rte_pmd_mayfly_vlans(a.name().c_str(), &vlan, 1), 1);
    EXPECT_EQ(vlan, 6);
    EXPECT_EQ(a.calls("dev_stop"), 0);
}

TEST_F(Recovery, AnMtuThatWasSetMeanwhileIsGivenToTheStoppedDevice) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    EXPECT_EQ(rte_eth_dev_set_mtu(port.id(), 2000), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(a.settings().mtu, 2000);
    EXPECT_EQ(a.settings().started, 1);
}

TEST_F(Recovery, APortCanBeStoppedReconfiguredAndStartedMeanwhile) {
    Mayfly a("mode=generate"), b("mode=generate");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    ASSERT_EQ(port.stop(), 0);
    EXPECT_EQ(receive(port), 0);
    const Shape two{.rx_queues = 2, .tx_queues = 2};
    ASSERT_EQ(port.up(pool(), two), 0);
    EXPECT_EQ(port.active(), 1);
    EXPECT_GT(receive(port, 32, 1), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(a.settings().rx_queues, 2);
    const std::int64_t packets = a.count(RTE_PMD_MAYFLY_TX_PACKETS);
    EXPECT_EQ(send(port, 4, 1), 4);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), packets + 4);
    expect_no_late_access({&a, &b});
}

TEST_F(Recovery, OneThatRecoversInAStoppedPortIsStoppedToo) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    ASSERT_EQ(port.stop(), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    EXPECT_TRUE(eventually([&] { return a.settings().started == 0 && port.state(0) == "configured"; }));
    ASSERT_EQ(port.start(), 0);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(send(port, 2), 2);
}

TEST_F(Recovery, TheOnlySubDeviceComesBackToo) {
    Mayfly a("mode=loop");
    Vport port(devargs_of({&a}));
    ASSERT_EQ(port.up(pool()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    EXPECT_EQ(port.active(), -1);
    EXPECT_EQ(send(port), 0);
    EXPECT_EQ(receive(port), 0);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
    EXPECT_EQ(info.max_rx_queues, 16) << "what the port can do does not shrink meanwhile";
    a.recover(RTE_PMD_MAYFLY_RECOVERING); // a larger error
    a.recover(RTE_PMD_MAYFLY_RECOVERED);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(send(port, 5), 5);
    EXPECT_EQ(receive(port), 5);
}

TEST_F(Recovery, AFailedRecoveryIsARemoval) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    a.recover(RTE_PMD_MAYFLY_RECOVERY_FAILED);
    EXPECT_EQ(port.active(), 1);
    ASSERT_TRUE(carries(port, 0)) << "it is probed anew, for it is still there";
    EXPECT_EQ(port.sub(0).removals, 1U);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_LIVES), 2);
    EXPECT_EQ(a.settings().promiscuous, 1);
    EXPECT_EQ(send(port, 2), 2);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 2);
}

TEST_F(Recovery, AHungSubDeviceIsResetAndGetsEverythingAgain) {
    Mayfly a("mode=generate"), b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = filtering()}), 0);
    const Heard heard(port.id());
    rte_ether_addr mac{{2, 9, 9, 9, 9, 9}};
    rte_ether_addr own{{2, 8, 8, 8, 8, 8}};
    ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &own), 0);
    ASSERT_EQ(rte_eth_dev_mac_addr_add(port.id(), &mac, 0), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1800), 0);
    ASSERT_EQ(rte_eth_allmulticast_enable(port.id()), 0);
    ASSERT_EQ(rte_eth_dev_vlan_filter(port.id(), 77, 1), 0);
    (void)receive(port);
    const PortId before = a.port();
    const rte_eth_stats counted = port.stats();
    a.delay("dev_reset", 2s);
    a.hang();
    EXPECT_EQ(send(port, 4), 4) << "traffic does not wait for the reset";
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 4);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(a.calls("dev_reset"), 1);
    EXPECT_EQ(a.port(), before) << "the same port, not a new life";
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_LIVES), 1);
    const rte_pmd_mayfly_settings s = a.settings();
    EXPECT_EQ(s.mtu, 1800);
    EXPECT_EQ(s.allmulticast, 1);
    EXPECT_EQ(s.macs, 1);
    EXPECT_EQ(s.vlans, 1);
    EXPECT_EQ(s.rx_queues, 2);
    EXPECT_EQ(s.started, 1);
    EXPECT_EQ(std::memcmp(s.mac, own.addr_bytes, 6), 0);
    EXPECT_GT(receive(port, 32, 1), 0);
    EXPECT_EQ(send(port, 3), 3);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_TX_PACKETS), 3);
    EXPECT_GE(port.stats().ipackets, counted.ipackets) << "no counter goes backwards";
    EXPECT_EQ(port.sub(0).removals, 0U);
    EXPECT_EQ(heard.count(), 0) << "the application notices nothing";
    expect_no_late_access({&a, &b});
}

TEST_F(Recovery, ASubDeviceThatCannotBeResetIsProbedAnew) {
    for (const char *args : {"no_ops=dev_reset", ""}) {
        Mayfly a(args), b;
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        if (*args == '\0')
            a.fail("dev_reset", EIO, 1);
        a.hang();
        ASSERT_TRUE(eventually([&] { return a.count(RTE_PMD_MAYFLY_LIVES) == 2; })) << args;
        ASSERT_TRUE(carries(port, 0)) << args;
        EXPECT_EQ(a.count(RTE_PMD_MAYFLY_LIVES), 2);
        EXPECT_EQ(send(port, 1), 1);
    }
}

TEST_F(Recovery, AnErrorInTheMiddleOfACallIsNoErrorOfTheCall) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    a.fail("promiscuous_enable", EBUSY, 1);
    a.raise_in("promiscuous_enable", RTE_ETH_EVENT_ERR_RECOVERING);
    EXPECT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
    EXPECT_EQ(b.settings().promiscuous, 1);
    EXPECT_EQ(port.active(), 1);
    a.raise(RTE_ETH_EVENT_RECOVERY_SUCCESS);
    ASSERT_TRUE(carries(port, 0));
    EXPECT_EQ(a.settings().promiscuous, 1);
}

TEST_F(Recovery, OneThatIsPulledWhileItRecoversLeaves) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    a.recover(RTE_PMD_MAYFLY_RECOVERING);
    a.unplug();
    ASSERT_TRUE(eventually([&] { return !a.there() && port.state(0) == "absent"; }));
    a.plug();
    ASSERT_TRUE(carries(port, 0));
}

TEST_F(Recovery, APortClosesWhileASubDeviceRecovers) {
    Mayfly a, b;
    {
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        a.recover(RTE_PMD_MAYFLY_RECOVERING);
    }
    EXPECT_FALSE(a.there());
}

TEST_F(Recovery, TrafficNeverMeetsADeviceThatIsWorkedOn) {
    Mayfly a("mode=generate"), b("mode=generate");
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    std::atomic<bool> stop{false};
    std::thread lcore([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            (void)receive(port);
            (void)send(port, 8);
        }
    });
    for (int i = 0; i < 30; i++) {
        if (i % 3 == 2) {
            a.hang();
        } else {
            a.recover(RTE_PMD_MAYFLY_RECOVERING);
            a.recover(RTE_PMD_MAYFLY_RECOVERED);
        }
        if (!carries(port, 0)) {
            ADD_FAILURE() << "it did not come back from error " << i << ": " << port.sub(0).reason;
            break;
        }
    }
    stop.store(true, std::memory_order_relaxed);
    lcore.join();
    EXPECT_EQ(a.calls("dev_reset"), 10);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_LIVES), 1);
    expect_no_late_access({&a, &b});
}

} // namespace
} // namespace holdfast::test
