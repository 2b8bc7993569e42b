// SPDX-License-Identifier: BSD-3-Clause
// What ethdev copies when a port starts, and what it takes back when it releases one: fields that no public function
// reads.

// rte_eth_tx_queue_count() and rte_eth_recycle_mbufs() are experimental.
#define ALLOW_EXPERIMENTAL_API

#include "abi/fast_path.h"

#include "abi/driver_abi.h"
#include "support/eal_state.h"

#include <gmock/gmock.h>

#include <rte_bus_vdev.h>
#include <rte_malloc.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace holdfast::abi {
namespace {

std::uint16_t rx_burst(void *, rte_mbuf **, std::uint16_t) {
    return 0;
}
std::uint16_t tx_burst(void *, rte_mbuf **, std::uint16_t) {
    return 0;
}
std::uint16_t tx_prepare(void *, rte_mbuf **, std::uint16_t) {
    return 0;
}
int rx_count(void *) {
    return 1;
}
int rx_status(void *, std::uint16_t) {
    return 2;
}
int tx_count(void *) {
    return 3;
}
int tx_status(void *, std::uint16_t) {
    return 4;
}
std::uint16_t reuse(void *, rte_eth_recycle_rxq_info *) {
    return 5;
}
void refill(void *, std::uint16_t) {}

int ok(rte_eth_dev *) {
    return 0;
}
int info(rte_eth_dev *, rte_eth_dev_info *info) {
    info->max_rx_queues = 2;
    info->max_tx_queues = 2;
    info->max_rx_pktlen = 1518;
    info->max_mac_addrs = 1;
    return 0;
}
int rx_setup(rte_eth_dev *dev, std::uint16_t queue, std::uint16_t, unsigned, const rte_eth_rxconf *, rte_mempool *) {
    dev->data->rx_queues[queue] = &dev->data->rx_queues[queue];
    return 0;
}
int tx_setup(rte_eth_dev *dev, std::uint16_t queue, std::uint16_t, unsigned, const rte_eth_txconf *) {
    dev->data->tx_queues[queue] = &dev->data->tx_queues[queue];
    return 0;
}
void queue_release(rte_eth_dev *, std::uint16_t) {}
int link(rte_eth_dev *, int) {
    return 0;
}

eth_dev_ops make_ops() {
    eth_dev_ops ops{};
    ops.dev_configure = &ok;
    ops.dev_start = &ok;
    ops.dev_stop = &ok;
    ops.dev_close = &ok;
    ops.dev_infos_get = &info;
    ops.rx_queue_setup = &rx_setup;
    ops.tx_queue_setup = &tx_setup;
    ops.rx_queue_release = &queue_release;
    ops.tx_queue_release = &queue_release;
    ops.link_update = &link;
    return ops;
}
const eth_dev_ops kOps = make_ops();
rte_ether_addr g_mac{{0x02, 0, 0, 0, 0, 7}};

int probe(rte_vdev_device *vdev) {
    rte_eth_dev *dev = rte_eth_dev_allocate(rte_dev_name(&vdev->device));
    if (dev == nullptr)
        return -ENOMEM;
    dev->device = &vdev->device;
    dev->dev_ops = &kOps;
    dev->data->mac_addrs = &g_mac;
    dev->rx_pkt_burst = &rx_burst;
    dev->tx_pkt_burst = &tx_burst;
    dev->tx_pkt_prepare = &tx_prepare;
    dev->rx_queue_count = count_rx<rx_count>;
    dev->rx_descriptor_status = &rx_status;
    dev->tx_queue_count = &tx_count;
    dev->tx_descriptor_status = &tx_status;
    dev->recycle_tx_mbufs_reuse = &reuse;
    dev->recycle_rx_descriptors_refill = &refill;
    rte_eth_dev_probing_finish(dev);
    return 0;
}

int remove(rte_vdev_device *vdev) {
    rte_eth_dev *dev = rte_eth_dev_allocated(rte_dev_name(&vdev->device));
    if (dev == nullptr)
        return 0;
    dev->data->mac_addrs = nullptr; // it is ours
    return rte_eth_dev_release_port(dev);
}

class FastPath : public testing::Test {
  protected:
    void SetUp() override {
        driver_.driver.name = "holdfast_fast";
        driver_.probe = &probe;
        driver_.remove = &remove;
        rte_vdev_register(&driver_);
        ASSERT_EQ(rte_vdev_init("holdfast_fast0", ""), 0);
        dev_ = rte_eth_dev_allocated("holdfast_fast0");
        ASSERT_NE(dev_, nullptr);
    }
    void TearDown() override {
        if (pool_ != nullptr)
            rte_eth_dev_stop(dev_->data->port_id);
        rte_vdev_uninit("holdfast_fast0");
        rte_vdev_unregister(&driver_);
        rte_mempool_free(pool_);
    }
    void start() {
        const std::uint16_t port = dev_->data->port_id;
        rte_eth_conf conf{};
        ASSERT_EQ(rte_eth_dev_configure(port, 2, 2, &conf), 0);
        pool_ = rte_pktmbuf_pool_create("fast", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        ASSERT_NE(pool_, nullptr);
        for (std::uint16_t q = 0; q < 2; q++) {
            ASSERT_EQ(rte_eth_rx_queue_setup(port, q, 64, 0, nullptr, pool_), 0);
            ASSERT_EQ(rte_eth_tx_queue_setup(port, q, 64, 0, nullptr), 0);
        }
        ASSERT_EQ(rte_eth_dev_start(port), 0);
    }

    rte_vdev_driver driver_{};
    rte_eth_dev *dev_ = nullptr;
    rte_mempool *pool_ = nullptr;
};

TEST_F(FastPath, IsSilentForAStartedPort) {
    start();
    EXPECT_STREQ(check_fast_path(*dev_).what(), "");
}

TEST_F(FastPath, SpeaksUpBeforeThePortStarts) {
    // ethdev puts stand-ins of its own there; this is also what happens to a driver that fills its functions in too
    // late.
    EXPECT_STREQ(check_fast_path(*dev_).what(), "rte_eth_dev.rx_pkt_burst");
}

TEST_F(FastPath, NamesEachFieldAtAnyOtherPlaceOfItsStruct) {
    start();
    const std::vector<Field> right(fast_path_fields().begin(), fast_path_fields().end());
    ASSERT_EQ(right.size(), 13U);
    std::size_t shifts = 0;
    std::size_t caught = 0;
    for (std::size_t i = 0; i < right.size(); i++) {
        const std::size_t size =
            right[i].owner == Field::Owner::kDevice ? sizeof(rte_eth_dev) : sizeof(rte_eth_dev_data);
        for (std::size_t to = 0; to < size; to++) {
            if (to == right[i].offset)
                continue;
            std::vector<Field> shifted = right;
            shifted[i].offset = to;
            const Status s = check_fast_path(*dev_, shifted);
            EXPECT_STREQ(s.what(), right[i].name) << "at " << to;
            shifts++;
            caught += s.ok() ? 0 : 1;
        }
    }
    std::printf("fast path: %zu of %zu caught; %zu fields\n", caught, shifts, right.size());
    EXPECT_EQ(caught, shifts);
}

TEST_F(FastPath, EachFunctionAndArrayIsReachedThroughThePublicCalls) {
    start();
    const std::uint16_t port = dev_->data->port_id;
    rte_mbuf *none[1];
    EXPECT_EQ(rte_eth_rx_burst(port, 1, none, 1), 0);
    EXPECT_EQ(rte_eth_rx_queue_count(port, 1), 1);
    EXPECT_EQ(rte_eth_rx_descriptor_status(port, 1, 0), 2);
    EXPECT_EQ(rte_eth_fp_ops[port].tx_queue_count(nullptr), 3);
    EXPECT_EQ(rte_eth_tx_descriptor_status(port, 1, 0), 4);
    EXPECT_EQ(rte_eth_fp_ops[port].recycle_tx_mbufs_reuse(nullptr, nullptr), 5);
    EXPECT_EQ(dev_->data->rx_queues[1], &dev_->data->rx_queues[1]);
    EXPECT_EQ(dev_->data->tx_queues[0], &dev_->data->tx_queues[0]);
}

// ethdev leaves some of them in the entry of a released port, for its next owner.
TEST_F(FastPath, AnEmptiedPortCanDoNothingAndSaysSo) {
    empty_fast_path(*dev_);
    start();
    const std::uint16_t port = dev_->data->port_id;
    EXPECT_EQ(rte_eth_rx_queue_count(port, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_tx_queue_count(port, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_rx_descriptor_status(port, 0, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_tx_descriptor_status(port, 0, 0), -ENOTSUP);
    rte_mbuf *packet = nullptr;
    EXPECT_EQ(rte_eth_tx_prepare(port, 0, &packet, 1), 1);
    rte_eth_recycle_rxq_info recycled{};
    EXPECT_EQ(rte_eth_recycle_mbufs(port, 0, port, 0, &recycled), 0);
    EXPECT_STREQ(check_fast_path(*dev_).what(), "");
}

// A callback on a queue stands in the arrays of rte_eth_dev.
TEST_F(FastPath, ACallbackIsFoundAtItsQueue) {
    start();
    const std::uint16_t port = dev_->data->port_id;
    const auto *rx = rte_eth_add_rx_callback(
        port, 1, [](std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, std::uint16_t, void *) { return n; },
        nullptr);
    const auto *tx = rte_eth_add_tx_callback(
        port, 0, [](std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t n, void *) { return n; }, nullptr);
    ASSERT_NE(rx, nullptr);
    ASSERT_NE(tx, nullptr);
    EXPECT_EQ(dev_->post_rx_burst_cbs[1], rx);
    EXPECT_EQ(dev_->post_rx_burst_cbs[0], nullptr);
    EXPECT_EQ(dev_->pre_tx_burst_cbs[0], tx);
    EXPECT_EQ(dev_->pre_tx_burst_cbs[1], nullptr);
    EXPECT_EQ(rte_eth_remove_rx_callback(port, 1, rx), 0);
    EXPECT_EQ(rte_eth_remove_tx_callback(port, 0, tx), 0);
}

using test::heap_in_use;

TEST(Release, ClearsThePrivateFieldsAndFreesTheSharedOnes) {
    rte_eth_dev *warm_up =
        rte_eth_dev_allocate("holdfast_release"); // ethdev's own shared memory comes with the first port
    ASSERT_NE(warm_up, nullptr);
    ASSERT_EQ(rte_eth_dev_release_port(warm_up), 0);
    const std::size_t before = heap_in_use();

    rte_eth_dev *dev = rte_eth_dev_allocate("holdfast_release");
    ASSERT_NE(dev, nullptr);
    int something = 0;
    dev->process_private = &something;
    dev->intr_handle = reinterpret_cast<rte_intr_handle *>(&something);
    dev->dev_ops = &kOps;
    dev->data->dev_private = rte_zmalloc(nullptr, 4096, 0);
    dev->data->mac_addrs = static_cast<rte_ether_addr *>(rte_zmalloc(nullptr, 4096, 0));
    dev->data->hash_mac_addrs = static_cast<rte_ether_addr *>(rte_zmalloc(nullptr, 4096, 0));
    EXPECT_GE(heap_in_use(), before + 3 * 4096U);
    ASSERT_EQ(rte_eth_dev_release_port(dev), 0);

    EXPECT_EQ(dev->process_private, nullptr);
    EXPECT_EQ(dev->intr_handle, nullptr);
    EXPECT_EQ(dev->dev_ops, nullptr);
    EXPECT_EQ(dev->data, nullptr);
    EXPECT_EQ(heap_in_use(), before);
}

} // namespace
} // namespace holdfast::abi
