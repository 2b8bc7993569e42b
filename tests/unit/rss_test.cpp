// SPDX-License-Identifier: BSD-3-Clause
#include "port/rss.h"

#include "port/settings.h"
#include "support/fake_ethdev.h"

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <vector>

namespace holdfast {
namespace {

using Table = std::vector<std::uint16_t>;
using Key = std::vector<std::uint8_t>;

Table striped(std::size_t size, std::uint16_t queues) {
    Table table(size);
    for (std::size_t i = 0; i < size; i++)
        table[i] = static_cast<std::uint16_t>(i % queues);
    return table;
}

// FAULTS F75.
TEST(RssTable, ALargerOneRepeatsTheSmaller) {
    Table table = striped(64, 4);
    table[7] = 2;
    const Table large = fit_reta(table, 512);
    ASSERT_EQ(large.size(), 512U);
    for (std::size_t hash = 0; hash < 4096; hash++)
        EXPECT_EQ(large[hash % 512], table[hash % 64]);
}

TEST(RssTable, ASmallerOneFitsOnlyIfItLosesNothing) {
    EXPECT_EQ(fit_reta(striped(512, 4), 64), striped(64, 4));
    Table table = striped(512, 4);
    table[511] = 0;
    EXPECT_TRUE(fit_reta(table, 64).empty());
    EXPECT_TRUE(fit_reta(table, 0).empty());
    EXPECT_TRUE(fit_reta({}, 64).empty());
    EXPECT_TRUE(fit_reta(striped(128, 4), 192).empty()) << "the one's remainder says nothing about the other's";
    EXPECT_EQ(fit_reta(table, 512), table);
}

TEST(RssKey, IsCutOrPaddedWherePlainPacketsHashTheSame) {
    const Key key(40, 7);
    const Key padded = fit_rss_key(key, 52);
    ASSERT_EQ(padded.size(), 52U);
    EXPECT_EQ(padded[39], 7);
    EXPECT_EQ(padded[40], 0);
    EXPECT_EQ(fit_rss_key(padded, 40), key);
    EXPECT_TRUE(fit_rss_key(key, 16).empty());
    EXPECT_TRUE(fit_rss_key(Key(16, 1), 40).empty());
    EXPECT_EQ(fit_rss_key(Key(16, 1), 16).size(), 16U);
}

constexpr PortId kPort{3};

class RssOnANic : public testing::Test {
  protected:
    RssOnANic() {
        fake::Nic &nic = ethdev_.nic(kPort);
        nic.info.reta_size = 128;
        nic.info.hash_key_size = 52;
        nic.info.flow_type_rss_offloads = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
        nic.set.rss_key = Key(52, 1);
        nic.set.reta = striped(128, 2);
    }
    fake::Nic &nic() { return ethdev_.nic(kPort); }
    int apply(const Change &change) { return holdfast::apply(ethdev_, kPort, change); }
    fake::Ethdev ethdev_;
};

TEST_F(RssOnANic, GetsWhatItsCapabilitiesAllow) {
    EXPECT_EQ(apply(Rss{.functions = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6, .algorithm = 0, .key = Key(40, 9)}), 0);
    EXPECT_EQ(nic().set.rss_functions, RTE_ETH_RSS_IPV4);
    ASSERT_EQ(nic().set.rss_key.size(), 52U);
    EXPECT_EQ(nic().set.rss_key[39], 9);
    EXPECT_EQ(apply(Rss{.functions = RTE_ETH_RSS_IPV4}), 0);
    EXPECT_EQ(nic().set.rss_key[39], 9) << "no key leaves the one that is there";
    EXPECT_EQ(apply(Rss{.functions = RTE_ETH_RSS_IPV6}), -ENOTSUP) << "none of the functions at all";
    EXPECT_EQ(apply(Reta{striped(64, 4)}), 0);
    EXPECT_EQ(nic().set.reta, striped(128, 4));
    Table unlike = striped(512, 4);
    unlike[300] = 3;
    unlike[301] = 3;
    EXPECT_EQ(apply(Reta{unlike}), -ENOTSUP);
    EXPECT_EQ(nic().set.reta, striped(128, 4));
}

TEST_F(RssOnANic, IsReplayedOnceAndTakenBack) {
    Settings wanted;
    wanted.record(Rss{.functions = RTE_ETH_RSS_IPV4, .algorithm = 0, .key = Key(40, 5)});
    wanted.record(Reta{striped(128, 4)});
    Settings has;
    std::vector<Change> missing = wanted.missing_from(has);
    EXPECT_EQ(missing.size(), 2U);
    for (const Change &change : missing) {
        EXPECT_EQ(apply(change), 0);
        has.record(change);
    }
    EXPECT_TRUE(wanted.missing_from(has).empty());
    // The key stays when only the functions change.
    const Rss functions{.functions = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
    const std::vector<Change> undo = has.undo(functions);
    wanted.record(functions);
    EXPECT_EQ(wanted.rss->key, Key(40, 5));
    EXPECT_EQ(wanted.missing_from(has).size(), 1U);
    ASSERT_EQ(undo.size(), 1U);
    EXPECT_EQ(std::get<Rss>(undo[0]).functions, RTE_ETH_RSS_IPV4);
    EXPECT_EQ(std::get<Reta>(has.undo(Reta{striped(128, 1)}).at(0)).queues, striped(128, 4));
}

} // namespace
} // namespace holdfast
