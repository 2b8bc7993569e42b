// SPDX-License-Identifier: BSD-3-Clause
// Foreign hands on the PCI bus: DPDK's own bus code over a made-up /sys, with a driver whose hardware is this file.
#include "abi/stats.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <bus_pci_driver.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

constexpr const char *kAddress = "0000:99:00.0";

/// The folder that EAL takes for /sys/bus/pci/devices. Before main(), which starts an EAL that looks for devices there.
const struct Sys {
    Sys() {
        if (::mkdtemp(folder.data()) == nullptr)
            std::abort();
        (void)::setenv("SYSFS_PCI_DEVICES", folder.c_str(), 1);
        (void)::setenv("HOLDFAST_EAL_ARGS", "--no-huge -m 512 --no-telemetry", 1);
    }
    ~Sys() {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }
    Sys(const Sys &) = delete;
    Sys &operator=(const Sys &) = delete;

    std::string folder = "/tmp/holdfast-pci-XXXXXX";
} g_sys;

/// What the card says of itself: its vendor, or all ones when it is gone but the kernel still has its folder.
void write_config(const char *vendor) {
    std::ofstream(std::filesystem::path(g_sys.folder) / kAddress / "config") << vendor;
}

void insert_card() {
    const std::filesystem::path dev = std::filesystem::path(g_sys.folder) / kAddress;
    std::filesystem::create_directory(dev);
    for (const auto &[file, text] : {std::pair{"vendor", "0x1af4"},
                                     {"device", "0x4f46"},
                                     {"subsystem_vendor", "0x0"},
                                     {"subsystem_device", "0x0"},
                                     {"class", "0x020000"},
                                     {"numa_node", "-1"}})
        std::ofstream(dev / file) << text << '\n';
    write_config("\xf4\x1a");
    std::ofstream resource(dev / "resource");
    for (int i = 0; i < 7; i++)
        resource << "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    std::filesystem::create_directory_symlink("../drivers/holdfast_card", dev / "driver");
}

void pull_card() {
    std::filesystem::remove_all(std::filesystem::path(g_sys.folder) / kAddress);
}

// ---- its driver

std::atomic<bool> g_mapped{false};
std::atomic<std::uint64_t> g_counter{7}; // packets; all ones: it is gone
std::atomic<int> g_trespasses{0}, g_removals{0}, g_inside{0};

std::uint16_t enter() {
    g_inside++;
    for (int i = 0; i < 200; i++)
        rte_pause();
    g_trespasses += g_mapped.load() ? 0 : 1; // here a real one reads its registers
    g_inside--;
    return 0;
}
std::uint16_t card_rx(void *, rte_mbuf **, std::uint16_t) {
    return enter();
}
std::uint16_t card_tx(void *, rte_mbuf **packets, std::uint16_t n) {
    (void)enter();
    rte_pktmbuf_free_bulk(packets, n);
    return n;
}
int card_ok(rte_eth_dev *) {
    return 0;
}
int card_info(rte_eth_dev *, rte_eth_dev_info *info) {
    info->max_rx_queues = info->max_tx_queues = 1;
    info->max_rx_pktlen = 1518;
    info->max_mac_addrs = 1;
    return 0;
}
/// Registers of a card that is not there read as all ones.
int card_stats(rte_eth_dev *dev, abi::PortStats *stats) {
    stats->opackets = std::filesystem::exists(std::filesystem::path(g_sys.folder) / rte_dev_name(dev->device))
                          ? g_counter.load()
                          : ~0ULL;
    return 0;
}
int card_link(rte_eth_dev *dev, int) {
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    return 0;
}
int card_rx_queue(rte_eth_dev *, std::uint16_t, std::uint16_t, unsigned, const rte_eth_rxconf *, rte_mempool *) {
    return 0;
}
int card_tx_queue(rte_eth_dev *, std::uint16_t, std::uint16_t, unsigned, const rte_eth_txconf *) {
    return 0;
}
int card_probe(rte_pci_driver *, rte_pci_device *pci) {
    static const eth_dev_ops ops = [] {
        eth_dev_ops o{};
        o.dev_configure = o.dev_start = o.dev_stop = o.dev_close = &card_ok;
        o.dev_infos_get = &card_info;
        o.link_update = &card_link;
        o.stats_get = &abi::fill_stats<&card_stats>;
        o.rx_queue_setup = &card_rx_queue;
        o.tx_queue_setup = &card_tx_queue;
        return o;
    }();
    rte_eth_dev *dev = rte_eth_dev_allocate(rte_dev_name(&pci->device));
    if (dev == nullptr)
        return -ENOMEM;
    dev->device = &pci->device;
    dev->dev_ops = &ops;
    dev->rx_pkt_burst = &card_rx;
    dev->tx_pkt_burst = &card_tx;
    dev->data->mac_addrs = static_cast<rte_ether_addr *>(rte_zmalloc("card", sizeof(rte_ether_addr), 0));
    dev->data->mac_addrs[0] = {{2, 0, 0, 0, 3, 1}};
    g_mapped = true;
    rte_eth_dev_probing_finish(dev);
    return 0;
}
/// As rte_eth_dev_pci_generic_remove(): first all is freed, then the port is released.
int card_remove(rte_pci_device *pci) {
    g_removals++;
    rte_eth_dev *dev = rte_eth_dev_allocated(rte_dev_name(&pci->device));
    g_mapped = false;
    std::this_thread::sleep_for(200us);
    return dev == nullptr ? 0 : rte_eth_dev_release_port(dev);
}

