// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::mayfly {
namespace {

using testing::HasSubstr;

Config parsed(std::string_view text) {
    Config config;
    std::string error;
    EXPECT_TRUE(parse_config(text, config, error)) << error;
    return config;
}

std::string refused(std::string_view text) {
    Config config;
    config.size = 99;
    std::string error;
    EXPECT_FALSE(parse_config(text, config, error)) << text;
    EXPECT_EQ(config.size, 99) << "refused devargs must leave the configuration alone";
    return error;
}

TEST(MayflyConfig, HasDefaults) {
    const Config config = parsed("");
    EXPECT_EQ(config.mode, Mode::kSink);
    EXPECT_EQ(config.queues, 16);
    EXPECT_TRUE(config.lsc);
    EXPECT_TRUE(config.rmv);
    EXPECT_TRUE(config.steps.empty());
    EXPECT_EQ(config.mac_places(), config.max_macs - 1) << "the default address has one of those that it says it has";
    EXPECT_EQ(config.mc_mac_places(), config.max_macs);
    EXPECT_EQ(config.vlans, 4096);
}

TEST(MayflyConfig, ReadsEveryKeyInAnyOrder) {
    const Config config =
        parsed("size=128,mode=pair,peer=net_mayfly1,rate=1000,mac=02:00:00:00:00:2a,queues=64,"
               "max_mtu=2000,max_macs=3,macs=1,mc_macs=5,vlans=7,min_desc=64,max_desc=128,desc_align=32,reta_size=512,"
               "hash_key_size=52,rx_offloads=0x1,tx_offloads=0,lsc=0,rmv=0,live_mac=0,runtime_queues=1,"
               "dead_tx=refuse,no_ops=allmulticast_enable;mtu_set,script=unplug@2s;plug@4s");
    EXPECT_EQ(config.mode, Mode::kPair);
    EXPECT_EQ(config.peer, "net_mayfly1");
    EXPECT_EQ(config.size, 128);
    EXPECT_EQ(config.rate, 1000u);
    EXPECT_EQ(config.mac, (Mac{2, 0, 0, 0, 0, 42}));
    EXPECT_EQ(config.queues, 64);
    EXPECT_EQ(config.max_mtu, 2000);
    EXPECT_EQ(config.max_macs, 3u);
    EXPECT_EQ(config.mac_places(), 1u);
    EXPECT_EQ(config.mc_mac_places(), 5u);
    EXPECT_EQ(config.vlans, 7);
    EXPECT_EQ(config.min_desc, 64);
    EXPECT_EQ(config.max_desc, 128);
    EXPECT_EQ(config.desc_align, 32);
    EXPECT_EQ(config.reta_size, 512);
    EXPECT_EQ(config.hash_key_size, 52);
    EXPECT_EQ(config.rx_offloads, 1u);
    EXPECT_EQ(config.tx_offloads, 0u);
    EXPECT_FALSE(config.lsc);
    EXPECT_FALSE(config.rmv);
    EXPECT_FALSE(config.live_mac);
    EXPECT_TRUE(config.runtime_queues);
    EXPECT_TRUE(config.dead_tx_refuses);
    EXPECT_EQ(config.no_ops.count(), 2u);
    EXPECT_TRUE(config.no_ops.test(index(Op::kMtuSet)));
    EXPECT_EQ(config.steps.size(), 2u);
}

TEST(MayflyConfig, NamesTheBadPartAndItsPosition) {
    EXPECT_THAT(refused("mode=sink,size=10x"), HasSubstr("size: cannot read '10x' (at position 15"));
    EXPECT_THAT(refused("mode=sink,colour=red"), HasSubstr("'colour' (at position 10"));
    EXPECT_THAT(refused("no_ops=mtu_set;what"), HasSubstr("'what' (at position 15"));
    EXPECT_THAT(refused("script=unplug@2s;foo@3s"), HasSubstr("'foo' (at position 10"));
}

TEST(MayflyConfig, RefusesBadValues) {
    for (const char *text : {"mode",
                             "mode=",
                             "mode=source",
                             "=sink",
                             ",",
                             "mode=sink,",
                             "size=59",
                             "size=65536",
                             "size=-1",
                             "size= 64",
                             "queues=0",
                             "queues=65",
                             "queues=4,max_queues=4",
                             "mode=sink,mode=sink",
                             "lsc=2",
                             "lsc=",
                             "lsc=yes",
                             "mac=02:00:00:00:00",
                             "mac=02:00:00:00:00:1",
                             "mac=ff:ff:ff:ff:ff:ff",
                             "mac=00:00:00:00:00:00",
                             "mac=02:00:00:00:00:zz",
                             "mode=pair",
                             "peer=net_mayfly1",
                             "mode=pair,peer=net_null0",
                             "max_mtu=67",
                             "macs=129",
                             "mc_macs=4097",
                             "vlans=4097",
                             "vlans=",
                             "flows=16",
                             "mode=generate,flows=1025",
                             "mode=generate,flows=16,size=73",
                             "ports=0",
                             "ports=9",
                             "probe_delay=60001",
                             "no_caps=",
                             "no_caps=rss;what",
                             "no_caps=rss;",
                             "reta_size=63",
                             "min_desc=64,max_desc=32",
                             "max_desc=100,desc_align=64",
                             "max_mtu=100,size=200",
                             "no_ops=",
                             "no_ops=dev_close",
                             "rate=1000000001",
                             "script=",
                             "dead_tx=keep",
                             "rx_offloads=0xg",
                             "rx_offloads=0x10000000000000000"})
        EXPECT_THAT(refused(text), HasSubstr("cannot read")) << text;
}

TEST(MayflyConfig, WhatIsTakenAwayHoldsAgainstEveryOtherKey) {
    for (const char *text : {"no_caps=rss;rx_timestamp,reta_size=128,rx_offloads=0x4000",
                             "rx_offloads=0x4000,reta_size=128,no_caps=rss;rx_timestamp"}) {
        const Config config = parsed(text);
        EXPECT_EQ(config.reta_size, 0) << text;
        EXPECT_EQ(config.rx_offloads, 0u) << text;
        EXPECT_FALSE(config.rss) << text;
    }
    EXPECT_THAT(refused("mode=sink,no_caps=rss;rx_what"), HasSubstr("'rx_what' (at position 22"));
}

TEST(MayflyConfig, PacketsAreAsLargeAsTheirHeadersNeed) {
    EXPECT_EQ(parsed("mode=generate").packet_size(), 64);
    EXPECT_EQ(parsed("mode=generate,flows=1").packet_size(), kSmallestFlowPacket);
    EXPECT_EQ(parsed("mode=generate,flows=1024,size=200,ports=8,probe_delay=5").packet_size(), 200);
}

} // namespace
} // namespace holdfast::mayfly
