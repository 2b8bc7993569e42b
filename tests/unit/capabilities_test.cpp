// SPDX-License-Identifier: BSD-3-Clause
#include "port/capabilities.h"

#include "base/ids.h"
#include "support/fake_ethdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

rte_eth_dev_info nic() {
    return fake::Nic{}.info;
}

rte_eth_dev_info over(const std::vector<rte_eth_dev_info> &subs) {
    std::vector<const rte_eth_dev_info *> pointers;
    for (const rte_eth_dev_info &sub : subs)
        pointers.push_back(&sub);
    rte_eth_dev_info out{};
    intersect(pointers, out);
    return out;
}

/// ethdev's own test of a ring size.
bool allowed(std::uint32_t size, const rte_eth_desc_lim &limits) {
    return size <= limits.nb_max && size >= limits.nb_min && size % limits.nb_align == 0;
}

TEST(Capabilities, OfOneSubDeviceAreIts) {
    rte_eth_dev_info sub = nic();
    sub.max_rx_queues = 4;
    sub.max_tx_queues = 8;
    sub.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    sub.tx_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    sub.hash_key_size = 52;
    sub.flow_type_rss_offloads = RTE_ETH_RSS_IPV4;
    const rte_eth_dev_info out = over({sub});
    EXPECT_EQ(out.max_rx_queues, 4);
    EXPECT_EQ(out.max_tx_queues, 8);
    EXPECT_EQ(out.max_mtu, 9000);
    EXPECT_EQ(out.rx_offload_capa, sub.rx_offload_capa);
    EXPECT_EQ(out.tx_offload_capa, sub.tx_offload_capa);
    EXPECT_EQ(out.hash_key_size, 52);
    EXPECT_EQ(out.flow_type_rss_offloads, RTE_ETH_RSS_IPV4);
    EXPECT_EQ(out.rx_desc_lim.nb_max, 4096);
    EXPECT_EQ(out.rx_desc_lim.nb_min, 32);
    EXPECT_EQ(out.rx_desc_lim.nb_align, 8);
}

