// SPDX-License-Identifier: BSD-3-Clause
// What a virtual port shows to secondary processes, looked at from inside the primary: the shared block holds what
// ethdev answers here, and no address of this process alone. (tests/app/secondary_test.py has real secondaries.)
#include "port/shared.h"

#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <rte_ethdev.h>
#include <rte_memory.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

class Shared : public WithPorts {
  protected:
    static SharedPort &block_of(const Vport &port) {
        return *static_cast<SharedPort *>(rte_eth_devices[port.id()].data->dev_private);
    }
    /// As a secondary asks: a ticket, a wake-up, and a look whether it came up.
    static std::unique_ptr<Snapshot> ask(const Vport &port) {
        SharedPort &block = block_of(port);
        const std::uint64_t ticket = block.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
        HostThread::get().wake();
        EXPECT_TRUE(eventually([&] { return block.answered.load(std::memory_order_acquire) >= ticket; }));
        auto out = std::make_unique<Snapshot>();
        EXPECT_TRUE(block.snapshot.read(*out));
        return out;
    }
};

TEST_F(Shared, HoldsWhatThePrimaryIsAnswered) {
    Mayfly a("mode=loop"), b;
    Vport port(devargs_of({&a, &b}));
    Shape shape{.rx_queues = 2, .tx_queues = 3, .descriptors = 512};
    ASSERT_EQ(port.up(pool(), shape), 0);
    EXPECT_EQ(send(port, 9), 9);
    EXPECT_GT(receive(port), 0);

    const std::unique_ptr<Snapshot> s = ask(port);
    const rte_eth_stats stats = port.stats();
    EXPECT_EQ(stats.opackets, 9U);
    EXPECT_EQ(std::memcmp(&s->stats, &stats, sizeof stats), 0);

    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
    EXPECT_EQ(s->info.max_rx_queues, info.max_rx_queues);
    EXPECT_EQ(s->info.max_mtu, info.max_mtu);
    EXPECT_EQ(s->info.rx_offload_capa, info.rx_offload_capa);
    EXPECT_EQ(s->info.tx_offload_capa, info.tx_offload_capa);
    EXPECT_EQ(s->info.speed_capa, info.speed_capa);
    EXPECT_EQ(s->info.dev_capa, info.dev_capa);
    EXPECT_EQ(s->info.hash_key_size, info.hash_key_size);
    EXPECT_EQ(s->info.max_mac_addrs, info.max_mac_addrs);

    for (std::uint16_t q = 0; q < shape.rx_queues; q++) {
        rte_eth_rxq_info rx{};
        ASSERT_EQ(rte_eth_rx_queue_info_get(port.id(), q, &rx), 0);
        EXPECT_EQ(s->rx_queues[q].descriptors, rx.nb_desc);
        EXPECT_EQ(s->rx_queues[q].pool, rx.mp);
        EXPECT_EQ(s->rx_queues[q].conf.offloads, rx.conf.offloads);
    }
    for (std::uint16_t q = 0; q < shape.tx_queues; q++)
        EXPECT_EQ(s->tx_queues[q].descriptors, 512);
    EXPECT_EQ(s->tx_queues[shape.tx_queues].descriptors, 0);

    std::array<std::uint32_t, 256> ptypes{};
    const int n = rte_eth_dev_get_supported_ptypes(port.id(), RTE_PTYPE_ALL_MASK, ptypes.data(), 256);
    ASSERT_EQ(s->ptype_count, n);
    EXPECT_TRUE(std::equal(ptypes.begin(), ptypes.begin() + n, s->ptypes.begin()));

    const int count = rte_eth_xstats_get(port.id(), nullptr, 0);
    std::vector<rte_eth_xstat> here(static_cast<std::size_t>(count));
    ASSERT_EQ(rte_eth_xstats_get(port.id(), here.data(), static_cast<unsigned>(count)), count);
    const std::span subs(s->sub_counts.data(), s->sub_count);
    ASSERT_EQ(subs.size(), 2U);
    std::vector<rte_eth_xstat> there(static_cast<std::size_t>(xstat_values(s->port_counts, subs, nullptr, 0)));
    const auto room = static_cast<unsigned>(there.size());
    ASSERT_EQ(xstat_values(s->port_counts, subs, there.data(), room), static_cast<int>(room));
    for (std::size_t i = 0; i < there.size(); i++)
        EXPECT_EQ(there[i].value, here[here.size() - there.size() + i].value) << i;
}

