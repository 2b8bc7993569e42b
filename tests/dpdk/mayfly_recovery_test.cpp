// SPDX-License-Identifier: BSD-3-Clause
// Errors that a device has in itself: it recovers, fails to, or hangs until it is reset.
#include "mayfly_rig.h"

#include <cstring>

namespace holdfast::mayfly::rig {
namespace {

class MayflyRecovery : public MayflyTest {
  protected:
    void SetUp() override {
        MayflyTest::SetUp();
        name_ = fresh_name();
        id_ = bring_up(name_, "mode=generate");
    }
    int recover(int step) { return rte_pmd_mayfly_recover(name_.c_str(), step, RTE_PMD_MAYFLY_SYNC); }
    rte_pmd_mayfly_settings told() const {
        rte_pmd_mayfly_settings settings = {};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(name_.c_str(), &settings), 0);
        return settings;
    }
    std::string name_;
    std::uint16_t id_ = 0;
};

TEST_F(MayflyRecovery, MovesNothingMeanwhileAndKeepsWhatWasSet) {
    const Events begun(id_, RTE_ETH_EVENT_ERR_RECOVERING);
    const Events ended(id_, RTE_ETH_EVENT_RECOVERY_SUCCESS);
    ASSERT_EQ(rte_eth_dev_set_mtu(id_, 1400), 0);
    ASSERT_EQ(recover(RTE_PMD_MAYFLY_RECOVERING), 0);
    EXPECT_EQ(begun.seen(), 1);
    EXPECT_EQ(receive(id_, 0), 0u);
    EXPECT_EQ(send(id_, 0, 4), 0u) << "what is not accepted stays the caller's";
    EXPECT_EQ(rte_eth_rx_queue_count(id_, 0), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1300), -EBUSY);
    EXPECT_EQ(rte_eth_dev_is_removed(id_), 0);
    rte_eth_dev_info info;
    EXPECT_EQ(rte_eth_dev_info_get(id_, &info), 0);
    EXPECT_EQ(info.err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_PROACTIVE);
    EXPECT_EQ(recover(RTE_PMD_MAYFLY_RECOVERING), 0) << "a larger error upon the first";
    EXPECT_EQ(begun.seen(), 2);
    ASSERT_EQ(recover(RTE_PMD_MAYFLY_RECOVERED), 0);
    EXPECT_EQ(ended.seen(), 1);
    EXPECT_EQ(receive(id_, 0), kBurst);
    EXPECT_EQ(send(id_, 0, 4), 4u);
    EXPECT_EQ(told().mtu, 1400);
    EXPECT_EQ(recover(RTE_PMD_MAYFLY_RECOVERED), -EALREADY);
    EXPECT_EQ(recover(7), -EINVAL);
    EXPECT_EQ(count(name_, RTE_PMD_MAYFLY_LATE_CALLS), 0);
}

TEST_F(MayflyRecovery, AFailedOneIsOverWithTheNextProbe) {
    const Events failed(id_, RTE_ETH_EVENT_RECOVERY_FAILED);
    ASSERT_EQ(recover(RTE_PMD_MAYFLY_RECOVERING), 0);
    ASSERT_EQ(recover(RTE_PMD_MAYFLY_RECOVERY_FAILED), 0);
    EXPECT_EQ(failed.seen(), 1);
    EXPECT_EQ(receive(id_, 0), 0u);
    EXPECT_EQ(send(id_, 0, 1), 0u);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), -EIO);
    EXPECT_EQ(rte_eth_dev_reset(id_), -EIO) << "nothing helps it but another probe";
    EXPECT_EQ(recover(RTE_PMD_MAYFLY_RECOVERED), -EALREADY);
    detach(name_);
    EXPECT_EQ(recover(RTE_PMD_MAYFLY_RECOVERING), -ENODEV);
    id_ = bring_up(name_, "mode=generate");
    EXPECT_EQ(receive(id_, 0), kBurst);
}

TEST_F(MayflyRecovery, AHungDeviceWorksAgainAfterItsReset) {
    const Events hung(id_, RTE_ETH_EVENT_INTR_RESET);
    rte_ether_addr mac = {{2, 7, 7, 7, 7, 7}};
    ASSERT_EQ(rte_eth_dev_mac_addr_add(id_, &mac, 0), 0);
    ASSERT_EQ(rte_eth_promiscuous_enable(id_), 0);
    ASSERT_EQ(rte_pmd_mayfly_reset(name_.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(hung.seen(), 1);
    EXPECT_EQ(receive(id_, 0), 0u);
    EXPECT_EQ(rte_eth_dev_set_mtu(id_, 1400), -EIO);
    EXPECT_EQ(rte_eth_dev_is_removed(id_), 0);
    EXPECT_EQ(rte_pmd_mayfly_reset(name_.c_str(), RTE_PMD_MAYFLY_SYNC), -EALREADY);
    ASSERT_EQ(rte_eth_dev_reset(id_), 0);
    EXPECT_EQ(told().macs, 0) << "it forgot what it was told";
    EXPECT_EQ(told().promiscuous, 0);
    EXPECT_EQ(told().configured, 0);
    const rte_eth_conf conf = interrupts();
    ASSERT_EQ(rte_eth_dev_configure(id_, 1, 1, &conf), 0);
    set_up_queues(id_, 1);
    ASSERT_EQ(rte_eth_dev_start(id_), 0);
    EXPECT_EQ(receive(id_, 0), kBurst);
}

TEST_F(MayflyRecovery, ScriptsCanDoItAll) {
    const Events begun(id_, RTE_ETH_EVENT_ERR_RECOVERING);
    const Events ended(id_, RTE_ETH_EVENT_RECOVERY_SUCCESS);
    const Events failed(id_, RTE_ETH_EVENT_RECOVERY_FAILED);
    const Events hung(id_, RTE_ETH_EVENT_INTR_RESET);
    std::array<char, 200> why{};
    ASSERT_EQ(rte_pmd_mayfly_script(name_.c_str(), "recover@0ms", why.data(), why.size()), 0) << why.data();
    ASSERT_TRUE(eventually([&] { return ended.seen() == 1; }));
    EXPECT_EQ(begun.seen(), 1);
    ASSERT_EQ(rte_pmd_mayfly_script(name_.c_str(), "recovering@0ms;recovered@1ms;reset@2ms", nullptr, 0), 0);
    ASSERT_TRUE(eventually([&] { return hung.seen() == 1; }));
    EXPECT_EQ(ended.seen(), 2);
    ASSERT_EQ(rte_eth_dev_reset(id_), 0);
    ASSERT_EQ(rte_pmd_mayfly_script(name_.c_str(), "recovering@0ms;recoveryfailed@1ms", nullptr, 0), 0);
    ASSERT_TRUE(eventually([&] { return failed.seen() == 1; }));
    EXPECT_EQ(rte_pmd_mayfly_script(name_.c_str(), "recover:5@0ms", nullptr, 0), -EINVAL);
}

TEST_F(MayflyRecovery, APulledDeviceRecoversNoMore) {
    ASSERT_EQ(rte_pmd_mayfly_unplug(name_.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_EQ(recover(RTE_PMD_MAYFLY_RECOVERING), -ENODEV);
    EXPECT_EQ(rte_pmd_mayfly_reset(name_.c_str(), RTE_PMD_MAYFLY_SYNC), -ENODEV);
}

} // namespace
} // namespace holdfast::mayfly::rig