rte_device *find_card() {
    rte_dev_iterator it{};
    rte_device *dev = nullptr;
    RTE_DEV_FOREACH(dev, "bus=pci", &it)
    if (std::string(kAddress) == rte_dev_name(dev))
        break;
    return dev;
}

class DetachPci : public WithPorts {
  protected:
    void SetUp() override {
        WithPorts::SetUp();
        driver_.driver.name = "net_holdfast_card";
        driver_.probe = &card_probe;
        driver_.remove = &card_remove;
        driver_.id_table = ids_.data();
        rte_pci_register(&driver_);
        insert_card();
        g_trespasses = g_removals = 0;
    }
    void TearDown() override {
        if (rte_device *dev = find_card(); dev != nullptr && rte_dev_is_probed(dev) != 0)
            (void)rte_dev_remove(dev);
        pull_card();
        rte_pci_unregister(&driver_);
        WithPorts::TearDown();
    }

    std::array<rte_pci_id, 2> ids_{{{.class_id = RTE_CLASS_ANY_ID,
                                     .vendor_id = 0x1af4,
                                     .device_id = 0x4f46,
                                     .subsystem_vendor_id = RTE_PCI_ANY_ID,
                                     .subsystem_device_id = RTE_PCI_ANY_ID},
                                    {}}};
    rte_pci_driver driver_{};
};

TEST_F(DetachPci, NobodyIsInsideWhenTheDriverTakesTheDeviceApart) {
    const Mayfly standby;
    Vport port("hotplug_poll=2,announce=0,dev(" + std::string(kAddress) + ")," + standby.dev());
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> rounds{0};
    std::thread lcore([&] {
        while (!stop.load()) {
            (void)receive(port);
            (void)send(port, 2);
            rounds++;
        }
    });
    int met = 0;
    for (int round = 0; round < 20; round++) {
        SCOPED_TRACE(round);
        const bool joined = eventually([&] { return port.joined(0) && port.joined(1) && port.active() == 0; });
        EXPECT_TRUE(joined) << port.sub(0).reason;
        if (!joined)
            break;
        EXPECT_NE(find_card(), nullptr);
        met += eventually([] { return g_inside.load() != 0; }) ? 1 : 0;
        EXPECT_EQ(rte_dev_remove(find_card()), 0);
        EXPECT_EQ(g_trespasses.load(), 0);
        if (HasFailure())
            break; // else the rest waits for what will not come
        EXPECT_EQ(g_removals.load(), round + 1);
        const std::uint64_t turned = rounds.load();
        EXPECT_TRUE(eventually([&] { return rounds.load() > turned + 2; })) << "the traffic goes on";
        EXPECT_EQ(port.active(), 1);
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" && !port.sub(0).wanted; }));
        EXPECT_EQ(port.sub(0).reason, "detached by somebody else");
        EXPECT_TRUE(always([&] { return find_card() == nullptr || rte_dev_is_probed(find_card()) == 0; }, 10ms));
        EXPECT_TRUE(port.plug_by_hand(0).ok());
    }
    stop.store(true);
    lcore.join();
    EXPECT_GT(met, 0);
    EXPECT_EQ(g_trespasses.load(), 0) << "after the last removal";
}

TEST_F(DetachPci, OurOwnRemovalGoesStraightToTheDriverAndTheDeviceComesBack) {
    Vport port("hotplug_poll=2,announce=0,dev(" + std::string(kAddress) + ")");
    ASSERT_EQ(port.rc(), 0);
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    for (int i = 1; i <= 3; i++) {
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.state(0) == "absent"; }));
        EXPECT_EQ(g_removals.load(), i);
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    }
    EXPECT_EQ(port.close(), 0);
    EXPECT_TRUE(find_card() == nullptr || rte_dev_is_probed(find_card()) == 0);
    EXPECT_EQ(g_removals.load(), 4);
}