TEST_F(Shared, ShowsWhichSubDevicesAreThereAndThatTheyChanged) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_EQ(port.up(pool()), 0);
    std::unique_ptr<Snapshot> s = ask(port);
    ASSERT_EQ(s->sub_count, 2);
    EXPECT_STREQ(s->subs[0].device.data(), a.name().c_str());
    EXPECT_STREQ(s->subs[1].device.data(), b.name().c_str());
    EXPECT_EQ(s->subs[0].port, a.port());
    const std::uint64_t life = s->subs[0].life;

    a.unplug();
    ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
    s = ask(port);
    EXPECT_STREQ(s->subs[0].device.data(), "");
    EXPECT_FALSE(s->subs[0].port.valid());
    a.plug();
    ASSERT_TRUE(eventually([&] { return port.joined(0); }));
    s = ask(port);
    EXPECT_STREQ(s->subs[0].device.data(), a.name().c_str());
    EXPECT_EQ(s->subs[0].life, life + 1);
}

// F146
TEST_F(Shared, HoldsNoAddressOfThisProcessAlone) {
    Mayfly a;
    Vport port(a.dev());
    ASSERT_EQ(port.up(pool()), 0);
    const std::unique_ptr<Snapshot> s = ask(port);
    EXPECT_EQ(s->info.device, nullptr);
    EXPECT_EQ(s->info.driver_name, nullptr);
    EXPECT_EQ(s->info.dev_flags, nullptr);
    EXPECT_EQ(s->info.switch_info.name, nullptr);
    // Whatever the fields are called: no word of it points into memory of this process alone.
    // (Not the address of a local variable: ASan keeps these in memory beside that which EAL shares.)
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto heap = reinterpret_cast<std::uintptr_t>(s.get());
    const auto code = reinterpret_cast<std::uintptr_t>(&rte_eth_devices[0]);
    const auto near = [](std::uintptr_t x, std::uintptr_t y) {
        return (x > y ? x - y : y - x) < (std::uintptr_t{1} << 32U);
    };
    for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= sizeof(Snapshot); i += sizeof(std::uintptr_t)) {
        std::uintptr_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char *>(s.get()) + i, sizeof word);
        EXPECT_FALSE(near(word, stack) || near(word, heap) || near(word, code))
            << "at " << i << ": " << std::hex << word << ", stack " << stack << ", heap " << heap << ", code " << code;
    }
}

TEST_F(Shared, QueuesAreShownAsSoonAsTheyAreSetUpAlsoWhenNobodyAsks) {
    Mayfly a;
    Vport port(a.dev());
    ASSERT_EQ(port.configure({}), 0);
    ASSERT_EQ(port.set_up_queues({.descriptors = 1024}, pool()), 0);
    Snapshot s{};
    ASSERT_TRUE(block_of(port).snapshot.read(s));
    EXPECT_EQ(s.rx_queues[0].descriptors, 1024);
    EXPECT_EQ(s.rx_queues[0].pool, pool());
    EXPECT_EQ(s.tx_queues[0].descriptors, 1024);
}

TEST_F(Shared, TicketsOfToolsThatWereKilledDisturbNobody) {
    Mayfly a;
    Vport port(a.dev());
    ASSERT_EQ(port.up(pool()), 0);
    SharedPort &block = block_of(port);
    for (int i = 0; i < 1000; i++)
        block.asked.fetch_add(1, std::memory_order_acq_rel); // drawn, and no message sent
    EXPECT_EQ(send(port, 3), 3);
    EXPECT_EQ(ask(port)->stats.opackets, 3U);
    EXPECT_EQ(block.answered.load(std::memory_order_acquire), block.asked.load(std::memory_order_acquire));
}

} // namespace
} // namespace holdfast::test
