// SPDX-License-Identifier: BSD-3-Clause
// What a NIC has beside packets: interrupts of its Rx queues, clocks, several ports; and what it may lack.
// ethdev marks some of the functions that are called here as experimental.
#define ALLOW_EXPERIMENTAL_API
#include "mayfly_rig.h"

#include <rte_epoll.h>
#include <rte_interrupts.h>
#include <rte_mbuf_dyn.h>

#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::mayfly::rig {
namespace {

class MayflyNic : public MayflyTest {
  protected:
    std::uint16_t bring_up_with(const std::string &name, const std::string &args, const rte_eth_conf &conf,
                                std::uint16_t queues) {
        EXPECT_EQ(probe(name, args), 0) << args;
        const std::uint16_t id = port(name);
        EXPECT_EQ(rte_eth_dev_configure(id, queues, queues, &conf), 0);
        set_up_queues(id, queues);
        EXPECT_EQ(rte_eth_dev_start(id), 0);
        return id;
    }
    static rte_eth_conf rx_interrupts() {
        rte_eth_conf conf = interrupts();
        conf.intr_conf.rxq = 1;
        return conf;
    }
    static int listen(std::uint16_t id, std::uint16_t queue) {
        return rte_eth_dev_rx_intr_ctl_q(id, queue, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD,
                                         reinterpret_cast<void *>(std::uintptr_t{queue}));
    }
    static int forget(std::uint16_t id, std::uint16_t queue) {
        return rte_eth_dev_rx_intr_ctl_q(id, queue, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr);
    }
    /// The queue that woke us, or -1.
    static int woken(int milliseconds) {
        rte_epoll_event event = {};
        const int n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, milliseconds);
        return n == 1 ? static_cast<int>(reinterpret_cast<std::uintptr_t>(event.epdata.data)) : -1;
    }
    static unsigned open_descriptors() {
        unsigned n = 0;
        for (int fd = 0; fd < 1024; fd++)
            n += ::faccessat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        return n;
    }
};

constexpr int kPatience = 20'000;
constexpr int kMoment = 20;

TEST_F(MayflyNic, AnArmedQueueWakesItsLcoreWhenPacketsCome) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up_with(name, "mode=loop", rx_interrupts(), 2);
    ASSERT_EQ(listen(id, 0), 0);
    ASSERT_EQ(listen(id, 1), 0);
    ASSERT_EQ(send(id, 1, 1), 1u);
    EXPECT_EQ(woken(kMoment), -1) << "nobody armed it";
    EXPECT_EQ(receive(id, 1), 1u);

    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 0), 0);
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 1), 0);
    EXPECT_EQ(woken(kMoment), -1) << "there is nothing yet";
    ASSERT_EQ(send(id, 1, 3), 3u);
    EXPECT_EQ(woken(kPatience), 1);
    EXPECT_EQ(receive(id, 1), 3u);
    ASSERT_EQ(send(id, 1, 1), 1u);
    EXPECT_EQ(woken(kMoment), -1) << "an interrupt comes once, until it is armed again";
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 1), 0);
    EXPECT_EQ(woken(kPatience), 1) << "at once, for a packet waits already";
    EXPECT_EQ(receive(id, 1), 1u);

    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 1), 0);
    ASSERT_EQ(rte_eth_dev_rx_intr_disable(id, 1), 0);
    ASSERT_EQ(send(id, 1, 1), 1u);
    EXPECT_EQ(woken(kMoment), -1) << "disabled";
    EXPECT_EQ(receive(id, 1), 1u);
    EXPECT_EQ(count(name, RTE_PMD_MAYFLY_RX_INTERRUPTS), 2);
    EXPECT_EQ(calls(name, "rx_queue_intr_enable"), 4);
    EXPECT_EQ(forget(id, 0), 0);
    EXPECT_EQ(forget(id, 1), 0);
}

