// SPDX-License-Identifier: BSD-3-Clause
// Configure, start, stop, again and again; and that every operation reaches the sub-device. (FAULTS.md, section 3.)
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

class Configure : public WithPorts {};

// The order of ethdev's slots: each operation, called by its public function, arrives below as what it is.
TEST_F(Configure, EveryOperationReachesTheSubDeviceAsItself) {
    Mayfly m("mode=loop,lsc=0,rx_offloads=0xfffff"); // lsc=0: else ethdev answers for it
    Vport port(m.dev());
    ASSERT_EQ(port.rc(), 0);
    const std::uint16_t p = port.id();
    rte_ether_addr mac{{2, 0, 0, 0, 0, 1}}, more{{2, 0, 0, 0, 0, 2}};
    rte_eth_stats stats{};
    rte_mbuf *none[1]{};
    Shape shape{.rx_queues = 2, .tx_queues = 2, .descriptors = 64, .conf = {}, .deferred = true};
    shape.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;

    struct Call {
        const char *op;
        std::function<int()> call;
    };
    const std::vector<Call> calls{
        {"dev_configure", [&] { return port.configure(shape); }},
        {"rx_queue_setup", [&] { return port.set_up_queues(shape, pool()); }},
        {"dev_start", [&] { return port.start(); }},
        {"rx_queue_start", [&] { return rte_eth_dev_rx_queue_start(p, 1); }},
        {"tx_queue_start", [&] { return rte_eth_dev_tx_queue_start(p, 1); }},
        {"rx_burst", [&] { return rte_eth_rx_burst(p, 1, none, 1); }},
        {"tx_burst", [&] { return send(port, 1, 1) == 1 ? 0 : -1; }},
        {"tx_prepare", [&] { return rte_eth_tx_prepare(p, 1, none, 0); }},
        {"rx_queue_count", [&] { return rte_eth_rx_queue_count(p, 1) == 1 ? 0 : -1; }},
        {"tx_queue_count",
         [&] { return rte_eth_fp_ops[p].tx_queue_count(rte_eth_fp_ops[p].txq.data[1]) == 1 ? 0 : -1; }},
        {"rx_descriptor_status",
         [&] { return rte_eth_rx_descriptor_status(p, 1, 0) == RTE_ETH_RX_DESC_DONE ? 0 : -1; }},
        {"tx_descriptor_status",
         [&] { return rte_eth_tx_descriptor_status(p, 1, 0) == RTE_ETH_TX_DESC_FULL ? 0 : -1; }},
        {"tx_done_cleanup", [&] { return rte_eth_tx_done_cleanup(p, 1, 0); }},
        {"rx_queue_stop", [&] { return rte_eth_dev_rx_queue_stop(p, 1); }},
        {"tx_queue_stop", [&] { return rte_eth_dev_tx_queue_stop(p, 1); }},
        {"link_update", [&] { return port.link().link_status == RTE_ETH_LINK_UP ? 0 : -1; }},
        {"dev_set_link_down", [&] { return rte_eth_dev_set_link_down(p); }},
        {"dev_set_link_up", [&] { return rte_eth_dev_set_link_up(p); }},
        {"promiscuous_enable", [&] { return rte_eth_promiscuous_enable(p); }},
        {"promiscuous_disable", [&] { return rte_eth_promiscuous_disable(p); }},
        {"allmulticast_enable", [&] { return rte_eth_allmulticast_enable(p); }},
        {"allmulticast_disable", [&] { return rte_eth_allmulticast_disable(p); }},
        {"mac_addr_set", [&] { return rte_eth_dev_default_mac_addr_set(p, &mac); }},
        {"mac_addr_add", [&] { return rte_eth_dev_mac_addr_add(p, &more, 0); }},
        {"mac_addr_remove", [&] { return rte_eth_dev_mac_addr_remove(p, &more); }},
        {"set_mc_addr_list", [&] { return rte_eth_dev_set_mc_addr_list(p, &more, 1); }},
        {"mtu_set", [&] { return rte_eth_dev_set_mtu(p, 1600); }},
        {"vlan_filter_set", [&] { return rte_eth_dev_vlan_filter(p, 5, 1); }},
        {"vlan_offload_set",
         [&] { return rte_eth_dev_set_vlan_offload(p, RTE_ETH_VLAN_FILTER_OFFLOAD | RTE_ETH_VLAN_STRIP_OFFLOAD); }},
        {"dev_supported_ptypes_get",
         [&] { return rte_eth_dev_get_supported_ptypes(p, RTE_PTYPE_ALL_MASK, nullptr, 0) == 1 ? 0 : -1; }},
        {"stats_get", [&] { return rte_eth_stats_get(p, &stats); }},
        {"stats_reset", [&] { return rte_eth_stats_reset(p); }},
        {"stats_reset", [&] { return rte_eth_xstats_reset(p); }},
        {"dev_stop", [&] { return port.stop(); }},
        {"tx_queue_setup", [&] { return port.set_up_queues(shape, pool()); }},
        {"dev_reset", [&] { return rte_eth_dev_reset(p); }},
        {"rx_queue_release",
         [&] { return port.configure({.rx_queues = 1, .tx_queues = 1, .descriptors = 64, .conf = {}}); }},
        {"dev_close", [&] { return port.close(); }},
    };
    for (const Call &c : calls) {
        const std::int64_t before = m.calls(c.op);
        ASSERT_GE(before, 0) << c.op;
        EXPECT_EQ(c.call(), 0) << c.op;
        EXPECT_GT(m.calls(c.op), before) << c.op;
    }
    expect_no_late_access({&m});
}

