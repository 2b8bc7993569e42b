// SPDX-License-Identifier: BSD-3-Clause
#include "port/settings.h"

#include "abi/ethdev.h"
#include "base/ids.h"
#include "support/fake_ethdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_ether.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {
namespace {

// For messages, and to compare lists of changes.
std::string text(const rte_ether_addr &mac) {
    return std::to_string(unsigned{mac.addr_bytes[5]});
}

std::string text(const Change &change) {
    struct Text {
        std::string operator()(const Mtu &c) const { return "mtu " + std::to_string(unsigned{c.mtu}); }
        std::string operator()(const Promiscuous &c) const { return c.on ? "promiscuous" : "no promiscuous"; }
        std::string operator()(const Allmulticast &c) const { return c.on ? "allmulticast" : "no allmulticast"; }
        std::string operator()(const DefaultMac &c) const { return "default " + text(c.mac); }
        std::string operator()(const MacAdd &c) const { return "add " + text(c.mac) + "/" + std::to_string(c.pool); }
        std::string operator()(const MacRemove &c) const { return "remove " + text(c.mac); }
        std::string operator()(const VlanFilter &c) const {
            return std::string(c.on ? "vlan " : "no vlan ") + std::to_string(unsigned{c.vlan});
        }
        std::string operator()(const VlanOffload &c) const { return "offload " + std::to_string(c.mask); }
        std::string operator()(const McList &c) const {
            std::string out = "mc";
            for (const rte_ether_addr &mac : c.list)
                out += " " + text(mac);
            return out;
        }
        std::string operator()(const LinkUp &c) const { return c.up ? "link up" : "link down"; }
        std::string operator()(const Rss &c) const { return "rss " + std::to_string(c.functions); }
        std::string operator()(const Reta &c) const { return "reta " + std::to_string(c.queues.size()); }
    };
    return std::visit(Text{}, change);
}

using fake::mac;
using fake::Op;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr PortId kA{1};
constexpr PortId kB{2};

std::vector<std::string> texts(const std::vector<Change> &changes) {
    std::vector<std::string> out;
    for (const Change &c : changes)
        out.push_back(text(c));
    return out;
}

Settings with(const std::vector<Change> &changes) {
    Settings out;
    for (const Change &c : changes)
        out.record(c);
    return out;
}

std::vector<std::string> missing(const std::vector<Change> &wanted, const std::vector<Change> &has) {
    return texts(with(wanted).missing_from(with(has)));
}

TEST(Settings, EveryChangeIsOneCallToTheDevice) {
    const std::pair<Change, Op> all[] = {
        {Mtu{1400}, Op::kSetMtu},
        {Promiscuous{true}, Op::kSetPromiscuous},
        {Allmulticast{true}, Op::kSetAllmulticast},
        {DefaultMac{mac(9)}, Op::kSetDefaultMac},
        {MacAdd{mac(10), 3}, Op::kAddMac},
        {VlanFilter{7, true}, Op::kSetVlanFilter},
        {VlanOffload{5}, Op::kSetVlanOffload},
        {McList{{mac(11), mac(12)}}, Op::kSetMcList},
        {LinkUp{false}, Op::kSetLink},
        {MacRemove{mac(10)}, Op::kRemoveMac},
        {Rss{.functions = RTE_ETH_RSS_IPV4}, Op::kSetRss},
        {Reta{std::vector<std::uint16_t>(64, 1)}, Op::kSetReta},
    };
    ASSERT_EQ(std::size(all), std::variant_size_v<Change>) << "a kind of change is not tested";
    fake::Ethdev ethdev;
    ethdev.nic(kA).info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4;
    ethdev.nic(kA).info.reta_size = 64;
    std::vector<std::pair<PortId, Op>> expected;
    for (const auto &[change, op] : all) {
        EXPECT_EQ(apply(ethdev, kA, change), 0) << text(change);
        expected.emplace_back(kA, op);
        EXPECT_EQ(ethdev.log(), expected) << text(change);
        ethdev.fail(kA, op, E2BIG);
        EXPECT_EQ(apply(ethdev, kA, change), -E2BIG) << text(change);
        expected.emplace_back(kA, op);
        EXPECT_GT(std::strlen(describe(change)), 5U);
    }
    const fake::NicSettings &set = ethdev.nic(kA).set;
    EXPECT_EQ(set.mtu, 1400);
    EXPECT_TRUE(set.promiscuous && set.allmulticast && !set.link_up);
    EXPECT_EQ(text(set.default_mac), "9");
    EXPECT_TRUE(set.macs.empty());
    EXPECT_EQ(set.vlans.count(), 1U);
    EXPECT_TRUE(set.vlans.test(7));
    EXPECT_EQ(set.vlan_offload, 5);
    EXPECT_EQ(set.mc_list.size(), 2U);
    EXPECT_EQ(set.rss_functions, RTE_ETH_RSS_IPV4);
    EXPECT_EQ(set.reta, std::vector<std::uint16_t>(64, 1));
}

TEST(Settings, NothingIsMissingFromADeviceThatHasTheSame) {
    const std::vector<Change> all{Mtu{1400},          Promiscuous{false},  Allmulticast{true},  DefaultMac{mac(9)},
                                  MacAdd{mac(10), 3}, MacAdd{mac(10), 63}, VlanFilter{0, true}, VlanOffload{5},
                                  McList{{mac(11)}},  LinkUp{false}};
    EXPECT_THAT(missing(all, all), IsEmpty());
    EXPECT_THAT(missing({}, {}), IsEmpty());
}

TEST(Settings, WhatWasNeverSetIsLeftAsItIs) {
    EXPECT_THAT(missing({}, {Mtu{1400}, Promiscuous{true}, Allmulticast{true}, DefaultMac{mac(9)}, VlanOffload{5},
                             LinkUp{false}}),
                IsEmpty());
}

TEST(Settings, OnlyTheDifferenceIsMissing) {
    const std::vector<Change> has{Mtu{1500}, DefaultMac{mac(1)}, Promiscuous{false}, Allmulticast{false},
                                  MacAdd{mac(10), 0}};
    EXPECT_THAT(missing({Mtu{1500}, DefaultMac{mac(1)}, Promiscuous{true}, MacAdd{mac(10), 0}}, has),
                ElementsAre("promiscuous"));
    EXPECT_THAT(missing({Mtu{9000}, MacAdd{mac(10), 0}}, has), ElementsAre("mtu 9000"));
    EXPECT_THAT(missing({LinkUp{true}, MacAdd{mac(10), 0}, MacAdd{mac(11), 0}}, has),
                ElementsAre("add 11/0", "link up"));
}

// FAULTS F72.
TEST(Settings, VlanFiltersBecomeExactlyTheSet) {
    std::vector<Change> wanted;
    for (const unsigned vlan : {0U, 1U, 63U, 64U, 127U, 4095U})
        wanted.push_back(VlanFilter{static_cast<std::uint16_t>(vlan), true});
    wanted.push_back(VlanFilter{64, false});
    EXPECT_THAT(missing(wanted, {}), ElementsAre("vlan 0", "vlan 1", "vlan 63", "vlan 127", "vlan 4095"));
    EXPECT_THAT(
        missing(wanted, {VlanFilter{100, true}, VlanFilter{64, true}, VlanFilter{63, true}, VlanFilter{4095, true}}),
        ElementsAre("vlan 0", "vlan 1", "no vlan 64", "no vlan 100", "vlan 127"));
    EXPECT_THAT(missing({}, wanted),
                ElementsAre("no vlan 0", "no vlan 1", "no vlan 63", "no vlan 127", "no vlan 4095"));
}

TEST(Settings, FilteringIsTurnedOnBeforeItsFilters) {
    EXPECT_THAT(missing({VlanFilter{5, true}, VlanOffload{2}}, {}), ElementsAre("offload 2", "vlan 5"));
}

TEST(Settings, MacListsBecomeExactlyTheListWithItsPools) {
    EXPECT_THAT(missing({MacAdd{mac(10), 0}, MacAdd{mac(10), 63}, MacAdd{mac(11), 2}}, {}),
                ElementsAre("add 10/0", "add 10/63", "add 11/2"));
    EXPECT_THAT(missing({MacAdd{mac(10), 0}, MacAdd{mac(10), 63}}, {MacAdd{mac(10), 0}}), ElementsAre("add 10/63"));
    EXPECT_THAT(missing({}, {MacAdd{mac(10), 0}, MacAdd{mac(10), 1}, MacAdd{mac(11), 0}}),
                ElementsAre("remove 10", "remove 11"));
    // A removal takes an address out of all its pools.
    EXPECT_THAT(missing({MacAdd{mac(10), 0}}, {MacAdd{mac(10), 0}, MacAdd{mac(10), 1}}),
                ElementsAre("remove 10", "add 10/0"));
}

TEST(Settings, RoomIsMadeBeforeItIsFilled) {
    EXPECT_THAT(missing({MacAdd{mac(11), 0}}, {MacAdd{mac(10), 0}}), ElementsAre("remove 10", "add 11/0"));
}

// ethdev refuses a default address that is in the list.
TEST(Settings, AnAddressLeavesTheListBeforeItBecomesTheDefaultOne) {
    EXPECT_THAT(missing({DefaultMac{mac(10)}}, {DefaultMac{mac(1)}, MacAdd{mac(10), 0}}),
                ElementsAre("remove 10", "default 10"));
}

// FAULTS F67.
TEST(Settings, AListThatNamesTheDefaultAddressIsReplayedToo) {
    fake::Ethdev ethdev;
    Settings has;
    has.default_mac = ethdev.nic(kA).set.default_mac; // 1
    Settings wanted = has;
    for (const Change &c : std::vector<Change>{MacAdd{mac(1), 2}, DefaultMac{mac(5)}, MacAdd{mac(1), 3}}) {
        ASSERT_EQ(apply(ethdev, kA, c), 0);
        wanted.record(c);
    }
    for (const Change &c : wanted.missing_from(has))
        EXPECT_EQ(apply(ethdev, kB, c), 0) << text(c);
    EXPECT_TRUE(ethdev.nic(kA).set == ethdev.nic(kB).set);
    EXPECT_EQ(ethdev.nic(kB).set.macs.size(), 1U);
}

// FAULTS F76.
TEST(Settings, TheMulticastListIsReplacedAsAWhole) {
    EXPECT_THAT(missing({McList{{mac(1), mac(2), mac(3)}}}, {}), ElementsAre("mc 1 2 3"));
    EXPECT_THAT(missing({McList{{mac(1)}}}, {McList{{mac(1), mac(2)}}}), ElementsAre("mc 1"));
    EXPECT_THAT(missing({McList{{mac(1)}}, McList{{}}}, {McList{{mac(1)}}}), ElementsAre("mc"));
    EXPECT_THAT(missing({McList{{}}}, {}), IsEmpty());
}

// FAULTS F72: what a former owner may have done that ethdev does not remember is put right too, once.
TEST(Settings, ASecondHandDeviceGetsWhatANewOneHas) {
    Settings has = with({Mtu{1500}, DefaultMac{mac(1)}, Promiscuous{true}, Allmulticast{true}, MacAdd{mac(10), 3},
                         VlanFilter{100, true}});
    has.second_hand = true;
    const Settings wanted = with({Mtu{1500}, DefaultMac{mac(1)}});
    const std::vector<Change> changes = wanted.missing_from(has);
    EXPECT_THAT(texts(changes),
                ElementsAre("remove 10", "no promiscuous", "no allmulticast", "no vlan 100", "mc", "link up"));
    for (const Change &c : changes)
        has.record(c);
    EXPECT_THAT(texts(wanted.missing_from(has)), IsEmpty());

    Settings as_wanted = with({Promiscuous{true}, Allmulticast{true}, McList{{mac(11)}}, LinkUp{false}});
    as_wanted.second_hand = true;
    EXPECT_THAT(
        texts(with({Promiscuous{true}, Allmulticast{true}, McList{{mac(11)}}, LinkUp{false}}).missing_from(as_wanted)),
        IsEmpty());
}

TEST(Settings, AddressesAreReplayedInTheOrderInWhichTheyCame) {
    std::vector<Change> history;
    std::vector<std::string> expected;
    for (unsigned i = 127; i > 0; i--)
        history.push_back(MacAdd{mac(static_cast<std::uint8_t>(i)), i % 64});
    history.push_back(MacRemove{mac(100)});
    history.push_back(MacAdd{mac(100), 1}); // now the youngest
    history.push_back(MacAdd{mac(5), 63});  // an old one, in one more pool
    for (unsigned i = 127; i > 0; i--)
        if (i != 100)
            expected.push_back("add " + std::to_string(i) + "/" + std::to_string(i % 64));
    expected.insert(expected.end() - 4, "add 5/63");
    expected.push_back("add 100/1");
    EXPECT_EQ(missing(history, {}), expected);
}

TEST(Settings, RecordingTwiceIsRecordingOnce) {
    const Settings once = with({MacAdd{mac(10), 0}});
    const Settings twice = with({MacAdd{mac(10), 0}, MacAdd{mac(10), 0}});
    EXPECT_EQ(once.macs.entries().size(), twice.macs.entries().size());
    EXPECT_TRUE(with({MacAdd{mac(10), 0}, MacAdd{mac(10), 1}, MacRemove{mac(10)}}).macs.addresses() == 0);
}

TEST(Settings, UndoPutsBackWhatWasThere) {
    const Settings was = with({Mtu{1400}, DefaultMac{mac(1)}, Promiscuous{true}, MacAdd{mac(10), 0}, MacAdd{mac(10), 1},
                               VlanFilter{5, true}, VlanOffload{2}, McList{{mac(20)}}, LinkUp{false}});
    EXPECT_THAT(texts(was.undo(Mtu{9000})), ElementsAre("mtu 1400"));
    EXPECT_THAT(texts(was.undo(Promiscuous{false})), ElementsAre("promiscuous"));
    EXPECT_THAT(texts(was.undo(Allmulticast{true})), ElementsAre("no allmulticast"));
    EXPECT_THAT(texts(was.undo(DefaultMac{mac(2)})), ElementsAre("default 1"));
    EXPECT_THAT(texts(was.undo(MacAdd{mac(11), 0})), ElementsAre("remove 11"));
    EXPECT_THAT(texts(was.undo(MacAdd{mac(10), 0})), IsEmpty());
    EXPECT_THAT(texts(was.undo(MacAdd{mac(10), 2})), ElementsAre("remove 10", "add 10/0", "add 10/1"));
    EXPECT_THAT(texts(was.undo(MacRemove{mac(10)})), ElementsAre("add 10/0", "add 10/1"));
    EXPECT_THAT(texts(was.undo(VlanFilter{5, false})), ElementsAre("vlan 5"));
    EXPECT_THAT(texts(was.undo(VlanFilter{6, true})), ElementsAre("no vlan 6"));
    EXPECT_THAT(texts(was.undo(VlanOffload{0})), ElementsAre("offload 2"));
    EXPECT_THAT(texts(was.undo(McList{{}})), ElementsAre("mc 20"));
    EXPECT_THAT(texts(was.undo(LinkUp{true})), ElementsAre("link down"));
    EXPECT_THAT(texts(Settings{}.undo(LinkUp{false})), ElementsAre("link up"));
}

// ---- random histories

class History {
  public:
    explicit History(std::uint32_t seed) : random_(seed) {}

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