// FAULTS F46.
TEST(Capabilities, OfUnlikeSubDevicesAreWhatAllCanMeet) {
    rte_eth_dev_info big = nic(), small = nic();
    big.max_rx_queues = 1024;
    big.max_tx_queues = 16;
    big.rx_desc_lim = {.nb_max = 4096, .nb_min = 64, .nb_align = 32, .nb_seg_max = 40, .nb_mtu_seg_max = 0};
    small.max_rx_queues = 16;
    small.max_tx_queues = 1;
    small.rx_desc_lim = {.nb_max = 512, .nb_min = 16, .nb_align = 0, .nb_seg_max = 0, .nb_mtu_seg_max = 8};
    small.max_mtu = 1500;
    small.min_mtu = 100;
    small.max_rx_pktlen = 1518;
    big.min_rx_bufsize = 1024;
    big.max_rx_bufsize = 0; // not told
    small.max_rx_bufsize = 2048;
    big.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER;
    small.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    big.hash_key_size = 52;
    small.hash_key_size = 40;
    big.reta_size = 512;
    small.reta_size = 64;
    big.speed_capa = RTE_ETH_LINK_SPEED_100G;
    small.speed_capa = RTE_ETH_LINK_SPEED_10G;
    for (const auto &subs : {std::vector{big, small}, std::vector{small, big}}) {
        const rte_eth_dev_info out = over(subs);
        EXPECT_EQ(out.max_rx_queues, 16);
        EXPECT_EQ(out.max_tx_queues, 1);
        EXPECT_EQ(out.max_mtu, 1500);
        EXPECT_EQ(out.min_mtu, 100);
        EXPECT_EQ(out.max_rx_pktlen, 1518U);
        EXPECT_EQ(out.min_rx_bufsize, 1024U);
        EXPECT_EQ(out.max_rx_bufsize, 2048U);
        EXPECT_EQ(out.rx_desc_lim.nb_max, 512);
        EXPECT_EQ(out.rx_desc_lim.nb_min, 64);
        EXPECT_EQ(out.rx_desc_lim.nb_align, 32);
        EXPECT_EQ(out.rx_desc_lim.nb_seg_max, 40);
        EXPECT_EQ(out.rx_desc_lim.nb_mtu_seg_max, 8);
        EXPECT_EQ(out.rx_offload_capa, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
        EXPECT_EQ(out.hash_key_size, 40) << "a longer key that begins the same hashes the same";
        EXPECT_EQ(out.reta_size, 64);
        EXPECT_EQ(out.speed_capa, RTE_ETH_LINK_SPEED_100G | RTE_ETH_LINK_SPEED_10G);
    }
}

// FAULTS F46: "never a value that makes setup fail".
TEST(Capabilities, SomeRingSizeIsAllowedWhateverTheSubDevicesAre) {
    rte_eth_dev_info tiny = nic(), huge = nic(), odd = nic();
    tiny.rx_desc_lim = {.nb_max = 128, .nb_min = 16, .nb_align = 16, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
    huge.rx_desc_lim = {.nb_max = 4096, .nb_min = 256, .nb_align = 32, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
    odd.rx_desc_lim = {.nb_max = 1000, .nb_min = 33, .nb_align = 64, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
    huge.default_rxportconf.ring_size = 2048;
    huge.default_rxportconf.nb_queues = 32;
    tiny.max_rx_queues = 2;
    for (const auto &subs :
         {std::vector{tiny, huge}, std::vector{huge, tiny}, std::vector{huge, odd}, std::vector{tiny, odd},
          std::vector{odd, tiny, huge}, std::vector{tiny}, std::vector<rte_eth_dev_info>{}}) {
        const rte_eth_dev_info out = over(subs);
        EXPECT_NE(out.rx_desc_lim.nb_align, 0);
        EXPECT_TRUE(allowed(out.rx_desc_lim.nb_max, out.rx_desc_lim)) << out.rx_desc_lim.nb_max;
        EXPECT_TRUE(allowed(out.rx_desc_lim.nb_min, out.rx_desc_lim)) << out.rx_desc_lim.nb_min;
        const unsigned by_default = out.default_rxportconf.ring_size != 0 ? out.default_rxportconf.ring_size
                                                                          : unsigned{RTE_ETH_DEV_FALLBACK_RX_RINGSIZE};
        EXPECT_TRUE(allowed(by_default, out.rx_desc_lim)) << by_default;
        EXPECT_LE(out.default_rxportconf.nb_queues, out.max_rx_queues);
        // And what is allowed on the port each sub-device gets as something that it takes.
        for (const rte_eth_dev_info &sub : subs)
            for (const std::uint16_t size : {out.rx_desc_lim.nb_min, out.rx_desc_lim.nb_max})
                EXPECT_TRUE(allowed(fit_descriptors(size, sub.rx_desc_lim), sub.rx_desc_lim)) << size;
    }
}

TEST(Capabilities, WhatThePortCannotForwardIsNeverPromised) {
    rte_eth_dev_info sub = nic();
    sub.rx_offload_capa = sub.rx_queue_offload_capa = UINT64_MAX;
    sub.tx_offload_capa = sub.tx_queue_offload_capa = UINT64_MAX;
    sub.default_rxconf.offloads = UINT64_MAX;
    sub.default_txconf.offloads = UINT64_MAX;
    sub.dev_capa = UINT64_MAX;
    const rte_eth_dev_info out = over({sub, sub});
    for (const std::uint64_t offload : {RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT, RTE_ETH_RX_OFFLOAD_SECURITY}) {
        EXPECT_EQ(out.rx_offload_capa & offload, 0U);
        EXPECT_EQ(out.rx_queue_offload_capa & offload, 0U);
        EXPECT_EQ(out.default_rxconf.offloads & offload, 0U);
    }
    EXPECT_EQ(out.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE, 0U);
    EXPECT_EQ(out.default_txconf.offloads & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE, 0U);
    // FAULTS F50.
    EXPECT_EQ(out.dev_capa & (RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP | RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP |
                              RTE_ETH_DEV_CAPA_RXQ_SHARE | RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP),
              0U);
    EXPECT_NE(out.rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, 0U);
}

// FAULTS F41.
TEST(Capabilities, WithoutSubDevicesAreConservative) {
    const rte_eth_dev_info out = over({});
    EXPECT_LE(out.max_rx_queues, kMaxQueues);
    EXPECT_LE(out.max_tx_queues, kMaxQueues);
    EXPECT_EQ(out.max_mac_addrs, kMaxMacs);
    EXPECT_EQ(out.max_mtu, RTE_ETHER_MTU);
    EXPECT_EQ(out.max_rx_pktlen, std::uint32_t{RTE_ETHER_MAX_LEN});
    EXPECT_EQ(out.rx_offload_capa, 0U);
    EXPECT_EQ(out.tx_offload_capa, 0U);
    EXPECT_EQ(out.flow_type_rss_offloads, 0U);
    EXPECT_EQ(out.hash_key_size, 0);
    EXPECT_EQ(out.reta_size, 0);
    EXPECT_EQ(out.dev_capa, 0U);
}

TEST(Fit, LeavesAConfigurationThatASubDeviceCanMeet) {
    rte_eth_dev_info info = nic();
    info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
    info.hash_key_size = 40;
    info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_TCP;
    std::array<std::uint8_t, 40> key{};
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
    conf.rxmode.mtu = 1400;
    conf.rx_adv_conf.rss_conf = {.rss_key = key.data(),
                                 .rss_key_len = 40,
                                 .rss_hf = RTE_ETH_RSS_IPV4,
                                 .algorithm = RTE_ETH_HASH_FUNCTION_DEFAULT};
    const Fit out = fit(conf, 64, 64, info);
    EXPECT_TRUE(out.status.ok());
    EXPECT_THAT(out.without, IsEmpty());
    EXPECT_EQ(out.conf.rxmode.offloads, conf.rxmode.offloads);
    EXPECT_EQ(out.conf.rxmode.mtu, 1400U);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_key, key.data());
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_key_len, 40);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_IPV4);
}

// FAULTS F18, F41: fast free must not keep a sub-device out.
TEST(Fit, DropsWhatTheApplicationCanDoWithoutAndSaysSo) {
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
    conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    const Fit out = fit(conf, 1, 1, nic());
    EXPECT_TRUE(out.status.ok());
    EXPECT_EQ(out.conf.rxmode.offloads, 0U);
    EXPECT_EQ(out.conf.txmode.offloads, 0U);
    EXPECT_THAT(out.without, HasSubstr("TCP_CKSUM"));
    EXPECT_THAT(out.without, HasSubstr("RSS_HASH"));
    EXPECT_THAT(out.without, HasSubstr("MBUF_FAST_FREE"));
}

TEST(Fit, RefusesASubDeviceWithoutWhatTheApplicationReliesOn) {
    for (const std::uint64_t offload : {RTE_ETH_TX_OFFLOAD_TCP_TSO, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,
                                        RTE_ETH_TX_OFFLOAD_MULTI_SEGS, RTE_ETH_TX_OFFLOAD_VLAN_INSERT}) {
        rte_eth_conf conf{};
        conf.txmode.offloads = offload;
        EXPECT_EQ(fit(conf, 1, 1, nic()).status.code(), -ENOTSUP) << offload;
        rte_eth_dev_info able = nic();
        able.tx_offload_capa = offload;
        EXPECT_TRUE(fit(conf, 1, 1, able).status.ok()) << offload;
    }
    rte_eth_conf conf{};
    conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_KEEP_CRC;
    EXPECT_EQ(fit(conf, 1, 1, nic()).status.code(), -ENOTSUP);
    rte_eth_dev_info few = nic();
    few.max_rx_queues = 1;
    EXPECT_EQ(fit({}, 2, 1, few).status.code(), -EINVAL);
    few.max_rx_queues = 64;
    few.max_tx_queues = 3;
    EXPECT_EQ(fit({}, 1, 4, few).status.code(), -EINVAL);
    EXPECT_TRUE(fit({}, 1, 3, few).status.ok());
}

TEST(Capabilities, OneSubDeviceWithoutATableOrWithAShortKeyTakesThemFromThePort) {
    rte_eth_dev_info full = nic(), bare = nic();
    full.reta_size = 128;
    full.hash_key_size = 40;
    bare.hash_key_size = 16;
    for (const auto &subs : {std::vector{full, bare}, std::vector{bare, full}}) {
        EXPECT_EQ(over(subs).reta_size, 0);
        EXPECT_EQ(over(subs).hash_key_size, 0) << "no length fits both";
    }
}

// FAULTS F75.
TEST(Fit, CutsOrPadsAnRssKeyOfAnotherLength) {
    std::array<std::uint8_t, 52> key{};
    for (std::size_t i = 0; i < key.size(); i++)
        key[i] = static_cast<std::uint8_t>(i + 1);
    for (const std::uint8_t length : {std::uint8_t{40}, std::uint8_t{52}}) {
        rte_eth_dev_info info = nic();
        info.hash_key_size = length == 40 ? 52 : 40;
        rte_eth_conf conf{};
        conf.rx_adv_conf.rss_conf.rss_key = key.data();
        conf.rx_adv_conf.rss_conf.rss_key_len = length;
        const Fit out = fit(conf, 1, 1, info);
        EXPECT_TRUE(out.status.ok());
        const rte_eth_rss_conf &rss = out.conf.rx_adv_conf.rss_conf;
        ASSERT_EQ(rss.rss_key_len, info.hash_key_size);
        EXPECT_TRUE(std::equal(key.begin(), key.begin() + 40, rss.rss_key));
        if (length == 40) {
            EXPECT_EQ(rss.rss_key[40], 0);
        }
        EXPECT_EQ(out.without, "");
        info.hash_key_size = length;
        EXPECT_EQ(fit(conf, 1, 1, info).conf.rx_adv_conf.rss_conf.rss_key, key.data());
    }
}

// FAULTS F75.
TEST(Fit, DropsAnRssKeyThatCannotBeMadeToFit) {
    std::array<std::uint8_t, 40> key{};
    rte_eth_dev_info info = nic();
    info.hash_key_size = 32;
    rte_eth_conf conf{};
    conf.rx_adv_conf.rss_conf.rss_key = key.data();
    conf.rx_adv_conf.rss_conf.rss_key_len = 40;
    const Fit out = fit(conf, 1, 1, info);
    EXPECT_TRUE(out.status.ok());
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_key, nullptr);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_key_len, 0);
    EXPECT_THAT(out.without, HasSubstr("RSS key"));
}