TEST_F(Configure, TheQueueInformationIsWhatTheApplicationAskedFor) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.up(pool(), {.descriptors = 512, .conf = {}}), 0);
    rte_eth_rxq_info rx{};
    rte_eth_txq_info tx{};
    ASSERT_EQ(rte_eth_rx_queue_info_get(port.id(), 0, &rx), 0);
    ASSERT_EQ(rte_eth_tx_queue_info_get(port.id(), 0, &tx), 0);
    EXPECT_EQ(rx.mp, pool());
    EXPECT_EQ(rx.nb_desc, 512);
    EXPECT_EQ(tx.nb_desc, 512);
}

// F33
TEST_F(Configure, ANewConfigurationReachesEverySubDevice) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (const std::uint16_t queues : std::to_array<std::uint16_t>({4, 2, 8})) {
        Shape shape{
            .rx_queues = queues, .tx_queues = static_cast<std::uint16_t>(queues / 2), .descriptors = 128, .conf = {}};
        shape.conf.rxmode.mtu = 1500U + queues;
        shape.conf.rxmode.offloads = queues == 2 ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0;
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.up(pool(), shape), 0);
        for (const Mayfly *m : {&a, &b}) {
            EXPECT_EQ(m->settings().rx_queues, queues);
            EXPECT_EQ(m->settings().tx_queues, queues / 2);
            EXPECT_EQ(m->settings().mtu, 1500 + queues);
            EXPECT_EQ(m->settings().rx_offloads, shape.conf.rxmode.offloads);
            EXPECT_EQ(m->settings().started, 1);
        }
        rte_eth_rxq_info below{};
        ASSERT_EQ(rte_eth_rx_queue_info_get(b.port().raw(), 0, &below), 0);
        EXPECT_EQ(below.nb_desc, 128);
    }
    expect_no_late_access({&a, &b});
}

// F34
TEST_F(Configure, ManyConfigurationsGiveOneEventPerChange) {
    Mayfly m;
    Vport port(m.dev());
    Shape shape;
    shape.conf.intr_conf.lsc = 1;
    for (int i = 0; i < 5; i++) {
        ASSERT_EQ(port.up(pool(), shape), 0);
        ASSERT_EQ(port.stop(), 0);
    }
    ASSERT_EQ(port.start(), 0);
    std::atomic<int> events{0};
    const auto count = [](std::uint16_t, rte_eth_event_type, void *arg, void *) {
        static_cast<std::atomic<int> *>(arg)->fetch_add(1);
        return 0;
    };
    ASSERT_EQ(rte_eth_dev_callback_register(port.id(), RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
    m.link(false);
    EXPECT_TRUE(eventually([&] { return events.load() == 1; }));
    EXPECT_TRUE(always([&] { return events.load() == 1; }, 200ms)) << events.load();
    m.unplug();
    EXPECT_TRUE(eventually([&] { return port.sub(0).removals == 1; }));
    EXPECT_TRUE(always([&] { return port.sub(0).removals == 1; }, 100ms));
    EXPECT_EQ(rte_eth_dev_callback_unregister(port.id(), RTE_ETH_EVENT_INTR_LSC, count, &events), 0);
}

// F35
TEST_F(Configure, AConfigurationThatIsRefusedLeavesAPortThatCanBeConfiguredAndClosed) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape bad;
    bad.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SECURITY;
    EXPECT_EQ(port.configure(bad), -EINVAL); // ethdev says so
    bad = {};
    bad.conf.intr_conf.rxq = 1;
    EXPECT_EQ(port.configure(bad), -ENOTSUP);
    b.fail("dev_configure", ENOMEM, 1);
    EXPECT_EQ(port.configure({.rx_queues = 4, .tx_queues = 4, .conf = {}}), -ENOMEM);
    EXPECT_EQ(a.settings().rx_queues, b.settings().rx_queues) << "the first one went back";
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(send(port), 1);
}

TEST_F(Configure, AConfigurationThatIsRefusedLeavesAPortThatCanBeClosed) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(port.stop(), 0);
    b.fail("dev_configure", ENOMEM, 1);
    EXPECT_EQ(port.configure({}), -ENOMEM);
    EXPECT_LT(port.start(), 0) << "ethdev released the queues";
}