    Change next() {
        static constexpr std::uint16_t kVlans[] = {0, 1, 63, 64, 127, 4095};
        switch (below(10)) {
        case 0:
            return Mtu{static_cast<std::uint16_t>(1000 + below(4))};
        case 1:
            return Promiscuous{below(2) == 0};
        case 2:
            return Allmulticast{below(2) == 0};
        case 3:
            return DefaultMac{any_mac()};
        case 4:
            return MacRemove{any_mac()};
        case 5:
            return VlanFilter{kVlans[below(6)], below(3) != 0};
        case 6:
            return VlanOffload{static_cast<int>(below(8))};
        case 7: {
            McList list;
            for (std::uint32_t n = below(4); n > 0; n--)
                list.list.push_back(any_mac());
            return list;
        }
        case 8:
            return LinkUp{below(2) == 0};
        default:
            return MacAdd{any_mac(), below(3)};
        }
    }

  private:
    rte_ether_addr any_mac() { return mac(static_cast<std::uint8_t>(1 + below(6))); } // few, so that they meet

    std::mt19937 random_;
};

/// Carries changes out on a NIC that starts with defaults, as an application's calls would be.
Settings live(fake::Ethdev &ethdev, PortId port, History &history, std::uint32_t changes) {
    Settings has;
    has.mtu = ethdev.nic(port).set.mtu;
    has.default_mac = ethdev.nic(port).set.default_mac;
    has.vlan_offload = ethdev.nic(port).set.vlan_offload;
    for (; changes > 0; changes--)
        if (const Change c = history.next(); apply(ethdev, port, c) == 0)
            has.record(c);
    return has;
}

TEST(Settings, AnyHistoryIsReplayedToAnEqualState) {
    std::uint32_t replayed = 0;
    for (std::uint32_t seed = 0; seed < 3000; seed++) {
        fake::Ethdev ethdev;
        History history(seed);
        // The late one: new, or with a past of its own that we know of.
        Settings has = live(ethdev, kB, history, seed % 2 == 0 ? 0 : history.below(20));
        Settings wanted = live(ethdev, kA, history, history.below(40));
        for (auto [want, is] : {std::pair{&wanted.promiscuous, &has.promiscuous},
                                {&wanted.allmulticast, &has.allmulticast},
                                {&wanted.link_up, &has.link_up}})
            if (!want->has_value() && is->has_value())
                *want = want == &wanted.link_up; // "never set" leaves it alone: make it the default
        for (const Change &c : wanted.missing_from(has)) {
            ASSERT_EQ(apply(ethdev, kB, c), 0) << text(c) << ", seed " << seed;
            has.record(c);
            replayed++;
        }
        // That a default address is in the list as well, with a pool too many, cannot be taken back.
        fake::NicSettings a = ethdev.nic(kA).set;
        fake::NicSettings b = ethdev.nic(kB).set;
        a.macs.erase(a.default_mac);
        b.macs.erase(b.default_mac);
        ASSERT_TRUE(a == b) << "seed " << seed;
        ASSERT_THAT(texts(wanted.missing_from(has)), IsEmpty()) << "seed " << seed;
    }
    EXPECT_GT(replayed, 3000U);
}

TEST(Settings, AChangeThatOneRefusesIsTakenBackFromTheOthers) {
    std::uint32_t undone = 0;
    for (std::uint32_t seed = 0; seed < 3000; seed++) {
        fake::Ethdev ethdev;
        History history(seed);
        Settings has = live(ethdev, kA, history, history.below(40));
        const fake::NicSettings before = ethdev.nic(kA).set;
        const Change c = history.next();
        const std::vector<Change> undo = has.undo(c);
        if (apply(ethdev, kA, c) != 0)
            continue;
        has.record(c);
        for (const Change &back : undo) {
            ASSERT_EQ(apply(ethdev, kA, back), 0) << text(back) << " to undo " << text(c) << ", seed " << seed;
            has.record(back);
        }
        undone++;
        // That the default address is in the list as well cannot be taken back, and changes nothing.
        fake::NicSettings after = ethdev.nic(kA).set;
        fake::NicSettings expected = before;
        after.macs.erase(after.default_mac);
        expected.macs.erase(expected.default_mac);
        ASSERT_TRUE(after == expected) << text(c) << ", seed " << seed;
    }
    EXPECT_GT(undone, 1000U);
}

} // namespace
} // namespace holdfast