TEST_F(MayflyNic, ASleeperIsWokenByAnotherThread) {
    const std::string a = fresh_name(), b = fresh_name();
    const std::uint16_t reader = bring_up_with(a, "mode=pair,peer=" + b, rx_interrupts(), 1);
    const std::uint16_t writer = bring_up_with(b, "mode=pair,peer=" + a, interrupts(), 1);
    constexpr unsigned kRounds = 200;
    std::atomic<unsigned> received{0};
    std::thread sender([&] {
        roam();
        for (unsigned i = 0; i < kRounds; i++) {
            while (send(writer, 0, 1) == 0)
                std::this_thread::yield();
            while (received.load(std::memory_order_acquire) <= i)
                std::this_thread::yield();
        }
    });
    ASSERT_EQ(listen(reader, 0), 0);
    while (received.load(std::memory_order_acquire) < kRounds) {
        ASSERT_EQ(rte_eth_dev_rx_intr_enable(reader, 0), 0);
        if (woken(kPatience) != 0) {
            ADD_FAILURE() << "asleep with a packet waiting, after " << received << " rounds";
            received.store(kRounds, std::memory_order_release);
            break;
        }
        received.fetch_add(receive(reader, 0), std::memory_order_release);
    }
    sender.join();
    EXPECT_EQ(forget(reader, 0), 0);
}

TEST_F(MayflyNic, GeneratedPacketsInterruptWhenTheyAreDue) {
    const std::string name = fresh_name();
    const std::uint16_t id = bring_up_with(name, "mode=generate,rate=100", rx_interrupts(), 1);
    while (receive(id, 0) != 0) {}
    ASSERT_EQ(listen(id, 0), 0);
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 0), 0);
    EXPECT_EQ(woken(kPatience), 0);
    EXPECT_GE(receive(id, 0), 1u);
    ASSERT_EQ(rte_pmd_mayfly_link(name.c_str(), 0, RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 0), 0);
    EXPECT_EQ(woken(kMoment), -1) << "nothing comes through a cut cable";
    ASSERT_EQ(rte_pmd_mayfly_link(name.c_str(), 1, RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(woken(kPatience), 0);
    EXPECT_EQ(forget(id, 0), 0);
}

TEST_F(MayflyNic, InterruptsSurviveARestartAndLeakNothing) {
    const unsigned before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        const std::string name = fresh_name();
        const std::uint16_t id = bring_up_with(name, "mode=loop", rx_interrupts(), 4);
        ASSERT_EQ(listen(id, 3), 0);
        ASSERT_EQ(rte_eth_dev_stop(id), 0);
        ASSERT_EQ(rte_eth_dev_start(id), 0);
        ASSERT_EQ(rte_eth_dev_rx_intr_enable(id, 3), 0);
        ASSERT_EQ(send(id, 3, 1), 1u);
        EXPECT_EQ(woken(kPatience), 3);
        EXPECT_EQ(receive(id, 3), 1u);
        detach(name); // while it is still in the epoll
    }
    EXPECT_LE(open_descriptors(), before + 1) << "but for this thread's epoll";
}

TEST_F(MayflyNic, WithoutRxInterruptsTheyAreRefused) {
    const std::uint16_t id = bring_up(fresh_name(), "mode=loop");
    EXPECT_EQ(rte_eth_dev_rx_intr_enable(id, 0), -ENOTSUP);
    EXPECT_LT(listen(id, 0), 0);
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name, "no_caps=rx_interrupts"), 0);
    const rte_eth_conf conf = rx_interrupts();
    EXPECT_EQ(rte_eth_dev_configure(port(name), 1, 1, &conf), -ENOTSUP);
}

TEST_F(MayflyNic, PacketsCarryTheTimeOfTheDevicesClock) {
    rte_eth_conf conf = interrupts();
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    const std::uint16_t id = bring_up_with(fresh_name(), "mode=generate", conf, 1);
    const int offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, nullptr);
    const int flag = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, nullptr);
    ASSERT_GE(offset, 0);
    ASSERT_GE(flag, 0);
    std::uint64_t before = 0, after = 0;
    ASSERT_EQ(rte_eth_read_clock(id, &before), 0);
    std::array<rte_mbuf *, kBurst> got{};
    ASSERT_EQ(rte_eth_rx_burst(id, 0, got.data(), kBurst), kBurst);
    ASSERT_EQ(rte_eth_read_clock(id, &after), 0);
    for (rte_mbuf *m : got) {
        EXPECT_NE(m->ol_flags & (std::uint64_t{1} << flag), 0u);
        const auto stamp = *RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *);
        EXPECT_GE(stamp, before);
        EXPECT_LE(stamp, after);
        rte_pktmbuf_free(m);
    }
}

TEST_F(MayflyNic, WithoutTheOffloadPacketsCarryNoTime) {
    const std::uint16_t id = bring_up(fresh_name(), "mode=generate");
    const int flag = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, nullptr);
    rte_mbuf *m = nullptr;
    ASSERT_EQ(rte_eth_rx_burst(id, 0, &m, 1), 1);
    if (flag >= 0) {
        EXPECT_EQ(m->ol_flags & (std::uint64_t{1} << flag), 0u);
    }
    rte_pktmbuf_free(m);
}