TEST(Fit, AsksForTheHashFunctionsAndEventsThatASubDeviceHas) {
    rte_eth_dev_info info = nic();
    info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4;
    info.rss_algo_capa = RTE_ETH_HASH_ALGO_CAPA_MASK(DEFAULT) | RTE_ETH_HASH_ALGO_CAPA_MASK(TOEPLITZ);
    rte_eth_conf conf{};
    conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6;
    conf.rx_adv_conf.rss_conf.algorithm = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR;
    conf.intr_conf.rxq = 1;
    std::uint32_t flags = RTE_ETH_DEV_INTR_RMV;
    info.dev_flags = &flags;
    Fit out = fit(conf, 1, 1, info);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_IPV4);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.algorithm, RTE_ETH_HASH_FUNCTION_DEFAULT);
    EXPECT_EQ(out.conf.intr_conf.rmv, 1U);
    EXPECT_EQ(out.conf.intr_conf.lsc, 0U);
    EXPECT_EQ(out.conf.intr_conf.rxq, 0U);
    flags = RTE_ETH_DEV_INTR_LSC;
    conf.rx_adv_conf.rss_conf.algorithm = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
    out = fit(conf, 1, 1, info);
    EXPECT_EQ(out.conf.intr_conf.rmv, 0U);
    EXPECT_EQ(out.conf.intr_conf.lsc, 1U);
    EXPECT_EQ(out.conf.rx_adv_conf.rss_conf.algorithm, RTE_ETH_HASH_FUNCTION_TOEPLITZ);
}

