// SPDX-License-Identifier: BSD-3-Clause
// Whose a port is, and who sees it when. (FAULTS.md, section 15.)
#include "support/stub_driver.h"
#include "support/virtual_port.h"

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace holdfast::test {
namespace {

class Visibility : public WithPorts {};

std::string owner_of(std::uint16_t port) {
    rte_eth_dev_owner owner{};
    if (rte_eth_dev_owner_get(port, &owner) != 0)
        return "no such port";
    return owner.id == RTE_ETH_DEV_NO_OWNER ? "nobody" : owner.name;
}

/// What RTE_ETH_FOREACH_DEV goes by.
std::uint64_t next_visible(std::uint64_t from) {
    return rte_eth_find_next_owned_by(static_cast<std::uint16_t>(from), RTE_ETH_DEV_NO_OWNER);
}

// F151
TEST_F(Visibility, AnApplicationThatWalksItsPortsDuringAPlugInNeverMeetsASubDevice) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    std::uint64_t walks = 0;
    for (int i = 0; i < 30; i++) {
        const auto sub = static_cast<std::uint8_t>(i % 2);
        const Mayfly &m = sub == 0 ? a : b;
        m.unplug();
        ASSERT_TRUE(eventually([&] { return port.state(sub) == "absent" && !m.there(); }));
        // Not while a port is released: ethdev itself shows one as nobody's for an instant then.
        std::atomic<bool> stop{false};
        std::uint64_t met = 0;
        std::thread application([&] {
            for (; !stop.load(std::memory_order_relaxed); walks++) {
                for (std::uint64_t p = next_visible(0); p < RTE_MAX_ETHPORTS; p = next_visible(p + 1))
                    met += p != port.id() ? 1 : 0;
            }
        });
        m.plug();
        EXPECT_TRUE(eventually([&] { return port.joined(sub); }));
        stop.store(true, std::memory_order_relaxed);
        application.join();
        EXPECT_EQ(met, 0U) << "plug-in " << i;
    }
    EXPECT_GT(walks, 0U);
}

/// Notes what an application's callback for one kind of event finds out about the owners of ports.
class Owners {
  public:
    explicit Owners(rte_eth_event_type event) : event_(event) {
        EXPECT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, event_, &Owners::on_event, this), 0);
    }
    ~Owners() { EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, event_, &Owners::on_event, this), 0); }
    Owners(const Owners &) = delete;
    Owners &operator=(const Owners &) = delete;

    std::atomic<unsigned> of_nobody{0}, of_somebody{0}, unknown{0};

  private:
    static int on_event(std::uint16_t port, rte_eth_event_type, void *self, void *) {
        auto &out = *static_cast<Owners *>(self);
        const std::string owner = owner_of(port);
        (owner == "nobody" ? out.of_nobody : owner == "no such port" ? out.unknown : out.of_somebody)++;
        return 0;
    }
    const rte_eth_event_type event_;
};

// F151, F155: at every event of a sub-device it has its owner. And F152: who heard of one before it had is told at once
// that it is gone.
TEST_F(Visibility, ASubDeviceIsOwnedFromItsFirstEventToItsLast) {
    Mayfly a, b;
    const Owners born(RTE_ETH_EVENT_NEW), dead(RTE_ETH_EVENT_DESTROY);
    constexpr unsigned kCycles = 10;
    {
        Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
        ASSERT_EQ(port.up(pool()), 0);
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        EXPECT_EQ(dead.of_somebody, 2U);
        for (unsigned i = 0; i < kCycles; i++) {
            const auto sub = static_cast<std::uint8_t>(i % 2);
            const Mayfly &m = sub == 0 ? a : b;
            m.unplug();
            ASSERT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
            m.plug();
            ASSERT_TRUE(eventually([&] { return port.joined(sub); }));
        }
    }
    EXPECT_EQ(born.of_somebody, kCycles + 2);
    EXPECT_EQ(dead.of_somebody, 2 * (kCycles + 2)) << "and when it goes";
    EXPECT_EQ(born.of_nobody, 1U) << "the virtual port itself";
    EXPECT_EQ(dead.of_nobody, 1U);
    EXPECT_EQ(born.unknown + dead.unknown, 0U);
}

// F154
TEST_F(Visibility, AnEventOfAPortThatIsNotCompleteYetIsIgnored) {
    for (const auto news : {StubDriver::News::kEarlyToo, StubDriver::News::kEarlyOnly}) {
        const StubDriver driver("holdfast_early", {.news = news});
        const std::string name = driver.device();
        Mayfly m;
        Vport port("hotplug_poll=60000,dev(" + name + ")," + m.dev()); // the first attempt counts
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(port.sub(0).reason, "");
        EXPECT_EQ(port.sub(0).port, PortId{StubDriver::port(name)});
        EXPECT_EQ(owner_of(StubDriver::port(name)), port.name());
        ASSERT_EQ(port.up(pool()), 0);
        EXPECT_TRUE(port.joined(0));
    }
}

// F20: a driver whose probe succeeds, and there is no port.
TEST_F(Visibility, ADeviceWithoutAnyPortIsNotLeftOnTheBus) {
    const StubDriver driver("holdfast_portless", {.ports = 0});
    Mayfly m;
    Vport port("hotplug_poll=5,dev(" + driver.device() + ")," + m.dev());
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_EQ(port.sub(0).reason, "cannot find a port on a probed device: No such device");
    const auto devices = EalState::now().devices;
    EXPECT_EQ(std::count(devices.begin(), devices.end(), driver.device()), 0);
    EXPECT_EQ(send(port), 1);
}

} // namespace
} // namespace holdfast::test