TEST_F(MayflyNic, ThePtpClockIsSetAdjustedAndStampsItsPackets) {
    const std::uint16_t id = bring_up(fresh_name(), "mode=loop");
    timespec time = {};
    EXPECT_EQ(rte_eth_timesync_read_time(id, &time), -EINVAL) << "not enabled";
    ASSERT_EQ(rte_eth_timesync_enable(id), 0);
    const timespec then = {.tv_sec = 1000, .tv_nsec = 5};
    ASSERT_EQ(rte_eth_timesync_write_time(id, &then), 0);
    ASSERT_EQ(rte_eth_timesync_adjust_time(id, 500'000'000'000), 0);
    ASSERT_EQ(rte_eth_timesync_adjust_freq(id, 0), 0);
    ASSERT_EQ(rte_eth_timesync_read_time(id, &time), 0);
    EXPECT_GE(time.tv_sec, 1500);
    EXPECT_LT(time.tv_sec, 1500 + 600) << "it goes on from there";
    EXPECT_EQ(rte_eth_timesync_read_rx_timestamp(id, &time, 0), -EINVAL) << "no packet came";

    rte_mbuf *m = packets(1)[0];
    auto *header = rte_pktmbuf_mtod(m, rte_ether_hdr *);
    header->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_1588);
    m->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
    ASSERT_EQ(rte_eth_tx_burst(id, 0, &m, 1), 1);
    timespec sent = {};
    ASSERT_EQ(rte_eth_timesync_read_tx_timestamp(id, &sent), 0);
    EXPECT_EQ(rte_eth_timesync_read_tx_timestamp(id, &sent), -EINVAL) << "it is there once";
    ASSERT_EQ(rte_eth_rx_burst(id, 0, &m, 1), 1);
    EXPECT_NE(m->ol_flags & RTE_MBUF_F_RX_IEEE1588_TMST, 0u);
    EXPECT_EQ(m->packet_type, static_cast<unsigned>(RTE_PTYPE_L2_ETHER_TIMESYNC));
    rte_pktmbuf_free(m);
    ASSERT_EQ(rte_eth_timesync_read_rx_timestamp(id, &time, 0), 0);
    EXPECT_GE(time.tv_sec, sent.tv_sec);
    ASSERT_EQ(rte_eth_timesync_disable(id), 0);
    EXPECT_EQ(rte_eth_timesync_read_time(id, &time), -EINVAL);
}

TEST_F(MayflyNic, WhatItLacksIsNotAdvertisedAndAnswersSo) {
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name, "no_caps=rss;vlan;timesync;timestamp;flow_ctrl;macs;rx_ipv4_cksum;tx_multi_segs;mtu;lsc"), 0);
    const std::uint16_t id = port(name);
    rte_eth_dev_info info;
    ASSERT_EQ(rte_eth_dev_info_get(id, &info), 0);
    EXPECT_EQ(info.reta_size, 0);
    EXPECT_EQ(info.hash_key_size, 0);
    EXPECT_EQ(info.flow_type_rss_offloads, 0u);
    EXPECT_EQ(info.max_mac_addrs, 1u);
    EXPECT_EQ(info.max_mtu, RTE_ETHER_MTU);
    EXPECT_EQ(*info.dev_flags & RTE_ETH_DEV_INTR_LSC, 0u);
    EXPECT_NE(*info.dev_flags & RTE_ETH_DEV_INTR_RMV, 0u);
    EXPECT_EQ(info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP |
                                      RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH),
              0u);
    EXPECT_NE(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM, 0u);
    EXPECT_EQ(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS, 0u);
    rte_eth_conf conf = {};
    ASSERT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    rte_eth_fc_conf fc = {};
    EXPECT_EQ(rte_eth_dev_flow_ctrl_get(id, &fc), -ENOTSUP);
    EXPECT_EQ(rte_eth_timesync_enable(id), -ENOTSUP);
    std::uint64_t clock = 0;
    EXPECT_EQ(rte_eth_read_clock(id, &clock), -ENOTSUP);
    rte_ether_addr mac = {{2, 0, 0, 0, 0, 9}};
    EXPECT_EQ(rte_eth_dev_mac_addr_add(id, &mac, 0), -ENOTSUP);
    rte_eth_rss_conf rss = {};
    EXPECT_EQ(rte_eth_dev_rss_hash_conf_get(id, &rss), -ENOTSUP);
    EXPECT_EQ(rte_eth_dev_set_mtu(id, 1400), -ENOTSUP);
}

