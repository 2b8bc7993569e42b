// SPDX-License-Identifier: BSD-3-Clause
// The lock of the virtual bus, which the bus keeps to itself.
#include "abi/vdev_bus.h"

#include "support/eal_state.h"
#include "support/wait.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <thread>

namespace holdfast::abi {
namespace {

using test::always;
using test::EalState;
using test::find_vdev;

TEST(VdevBus, NobodyAddsOrRemovesADeviceMeanwhile) {
    ASSERT_EQ(rte_vdev_init("net_null1", ""), 0);
    const EalState before = EalState::now();
    std::atomic<bool> inside{false}, leave{false}, added{false}, removed{false};
    std::thread holder([&] {
        EXPECT_TRUE(under_vdev_lock([&] {
                        inside.store(true);
                        while (!leave.load())
                            std::this_thread::yield();
                    }).ok());
    });
    ASSERT_TRUE(test::eventually([&] { return inside.load(); }));
    std::thread adder([&] {
        EXPECT_EQ(rte_vdev_init("net_null2", ""), 0);
        added.store(true);
    });
    std::thread remover([&] {
        EXPECT_EQ(rte_vdev_uninit("net_null1"), 0);
        removed.store(true);
    });
    EXPECT_TRUE(always([&] { return !added.load() && !removed.load(); }, std::chrono::milliseconds(50)));
    leave.store(true);
    holder.join();
    adder.join();
    remover.join();
    EXPECT_EQ(rte_vdev_uninit("net_null2"), 0);
    EXPECT_EQ(EalState::now().devices.size() + 1, before.devices.size()) << "nothing is left of the key";
}

TEST(VdevBus, WhoHasTheLockMayTakeItAgainAndHotPlugUnderIt) {
    const EalState before = EalState::now();
    int runs = 0;
    EXPECT_TRUE(under_vdev_lock([&] {
                    runs++;
                    EXPECT_EQ(rte_vdev_init("net_null3", ""), 0);
                    EXPECT_TRUE(under_vdev_lock([&] {
                                    runs++;
                                    EXPECT_NE(find_vdev("net_null3"), nullptr);
                                    EXPECT_EQ(rte_vdev_uninit("net_null3"), 0);
                                }).ok());
                }).ok());
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(EalState::now(), before);
}

TEST(VdevBus, AnExceptionDoesNotPassThroughTheBus) {
    EXPECT_EQ(under_vdev_lock([] { throw std::bad_alloc(); }).code(), -ENOMEM);
    EXPECT_TRUE(under_vdev_lock([] {}).ok()) << "the lock is free again";
}

TEST(VdevBus, ADeviceOfThatNameIsRefused) {
    const EalState before = EalState::now();
    EXPECT_EQ(rte_vdev_init("holdfast_key7", ""), -EINVAL);
    EXPECT_EQ(EalState::now(), before);
}

} // namespace
} // namespace holdfast::abi