// F37
TEST_F(Configure, ASubDeviceThatWasRemovedBeforeAConfigurationIsStillRemoved) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    for (int round = 0; round < 30; round++) {
        ASSERT_EQ(port.stop(), 0);
        b.unplug_planned();
        ASSERT_EQ(port.up(pool()), 0); // the host thread may have cleaned up, or not yet
        ASSERT_TRUE(eventually([&] { return !b.there(); }));
        EXPECT_EQ(port.active(), 0);
        b.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    }
    expect_no_late_access({&a, &b});
}

// F38
TEST_F(Configure, ASubDeviceThatRefusesToStopIsToldAndTheOthersAreStopped) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b, &c}));
    ASSERT_EQ(port.up(pool()), 0);
    b.fail("dev_stop", EBUSY, 1);
    EXPECT_EQ(port.stop(), -EBUSY);
    EXPECT_EQ(a.settings().started, 0);
    EXPECT_EQ(b.settings().started, 1);
    EXPECT_EQ(c.settings().started, 0);
    EXPECT_EQ(port.state(1), "started");
    EXPECT_EQ(send(port), 0) << "the port takes nothing any more";
    EXPECT_EQ(port.stop(), 0) << "the second attempt";
    EXPECT_EQ(b.settings().started, 0);
    ASSERT_EQ(port.start(), 0);
    EXPECT_EQ(send(port), 1);
}

// F39
TEST_F(Configure, ASubDeviceThatFailedOnceIsTriedAgain) {
    for (const char *op :
         {"probe", "dev_infos_get", "dev_configure", "rx_queue_setup", "tx_queue_setup", "dev_start"}) {
        SCOPED_TRACE(op);
        Mayfly a, b;
        b.unplug();
        Vport port(devargs_of({&a, &b}));
        ASSERT_EQ(port.up(pool()), 0);
        b.fail(op, ENOMEM, 1);
        b.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(port.sub(1).reason, "");
    }
}

// F40
TEST_F(Configure, ASubDeviceComesBackAfterTheLargestPacketWasChanged) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_EQ(port.stop(), 0);
    Shape shape;
    shape.conf.rxmode.mtu = 2030; // max-pkt-len 2048
    ASSERT_EQ(port.up(pool(), shape), 0);
    for (const Mayfly *m : {&a, &b}) {
        m->unplug();
        const std::uint8_t index = m == &a ? 0 : 1;
        ASSERT_TRUE(eventually([&] { return port.state(index) == "absent"; }));
        m->plug();
        EXPECT_TRUE(eventually([&] { return port.joined(index); })) << port.sub(index).reason;
        EXPECT_EQ(m->settings().mtu, 2030);
    }
}