TEST_F(MayflyNic, AProbeTakesTheTimeItIsTold) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(probe(fresh_name(), "probe_delay=60"), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
}

TEST_F(MayflyNic, ADeviceThatGoesWhileItIsProbedIsNotThere) {
    const std::string name = fresh_name();
    ASSERT_EQ(rte_pmd_mayfly_script(name.c_str(), "unplug@30ms", nullptr, 0), 0);
    EXPECT_EQ(probe(name, "probe_delay=3000,script=unplug@30ms"), -ENODEV);
}

TEST_F(MayflyNic, OneDeviceCanHaveSeveralPorts) {
    const std::string name = fresh_name();
    const std::uint16_t first = bring_up(name, "mode=generate,ports=3,mac=02:00:00:00:00:10");
    const std::string second = name + "_1", third = name + "_2";
    const std::uint16_t last = port(third);
    rte_eth_dev_info info, other;
    ASSERT_EQ(rte_eth_dev_info_get(first, &info), 0);
    ASSERT_EQ(rte_eth_dev_info_get(last, &other), 0);
    EXPECT_EQ(info.device, other.device);
    rte_ether_addr mac;
    ASSERT_EQ(rte_eth_macaddr_get(last, &mac), 0);
    EXPECT_EQ(mac.addr_bytes[5], 0x12);
    const rte_eth_conf conf = interrupts();
    ASSERT_EQ(rte_eth_dev_configure(last, 1, 1, &conf), 0);
    set_up_queues(last, 1);
    ASSERT_EQ(rte_eth_dev_start(last), 0);

    ASSERT_EQ(rte_eth_dev_stop(first), 0);
    ASSERT_EQ(rte_eth_dev_close(first), 0);
    EXPECT_EQ(rte_pmd_mayfly_port(name.c_str()), -ENODEV);
    EXPECT_GE(rte_pmd_mayfly_port(second.c_str()), 0);
    EXPECT_EQ(receive(last, 0), kBurst) << "the others go on";
    ASSERT_EQ(rte_eth_dev_set_mtu(last, 1400), 0);

    ASSERT_EQ(rte_vdev_uninit(name.c_str()), 0) << "takes what is left of it";
    EXPECT_EQ(rte_pmd_mayfly_port(second.c_str()), -ENODEV);
    EXPECT_EQ(rte_pmd_mayfly_port(third.c_str()), -ENODEV);
    EXPECT_EQ(rte_eth_dev_is_valid_port(last), 0);
    ASSERT_EQ(probe(name, "ports=2"), 0) << "it can come back, and with fewer";
    EXPECT_EQ(rte_pmd_mayfly_port(third.c_str()), -ENODEV);
}

TEST_F(MayflyNic, TheHardwareOfAllPortsIsOne) {
    const std::string name = fresh_name();
    const std::uint16_t first = bring_up(name, "mode=generate,ports=2");
    const std::uint16_t second = port(name + "_1");
    const Events gone_first(first, RTE_ETH_EVENT_INTR_RMV);
    const Events gone_second(second, RTE_ETH_EVENT_INTR_RMV);
    ASSERT_EQ(rte_pmd_mayfly_unplug((name + "_1").c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(gone_first.seen(), 1);
    EXPECT_EQ(gone_second.seen(), 1);
    EXPECT_EQ(rte_eth_dev_is_removed(first), 1);
    EXPECT_EQ(rte_eth_dev_is_removed(second), 1);
    EXPECT_EQ(receive(first, 0), 0u);
    detach(name);
    EXPECT_EQ(probe(name, "ports=2"), -ENODEV);
    ASSERT_EQ(rte_pmd_mayfly_plug(name.c_str()), 0);
    EXPECT_EQ(probe(name, "ports=2"), 0);
}

TEST_F(MayflyNic, APortWhoseNameIsTakenUndoesTheOthers) {
    const std::string name = fresh_name();
    ASSERT_EQ(probe(name + "_1"), 0);
    EXPECT_EQ(probe(name, "ports=3"), -EEXIST);
    EXPECT_EQ(rte_pmd_mayfly_port(name.c_str()), -ENODEV);
    EXPECT_EQ(rte_pmd_mayfly_port((name + "_2").c_str()), -ENODEV);
    EXPECT_GE(rte_pmd_mayfly_port((name + "_1").c_str()), 0);
}

} // namespace
} // namespace holdfast::mayfly::rig
