// SPDX-License-Identifier: BSD-3-Clause
// The device's tables of MAC addresses and VLANs: as large as its devargs say, and -ENOSPC by the device itself when
// they are full.
#include "mayfly_rig.h"

#include <cstring>

namespace holdfast::mayfly::rig {
namespace {

rte_ether_addr station(unsigned number) {
    return {{0x02, 0xaa, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}};
}

class MayflyTables : public MayflyTest {
  protected:
    std::uint16_t bring_up_filtering(const std::string &args) {
        name_ = fresh_name();
        EXPECT_EQ(probe(name_, args), 0) << args;
        const std::uint16_t id = port(name_);
        rte_eth_conf conf = interrupts();
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
        EXPECT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
        set_up_queues(id, 1);
        EXPECT_EQ(rte_eth_dev_start(id), 0);
        return id;
    }
    static int add(std::uint16_t id, unsigned number) {
        rte_ether_addr mac = station(number);
        return rte_eth_dev_mac_addr_add(id, &mac, 0);
    }
    static int remove(std::uint16_t id, unsigned number) {
        rte_ether_addr mac = station(number);
        return rte_eth_dev_mac_addr_remove(id, &mac);
    }
    rte_pmd_mayfly_settings told() const {
        rte_pmd_mayfly_settings settings = {};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(name_.c_str(), &settings), 0);
        return settings;
    }
    std::string name_;
};

TEST_F(MayflyTables, AFullMacTableIsTheDevicesOwnAnswer) {
    const std::uint16_t id = bring_up_filtering("max_macs=128,macs=3");
    rte_eth_dev_info info;
    ASSERT_EQ(rte_eth_dev_info_get(id, &info), 0);
    EXPECT_EQ(info.max_mac_addrs, 128u) << "it promises more than it has room for, as NICs that share a table do";
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(add(id, i), 0) << i;
    const std::int64_t before = calls(name_, "mac_addr_add");
    EXPECT_EQ(add(id, 3), -ENOSPC);
    EXPECT_EQ(calls(name_, "mac_addr_add"), before + 1) << "the device was asked: ethdev's list had room";
    EXPECT_EQ(told().macs, 3);
    rte_ether_addr second = station(1);
    EXPECT_EQ(rte_eth_dev_mac_addr_add(id, &second, 5), 0) << "one that joins another pool takes no second place";
    EXPECT_EQ(remove(id, 1), 0);
    EXPECT_EQ(add(id, 3), 0);
    EXPECT_EQ(add(id, 4), -ENOSPC);
}

TEST_F(MayflyTables, TheDefaultAddressHasAPlaceOfItsOwn) {
    const std::uint16_t id = bring_up_filtering("macs=0");
    rte_ether_addr other = station(9);
    EXPECT_EQ(rte_eth_dev_default_mac_addr_set(id, &other), 0);
    EXPECT_EQ(add(id, 1), -ENOSPC);
    EXPECT_EQ(std::memcmp(told().mac, other.addr_bytes, 6), 0);
}

TEST_F(MayflyTables, AllThatIsPromisedFitsUnlessToldOtherwise) {
    const std::uint16_t id = bring_up_filtering("max_macs=128");
    for (unsigned i = 1; i < 128; i++)
        ASSERT_EQ(add(id, i), 0) << i;
    EXPECT_EQ(told().macs, 127);
    EXPECT_EQ(calls(name_, "mac_addr_add"), 127);
    EXPECT_EQ(add(id, 128), -ENOSPC);
}

TEST_F(MayflyTables, ARestartPutsTheSameAddressesIntoTheSamePlaces) {
    const std::uint16_t id = bring_up_filtering("macs=2");
    ASSERT_EQ(add(id, 1), 0);
    ASSERT_EQ(add(id, 2), 0);
    ASSERT_EQ(rte_eth_dev_stop(id), 0);
    const std::int64_t before = calls(name_, "mac_addr_add");
    ASSERT_EQ(rte_eth_dev_start(id), 0) << "ethdev adds them again, which a full table must allow";
    EXPECT_EQ(calls(name_, "mac_addr_add"), before + 2);
    EXPECT_EQ(told().macs, 2);
}

TEST_F(MayflyTables, AFullMulticastListIsRefusedWhole) {
    const std::uint16_t id = bring_up_filtering("mc_macs=2");
    rte_ether_addr groups[3];
    for (unsigned i = 0; i < 3; i++)
        groups[i] = {{0x01, 0, 0x5e, 0, 0, static_cast<std::uint8_t>(i)}};
    EXPECT_EQ(rte_eth_dev_set_mc_addr_list(id, groups, 2), 0);
    EXPECT_EQ(rte_eth_dev_set_mc_addr_list(id, groups, 3), -ENOSPC);
    EXPECT_EQ(told().mc_macs, 2) << "the former list stays";
}

TEST_F(MayflyTables, AFullVlanTableTakesNoMoreUntilOneLeaves) {
    const std::uint16_t id = bring_up_filtering("vlans=2");
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 1, 1), 0);
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 4095, 1), 0);
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 2, 1), -ENOSPC);
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 4095, 1), 0) << "one that is there needs no second place";
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 2, 0), 0) << "taking out what is not in is nothing";
    EXPECT_EQ(told().vlans, 2);
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 1, 0), 0);
    EXPECT_EQ(rte_eth_dev_vlan_filter(id, 2, 1), 0);
    EXPECT_EQ(calls(name_, "vlan_filter_set"), 7) << "each call came through once";
}

TEST_F(MayflyTables, EveryVlanFitsUnlessToldOtherwise) {
    const std::uint16_t id = bring_up_filtering("");
    for (std::uint16_t vlan = 0; vlan < 4096; vlan++)
        ASSERT_EQ(rte_eth_dev_vlan_filter(id, vlan, 1), 0) << vlan;
    EXPECT_EQ(told().vlans, 4096);
    EXPECT_EQ(calls(name_, "vlan_filter_set"), 4096);
}

} // namespace
} // namespace holdfast::mayfly::rig