rte_eth_desc_lim limits(std::uint16_t most, std::uint16_t least, std::uint16_t align) {
    return {.nb_max = most, .nb_min = least, .nb_align = align, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
}

TEST(FitDescriptors, StaysAsNearAsTheLimitsAllow) {
    EXPECT_EQ(fit_descriptors(512, limits(4096, 32, 8)), 512);
    EXPECT_EQ(fit_descriptors(8192, limits(4096, 32, 8)), 4096);
    EXPECT_EQ(fit_descriptors(8, limits(4096, 32, 8)), 32);
    EXPECT_EQ(fit_descriptors(513, limits(4096, 32, 8)), 520);
    EXPECT_EQ(fit_descriptors(1000, limits(1000, 32, 64)), 960);
    EXPECT_EQ(fit_descriptors(33, limits(4096, 33, 64)), 64);
    EXPECT_EQ(fit_descriptors(513, limits(0, 0, 0)), 513) << "nothing told: no limits";
    EXPECT_EQ(fit_descriptors(65535, limits(65535, 0, 1)), 65535);
    EXPECT_EQ(fit_descriptors(65535, limits(65535, 0, 1024)), 64512);
    EXPECT_EQ(fit_descriptors(65535, limits(0, 0, 32768)), 32768);
}

TEST(FitDescriptors, AnyWishBecomesASizeThatEthdevTakes) {
    for (const unsigned most : {128U, 512U, 1000U, 4096U, 65535U})
        for (const unsigned least : {1U, 16U, 33U, 64U})
            for (const unsigned align : {1U, 8U, 32U, 64U}) {
                const rte_eth_desc_lim l = limits(static_cast<std::uint16_t>(most), static_cast<std::uint16_t>(least),
                                                  static_cast<std::uint16_t>(align));
                for (const unsigned wanted : {1U, 31U, 64U, 100U, 512U, 513U, 4095U, 65535U})
                    EXPECT_TRUE(allowed(fit_descriptors(static_cast<std::uint16_t>(wanted), l), l))
                        << wanted << " of " << least << ".." << most << "/" << align;
            }
}

} // namespace
} // namespace holdfast