// F41
TEST_F(Configure, WhatAPortWithoutSubDevicesOffersALaterOneCanMeet) {
    Mayfly m("max_mtu=1500,max_desc=4096,queues=64");
    for (const std::string &late : {m.devargs(), unique("net_null")}) {
        SCOPED_TRACE(late);
        auto holder = std::make_unique<Vport>("dev(" + late + ")"); // nobody else can have it meanwhile
        Vport port("hotplug_poll=20,dev(" + late + ")");
        rte_eth_dev_info info{};
        ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
        Shape shape{.rx_queues = info.max_rx_queues,
                    .tx_queues = info.max_tx_queues,
                    .descriptors = std::min(info.rx_desc_lim.nb_max, info.tx_desc_lim.nb_max),
                    .conf = {}};
        shape.conf.rxmode.offloads = info.rx_offload_capa;
        shape.conf.txmode.offloads = info.tx_offload_capa;
        shape.conf.rxmode.mtu = info.max_mtu;
        shape.conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
        ASSERT_EQ(port.up(pool(), shape), 0);
        EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN);
        holder.reset();
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
        EXPECT_EQ(send(port), 1);
    }
}

// F42
TEST_F(Configure, AStartThatFailedIsUndoneAndCanBeRepeated) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    b.fail("dev_start", ENOMEM, 1);
    EXPECT_EQ(port.start(), -ENOMEM);
    EXPECT_EQ(a.settings().started, 0);
    EXPECT_EQ(port.active(), -1);
    EXPECT_EQ(port.start(), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.joined(1); }));
    EXPECT_EQ(send(port), 1);
}

// F44
TEST_F(Configure, LinkEventsDuringStartAndStopDoNoHarm) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}));
    Shape shape;
    shape.conf.intr_conf.lsc = 1;
    ASSERT_EQ(port.up(pool(), shape), 0);
    std::atomic<bool> stop{false};
    std::thread flapper([&] {
        for (bool up = false; !stop.load(); up = !up) {
            a.link(up);
            b.link(!up);
            std::this_thread::sleep_for(1ms);
        }
    });
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(port.stop(), 0);
        EXPECT_EQ(port.start(), 0);
    }
    stop.store(true);
    flapper.join();
    a.link(true);
    b.link(true);
    EXPECT_TRUE(eventually([&] { return port.link().link_status == RTE_ETH_LINK_UP; }));
    expect_no_late_access({&a, &b});
}

// F45
TEST_F(Configure, AnMtuThatIsSetBetweenConfigureAndQueueSetUpCounts) {
    Mayfly a, b;
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    ASSERT_EQ(rte_eth_dev_set_mtu(port.id(), 1700), 0);
    b.plug(); // joins a port that has no queues yet
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    ASSERT_EQ(port.start(), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(a.settings().mtu, 1700);
    EXPECT_EQ(b.settings().mtu, 1700);
}

TEST_F(Configure, ASubDeviceThatComesBetweenAnyTwoStepsJoins) {
    for (int step = 0; step < 4; step++) {
        SCOPED_TRACE(step);
        Mayfly a, b("mode=loop");
        b.unplug();
        Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
        const auto come = [&](int now) {
            if (now != step)
                return;
            b.plug();
            ASSERT_TRUE(eventually([&] { return b.there() && port.sub(1).joined; })) << port.sub(1).reason;
        };
        come(0);
        ASSERT_EQ(port.configure({.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
        come(1);
        ASSERT_EQ(port.set_up_queues({.rx_queues = 2, .tx_queues = 2, .conf = {}}, pool()), 0);
        come(2);
        ASSERT_EQ(port.start(), 0);
        come(3);
        ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
        EXPECT_EQ(b.settings().rx_queues, 2);
        ASSERT_TRUE(port.switch_to(1).ok());
        EXPECT_EQ(send(port, 3, 1), 3);
        EXPECT_EQ(receive(port, 32, 1), 3);
        EXPECT_EQ(b.settings().started, 1);
    }
}

TEST_F(Configure, AQueueThatIsDeferredRunsOnEverySubDeviceWhenItIsStarted) {
    Mayfly a, b, late;
    late.unplug();
    Vport port(devargs_of({&a, &b, &late}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}, .deferred = true}), 0);
    EXPECT_EQ(a.calls("rx_queue_start"), 0);
    ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id(), 1), 0);
    ASSERT_EQ(rte_eth_dev_tx_queue_start(port.id(), 0), 0);
    for (const Mayfly *m : {&a, &b}) {
        EXPECT_EQ(m->calls("rx_queue_start"), 1);
        EXPECT_EQ(m->calls("tx_queue_start"), 1);
    }
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(2); })) << port.sub(2).reason;
    EXPECT_EQ(late.calls("rx_queue_start"), 1);
    EXPECT_EQ(late.calls("tx_queue_start"), 1);
    const auto runs = [&](const Mayfly &m, std::uint16_t queue) {
        rte_eth_rxq_info rx{};
        EXPECT_EQ(rte_eth_rx_queue_info_get(m.port().raw(), queue, &rx), 0);
        return rx.queue_state == RTE_ETH_QUEUE_STATE_STARTED;
    };
    EXPECT_FALSE(runs(late, 0));
    EXPECT_TRUE(runs(late, 1));
}