// The bus asks the PCI device's own field; what everybody else sees stays as it is.
TEST_F(DetachPci, TheDriverThatOthersSeeIsTheDevicesOwn) {
    Vport port("hotplug_poll=2,announce=0,dev(" + std::string(kAddress) + ")");
    ASSERT_EQ(port.rc(), 0);
    ASSERT_NE(find_card(), nullptr);
    EXPECT_EQ(rte_dev_driver(find_card()), &driver_.driver);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port.sub(0).port.raw(), &info), 0);
    EXPECT_STREQ(info.driver_name, "net_holdfast_card");
}

// Its folder stays as long as its driver is held, so for a while nothing but its registers tells.
TEST_F(DetachPci, ACardThatIsPulledOutIsNotCountedWhenTheApplicationAsksBeforeAnybodyTells) {
    const Mayfly standby("mode=loop");
    Vport port("hotplug_poll=3600000,announce=0,dev(" + std::string(kAddress) + ")," + standby.dev());
    ASSERT_EQ(port.up(pool()), 0);
    for (const bool reset : {false, true}) {
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
        const std::uint64_t counted = port.stats().opackets;
        const std::uint64_t removals = port.sub(0).removals;
        write_config("\xff\xff");
        g_counter = ~0ULL;
        if (reset) {
            EXPECT_EQ(rte_eth_stats_reset(port.id()), 0);
        }
        EXPECT_EQ(port.stats().opackets, reset ? 0 : counted);
        EXPECT_EQ(port.active(), 1) << "now it is known";
        EXPECT_TRUE(eventually([&] { return port.sub(0).removals > removals; }));
        EXPECT_EQ(port.stats().opackets, reset ? 0 : counted);
        pull_card();
        g_counter = 7;
        insert_card();
        rte_dev_event_callback_process(kAddress, RTE_DEV_EVENT_ADD);
    }
    EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
}

// Of most PCI drivers none tells a port that its device is gone.
TEST_F(DetachPci, ACardThatIsPulledOutIsNoticedByEalsEventsAndByALookAtEverything) {
    const Mayfly standby("mode=loop");
    Vport port("hotplug_poll=3600000,announce=0,dev(" + std::string(kAddress) + ")," + standby.dev());
    ASSERT_EQ(port.up(pool()), 0);
    const std::filesystem::path folder = std::filesystem::path(g_sys.folder) / kAddress;
    std::int64_t sent = 0;
    for (const char *how : {"event", "driver", "pulled", "look", "another"}) {
        SCOPED_TRACE(how);
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << port.sub(0).reason;
        std::uint64_t counted = port.stats().opackets;
        const std::uint64_t removals = port.sub(0).removals;
        const std::string way = how;
        if (way == "driver") { // vfio asks for it: the card itself is still there, and is counted a last time
            g_counter += 5;
            counted += 5;
            rte_dev_event_callback_process(kAddress, RTE_DEV_EVENT_REMOVE);
        } else if (way == "pulled") { // and vfio asks for what it still holds
            write_config("\xff\xff");
            g_counter = ~0ULL;
            rte_dev_event_callback_process(kAddress, RTE_DEV_EVENT_REMOVE);
        } else {
            std::filesystem::rename(folder, folder.string() + ".out"); // so that no folder gets its number
            if (way == "another")
                insert_card();
            if (way == "event")
                rte_dev_event_callback_process(kAddress, RTE_DEV_EVENT_REMOVE);
            else
                HostThread::get().each([](VirtualPort &p) { p.check_devices(); });
        }
        EXPECT_TRUE(eventually([&] { return port.sub(0).removals > removals; })); // its last counters are in
        EXPECT_EQ(send(port, 1), 1);
        sent++;
        EXPECT_TRUE(eventually([&] { return port.state(0) == "absent" || port.joined(0); }));
        EXPECT_LE(port.stats().opackets, counted + static_cast<std::uint64_t>(sent)) << "read from a card that is gone";
        EXPECT_GE(port.stats().opackets, counted) << "not read from a card that is there";
        if (way == "pulled") {
            pull_card();
            g_counter = 7;
            insert_card();
        }
        if (way == "event" || way == "look")
            insert_card();
        std::filesystem::remove_all(folder.string() + ".out");
        rte_dev_event_callback_process(kAddress, RTE_DEV_EVENT_ADD);
        EXPECT_TRUE(eventually([&] { return port.joined(0); })) << port.sub(0).reason;
    }
    EXPECT_EQ(standby.count(RTE_PMD_MAYFLY_TX_PACKETS), sent);
    rte_dev_event_callback_process("0000:99:00.1", RTE_DEV_EVENT_REMOVE);
    rte_dev_event_callback_process("no address", RTE_DEV_EVENT_REMOVE);
    EXPECT_TRUE(always([&] { return port.joined(0); }, 20ms)) << "that was another device's";
}

} // namespace
} // namespace holdfast::test