TEST_F(Configure, AQueueThatWasStoppedStaysStoppedOnALateSubDevice) {
    Mayfly a, late;
    late.unplug();
    Vport port(devargs_of({&a, &late}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    ASSERT_EQ(rte_eth_dev_rx_queue_stop(port.id(), 1), 0);
    late.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(1); })) << port.sub(1).reason;
    EXPECT_EQ(late.calls("rx_queue_stop"), 1);
    ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id(), 1), 0);
    EXPECT_EQ(late.calls("rx_queue_start"), 1);
}

TEST_F(Configure, AQueueThatOneSubDeviceCannotStartIsStartedOnNone) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 1, .tx_queues = 1, .conf = {}, .deferred = true}), 0);
    b.fail("rx_queue_start", EIO, 1);
    EXPECT_LT(rte_eth_dev_rx_queue_start(port.id(), 0), 0);
    EXPECT_EQ(a.calls("rx_queue_stop"), 1);
    EXPECT_EQ(rte_eth_dev_rx_queue_start(port.id(), 0), 0);
}

// What OVS does on each setting: another number of queues, on a port that has run.
TEST_F(Configure, QueuesComeAndGoWithEachConfigurationWhileSubDevicesDo) {
    Mayfly a("mode=loop,queues=64"), b("mode=loop,queues=64");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    for (int i = 0; i < 40; i++) {
        const auto queues = static_cast<std::uint16_t>(1 + (i * 7) % 64);
        ASSERT_EQ(port.up(pool(), {.rx_queues = queues, .tx_queues = queues, .descriptors = 64, .conf = {}}), 0) << i;
        if (i % 3 == 0) {
            ASSERT_TRUE(port.remove_by_hand(static_cast<std::uint8_t>(i % 2)).ok());
        }
        const auto last = static_cast<std::uint16_t>(queues - 1);
        EXPECT_EQ(send(port, 2, last), 2) << i;
        ASSERT_EQ(port.stop(), 0);
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(port.plug_by_hand(1).ok());
    }
    expect_no_late_access({&a, &b});
}

TEST_F(Configure, StartWithoutEveryQueueSetUpIsRefused) {
    Mayfly m;
    Vport port(m.dev());
    ASSERT_EQ(port.configure({.rx_queues = 2, .tx_queues = 1, .conf = {}}), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 64, 0, nullptr, pool()), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 64, 0, nullptr), 0);
    EXPECT_EQ(port.start(), -EINVAL);
    ASSERT_EQ(rte_eth_rx_queue_setup(port.id(), 1, 64, 0, nullptr, pool()), 0);
    EXPECT_EQ(port.start(), 0);
}

TEST_F(Configure, ASubDeviceWithTooFewQueuesIsRefusedWithTheReason) {
    Mayfly a, b("queues=2");
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool(), {.rx_queues = 4, .tx_queues = 4, .conf = {}}), 0);
    b.plug();
    EXPECT_TRUE(eventually([&] {
        return port.sub(1).reason == "cannot use as many queues on a sub-device as the port has: Invalid argument";
    })) << port.sub(1).reason;
    ASSERT_EQ(port.stop(), 0);
    ASSERT_EQ(port.up(pool(), {.rx_queues = 2, .tx_queues = 2, .conf = {}}), 0);
    EXPECT_TRUE(eventually([&] { return port.joined(1); })) << "a configuration that fits is tried at once";
}

TEST_F(Configure, ASubDeviceThatCannotSetUpAQueueRefusesIt) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.configure({}), 0);
    b.fail("rx_queue_setup", ENOMEM, 1);
    EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 64, 0, nullptr, pool()), -ENOMEM);
    b.fail("tx_queue_setup", ENOMEM, 1);
    EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 64, 0, nullptr), -ENOMEM);
    EXPECT_EQ(port.start(), -EINVAL);
    ASSERT_EQ(port.set_up_queues({}, pool()), 0);
    EXPECT_EQ(port.start(), 0);
}

} // namespace
} // namespace holdfast::test
