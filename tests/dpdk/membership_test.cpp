// SPDX-License-Identifier: BSD-3-Clause
// The C functions of rte_pmd_holdfast.h: who is active, who belongs to the port.
#include "support/virtual_port.h"
#include <rte_pmd_holdfast.h>

#include <gtest/gtest.h>

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace holdfast::test {
namespace {

class Membership : public WithPorts {
  protected:
    static rte_pmd_holdfast_sub get(const Vport &port, std::uint8_t place) {
        rte_pmd_holdfast_sub sub{};
        EXPECT_EQ(rte_pmd_holdfast_get(port.id(), place, &sub), 0);
        return sub;
    }
    static int add(const Vport &port, const Mayfly &m) {
        return rte_pmd_holdfast_add(port.id(), m.dev().c_str(), nullptr, 0);
    }
    [[nodiscard]] bool up(const Vport &port, std::size_t subs = 2) const {
        if (port.up(pool()) != 0)
            return false;
        for (std::size_t i = 0; i < subs; i++)
            if (!eventually([&] { return port.joined(i); }))
                return false;
        return true;
    }
};

TEST_F(Membership, ASubDeviceTellsWhatItIs) {
    Mayfly a, b;
    b.unplug();
    Vport port(devargs_of({&a, &b}));
    ASSERT_TRUE(up(port, 1));
    EXPECT_EQ(rte_pmd_holdfast_is_port(port.id()), 1);
    EXPECT_EQ(rte_pmd_holdfast_places(port.id()), 2);
    EXPECT_EQ(rte_pmd_holdfast_active(port.id()), 0);
    const rte_pmd_holdfast_sub first = get(port, 0);
    EXPECT_EQ(first.devargs, a.name());
    EXPECT_EQ(first.state, RTE_PMD_HOLDFAST_STARTED);
    EXPECT_EQ(first.link, RTE_PMD_HOLDFAST_LINK_UP);
    EXPECT_EQ(first.port_id, a.port().raw());
    EXPECT_EQ(first.active, 1);
    EXPECT_EQ(first.wanted, 1);
    EXPECT_EQ(first.plugins, 1U);
    EXPECT_STREQ(first.reason, "");
    const rte_pmd_holdfast_sub second = get(port, 1);
    EXPECT_EQ(second.state, RTE_PMD_HOLDFAST_ABSENT);
    EXPECT_EQ(second.link, RTE_PMD_HOLDFAST_LINK_UNKNOWN);
    EXPECT_EQ(second.port_id, -1);
    EXPECT_NE(std::string(second.reason).find("such device"), std::string::npos) << second.reason;
    EXPECT_EQ(get(port, 15).state, RTE_PMD_HOLDFAST_VACANT);
    a.link(false);
    EXPECT_EQ(rte_pmd_holdfast_active(port.id()), -ENOLINK);
    EXPECT_EQ(get(port, 0).link, RTE_PMD_HOLDFAST_LINK_DOWN);
}

TEST_F(Membership, WhatDoesNotExistIsRefused) {
    Mayfly a;
    Vport port(a.dev());
    ASSERT_TRUE(up(port, 1));
    rte_pmd_holdfast_sub sub{};
    const std::uint16_t nobody = RTE_MAX_ETHPORTS - 1;
    const std::uint16_t below = a.port().raw();
    for (const std::uint16_t id : {nobody, below}) {
        EXPECT_EQ(rte_pmd_holdfast_is_port(id), 0);
        EXPECT_EQ(rte_pmd_holdfast_places(id), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_active(id), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_get(id, 0, &sub), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_switch(id, 0), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_pin(id, 0), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_unpin(id), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_remove(id, 0), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_plug(id, 0), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_drop(id, 0), -ENODEV);
        EXPECT_EQ(rte_pmd_holdfast_add(id, "dev(net_mayfly99)", nullptr, 0), -ENODEV);
    }
    EXPECT_EQ(rte_pmd_holdfast_get(port.id(), 0, nullptr), -EINVAL);
    for (const auto &[place, error] : {std::pair{std::uint8_t{1}, -ENOENT}, std::pair{std::uint8_t{16}, -EINVAL}}) {
        EXPECT_EQ(rte_pmd_holdfast_switch(port.id(), place), error);
        EXPECT_EQ(rte_pmd_holdfast_pin(port.id(), place), error);
        EXPECT_EQ(rte_pmd_holdfast_remove(port.id(), place), error);
        EXPECT_EQ(rte_pmd_holdfast_plug(port.id(), place), error);
        EXPECT_EQ(rte_pmd_holdfast_drop(port.id(), place), error);
    }
    EXPECT_EQ(rte_pmd_holdfast_callback_register(port.id(), nullptr, nullptr), -EINVAL);
}

TEST_F(Membership, APinHoldsWithoutALinkUntilItIsTakenBack) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_TRUE(up(port));
    ASSERT_EQ(rte_pmd_holdfast_pin(port.id(), 1), 0);
    b.link(false);
    EXPECT_TRUE(always([&] { return port.active() == 1; }, 50ms));
    EXPECT_EQ(port.link().link_status, RTE_ETH_LINK_DOWN) << "the port's link is true";
    ASSERT_EQ(rte_pmd_holdfast_unpin(port.id()), 0);
    EXPECT_EQ(port.active(), 0);
    EXPECT_EQ(rte_pmd_holdfast_switch(port.id(), 1), -EAGAIN);
    EXPECT_EQ(rte_pmd_holdfast_pin(port.id(), 1), 0);
    b.unplug();
    EXPECT_EQ(port.active(), 0) << "nobody is pinned to what is gone";
    EXPECT_EQ(rte_pmd_holdfast_pin(port.id(), 1), -EAGAIN);
}

TEST_F(Membership, WhoWasChosenByHandIsSoAgainAfterAStopAndAnError) {
    Mayfly a, b;
    for (const bool pinned : {true, false}) {
        Vport port(devargs_of({&a, &b}));
        ASSERT_TRUE(up(port));
        ASSERT_EQ(pinned ? rte_pmd_holdfast_pin(port.id(), 1) : rte_pmd_holdfast_switch(port.id(), 1), 0);
        ASSERT_EQ(port.stop(), 0);
        ASSERT_EQ(port.start(), 0);
        EXPECT_EQ(port.active(), 1);
        b.recover(RTE_PMD_MAYFLY_RECOVERING);
        EXPECT_EQ(port.active(), 0);
        b.recover(RTE_PMD_MAYFLY_RECOVERED);
        EXPECT_TRUE(eventually([&] { return port.active() == 1; }));
        b.unplug();
        EXPECT_EQ(port.active(), 0);
        b.plug();
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        EXPECT_TRUE(always([&] { return port.active() == 0; }, 50ms)) << "it left, and that ended it";
    }
}

TEST_F(Membership, AfterUnpinThePreferredOneTakesOver) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_TRUE(up(port));
    ASSERT_EQ(rte_pmd_holdfast_switch(port.id(), 1), 0);
    EXPECT_TRUE(always([&] { return port.active() == 1; }, 50ms));
    ASSERT_EQ(rte_pmd_holdfast_unpin(port.id()), 0);
    EXPECT_EQ(port.active(), 0);
}

TEST_F(Membership, AnAddedSubDeviceCarriesTrafficAndADroppedOneLeavesItsPlace) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a}, "hotplug_poll=5"));
    ASSERT_TRUE(up(port, 1));
    ASSERT_EQ(add(port, b), 1);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    ASSERT_EQ(send(port, 8), 8);
    ASSERT_EQ(rte_pmd_holdfast_drop(port.id(), 0), 0);
    EXPECT_FALSE(a.there());
    EXPECT_EQ(port.active(), 1);
    EXPECT_EQ(get(port, 0).state, RTE_PMD_HOLDFAST_VACANT);
    EXPECT_EQ(rte_pmd_holdfast_places(port.id()), 2);
    EXPECT_EQ(rte_pmd_holdfast_plug(port.id(), 0), -ENOENT);
    ASSERT_EQ(send(port, 8), 8);
    EXPECT_EQ(b.count(RTE_PMD_MAYFLY_TX_PACKETS), 8);
    EXPECT_EQ(port.stats().opackets, 16U) << "what it counted stays the port's";
    ASSERT_EQ(add(port, c), 0) << "the first free place";
    ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << "it is the preferred one now";
    EXPECT_EQ(get(port, 0).devargs, c.name());
    EXPECT_EQ(get(port, 0).plugins, 1U);
    EXPECT_EQ(port.stats().opackets, 16U);
    EXPECT_EQ(port.sub(0).stats.opackets, 0U) << "and its own begins anew";
    EXPECT_FALSE(a.there()) << "nobody looks for the old one";
    expect_no_late_access({&a, &b, &c});
}

TEST_F(Membership, WhatCannotBeAddedIsRefusedWithTheReason) {
    Mayfly a;
    Vport port(devargs_of({&a}));
    ASSERT_TRUE(up(port, 1));
    std::array<char, 200> fault{};
    const auto refused = [&](const std::string &text) {
        const int rc = rte_pmd_holdfast_add(port.id(), text.c_str(), fault.data(), fault.size());
        return std::pair{rc, std::string(fault.data())};
    };
    for (const char *text : {"", "net_mayfly77", "mac=02:00:00:00:00:01", "dev(net_mayfly77),rx=active", "rx=all",
                             "dev(net_mayfly77),dev(net_mayfly78)", "dev(net_holdfast0)", "dev(", "fd(999)"}) {
        const auto [rc, why] = refused(text);
        EXPECT_EQ(rc, -EINVAL) << text;
        EXPECT_NE(why, "") << text;
    }
    EXPECT_EQ(refused(a.dev()), (std::pair{-EEXIST, std::string()}));
    EXPECT_EQ(rte_pmd_holdfast_add(port.id(), nullptr, fault.data(), fault.size()), -EINVAL);
    EXPECT_EQ(rte_pmd_holdfast_places(port.id()), 1);
    for (int i = 1; i < RTE_PMD_HOLDFAST_MAX_SUBS; i++)
        EXPECT_EQ(refused("dev(net_null" + std::to_string(900 + i) + "_never)").first, i);
    EXPECT_EQ(refused("dev(net_null999_never)").first, -ENOSPC);
}

TEST_F(Membership, ACommandCanBeAddedAndDroppedWhileItRuns) {
    Mayfly a, b;
    Vport port(devargs_of({&a}, "hotplug_poll=5"));
    ASSERT_TRUE(up(port, 1));
    ASSERT_EQ(rte_pmd_holdfast_add(port.id(), ("exec(echo " + b.name() + ")").c_str(), nullptr, 0), 1);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_NE(std::string(get(port, 1).source).find("exec("), std::string::npos);
    ASSERT_EQ(rte_pmd_holdfast_drop(port.id(), 1), 0);
    EXPECT_FALSE(b.there());
    ASSERT_EQ(rte_pmd_holdfast_add(port.id(), "exec(sleep 60)", nullptr, 0), 1);
    ASSERT_EQ(rte_pmd_holdfast_drop(port.id(), 1), 0) << "it waits for no command";
}

// A planned removal loses nothing.
TEST_F(Membership, ARemovalInPeaceLosesNoPacketUnderTraffic) {
    Mayfly a("mode=loop"), b("mode=loop");
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_TRUE(up(port));
    std::atomic<bool> over{false};
    std::uint64_t sent = 0, received = 0;
    std::thread lcore([&] {
        while (!over.load()) {
            sent += send(port, 8);
            received += receive(port);
        }
        for (int empty = 0; empty < 100;) {
            const std::uint16_t n = receive(port);
            received += n;
            empty = n == 0 ? empty + 1 : 0;
        }
    });
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(rte_pmd_holdfast_remove(port.id(), 0), 0);
        EXPECT_FALSE(a.there());
        EXPECT_EQ(rte_pmd_holdfast_plug(port.id(), 0), 0);
        EXPECT_TRUE(eventually([&] { return port.active() == 0; }));
    }
    over = true;
    lcore.join();
    EXPECT_GT(sent, 100U);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(a.count(RTE_PMD_MAYFLY_DRAINED), 0) << "nothing was left in its rings";
    expect_no_late_access({&a, &b});
}

TEST_F(Membership, OneThatIsPluggedWhileItLeavesStays) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_TRUE(up(port));
    unsigned stayed = 0;
    for (int i = 0; i < 200; i++) {
        const std::uint64_t removals = port.sub(0).removals;
        ASSERT_TRUE(port.remove_by_hand(0).ok());
        if (i % 4 != 0)
            std::this_thread::sleep_for(std::chrono::microseconds(i * 17 % 2500));
        ASSERT_TRUE(port.plug_by_hand(0).ok());
        ASSERT_TRUE(eventually([&] { return port.joined(0) && port.active() == 0; })) << i;
        stayed += port.sub(0).removals == removals ? 1 : 0;
        ASSERT_EQ(send(port), 1);
    }
    EXPECT_GT(stayed, 0U) << "it had always left before it was plugged";
}

TEST_F(Membership, AListenerMayCloseThePort) {
    for (int round = 0; round < 20; round++) {
        Mayfly a;
        Vport port(a.dev());
        Shape shape;
        shape.conf.intr_conf.lsc = 1; // then there is a link event to be told of as well
        ASSERT_EQ(port.up(pool(), shape), 0);
        static std::atomic<int> closed;
        closed = 0;
        const auto close = [](std::uint16_t id, int, int, int, void *) {
            EXPECT_EQ(rte_eth_dev_stop(id), 0);
            EXPECT_EQ(rte_eth_dev_close(id), 0);
            closed++;
        };
        ASSERT_EQ(rte_pmd_holdfast_callback_register(port.id(), close, nullptr), 0);
        a.link(false);
        ASSERT_TRUE(eventually([&] { return closed == 1; }));
        EXPECT_EQ(port.detach(), 0);
    }
}

TEST_F(Membership, TwoThatDropTheSamePlaceWhileAThirdAddsTakeOnlyTheOldOne) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a}, "hotplug_poll=1"));
    ASSERT_TRUE(up(port, 1));
    for (int round = 0; round < 30; round++) {
        ASSERT_EQ(add(port, b), 1);
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        std::vector<std::thread> droppers;
        for (int t = 0; t < 2; t++)
            droppers.emplace_back([&] {
                const int rc = rte_pmd_holdfast_drop(port.id(), 1);
                EXPECT_TRUE(rc == 0 || rc == -ENOENT) << rc;
            });
        for (std::thread &t : droppers)
            t.join();
        ASSERT_EQ(add(port, c), 1);
        ASSERT_TRUE(eventually([&] { return port.joined(1); }));
        EXPECT_EQ(get(port, 1).devargs, c.name());
        ASSERT_EQ(rte_pmd_holdfast_drop(port.id(), 1), 0);
    }
}

/// Notes the switches of a port, for one scope.
class Switches {
  public:
    using Event = std::tuple<int, int, int>;
    explicit Switches(const Vport &port) : port_(port.id()) {
        EXPECT_EQ(rte_pmd_holdfast_callback_register(port_, heard, this), 0);
        EXPECT_EQ(rte_pmd_holdfast_callback_register(port_, heard, this), -EEXIST);
    }
    ~Switches() { EXPECT_EQ(rte_pmd_holdfast_callback_unregister(port_, heard, this), 0); }
    Switches(const Switches &) = delete;
    Switches &operator=(const Switches &) = delete;
    [[nodiscard]] std::vector<Event> all() const {
        const std::lock_guard held(mutex_);
        return events_;
    }
    [[nodiscard]] Event wait_for(std::size_t number) const {
        EXPECT_TRUE(eventually([&] { return all().size() > number; })) << number;
        const std::vector<Event> events = all();
        return events.size() > number ? events[number] : Event{};
    }

  private:
    static void heard(std::uint16_t port, int from, int to, int why, void *arg) {
        auto &self = *static_cast<Switches *>(arg);
        EXPECT_EQ(port, self.port_);
        rte_pmd_holdfast_sub sub{};
        EXPECT_EQ(rte_pmd_holdfast_get(port, 0, &sub), 0) << "no lock is held";
        const std::lock_guard held(self.mutex_);
        self.events_.emplace_back(from, to, why);
    }
    const std::uint16_t port_;
    mutable std::mutex mutex_;
    std::vector<Event> events_;
};

TEST_F(Membership, EachSwitchIsToldOnceWithItsReason) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=5"));
    ASSERT_TRUE(up(port));
    const Switches heard(port);
    a.link(false);
    ASSERT_EQ(heard.wait_for(0), Switches::Event(0, 1, RTE_PMD_HOLDFAST_LINK));
    a.link(true);
    ASSERT_EQ(heard.wait_for(1), Switches::Event(1, 0, RTE_PMD_HOLDFAST_BETTER));
    a.unplug();
    ASSERT_EQ(heard.wait_for(2), Switches::Event(0, 1, RTE_PMD_HOLDFAST_REMOVAL));
    b.link(false);
    ASSERT_EQ(heard.wait_for(3), Switches::Event(1, -1, RTE_PMD_HOLDFAST_LINK));
    b.link(true);
    ASSERT_EQ(heard.wait_for(4), Switches::Event(-1, 1, RTE_PMD_HOLDFAST_FIRST));
    a.plug();
    ASSERT_EQ(heard.wait_for(5), Switches::Event(1, 0, RTE_PMD_HOLDFAST_BETTER));
    ASSERT_EQ(rte_pmd_holdfast_switch(port.id(), 1), 0);
    ASSERT_EQ(heard.wait_for(6), Switches::Event(0, 1, RTE_PMD_HOLDFAST_BY_HAND));
    ASSERT_EQ(rte_pmd_holdfast_remove(port.id(), 1), 0);
    ASSERT_EQ(heard.wait_for(7), Switches::Event(1, 0, RTE_PMD_HOLDFAST_BY_HAND));
    EXPECT_TRUE(always([&] { return heard.all().size() == 8; }, 50ms));
}

TEST_F(Membership, AListenerMayEndItself) {
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_TRUE(up(port));
    static std::atomic<int> calls;
    calls = 0;
    const auto once = [](std::uint16_t id, int, int, int, void *arg) {
        calls++;
        EXPECT_EQ(rte_pmd_holdfast_callback_unregister(id, *static_cast<rte_pmd_holdfast_switch_fn *>(arg), arg), 0);
    };
    rte_pmd_holdfast_switch_fn function = once;
    ASSERT_EQ(rte_pmd_holdfast_callback_register(port.id(), function, &function), 0);
    ASSERT_EQ(rte_pmd_holdfast_switch(port.id(), 1), 0);
    EXPECT_TRUE(eventually([&] { return calls == 1; }));
    ASSERT_EQ(rte_pmd_holdfast_switch(port.id(), 0), 0);
    EXPECT_TRUE(always([&] { return calls == 1; }, 50ms));
    EXPECT_EQ(rte_pmd_holdfast_callback_unregister(port.id(), function, &function), -ENOENT);
}

// Threads that give orders, an lcore, and links that flap.
TEST_F(Membership, OrdersOfManyThreadsUnderTrafficEndInOrder) {
    Mayfly a, b, c;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    ASSERT_TRUE(up(port));
    std::atomic<bool> over{false};
    std::atomic<unsigned> switched{0}, added{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        while (!over.load()) {
            (void)send(port, 4);
            (void)receive(port);
        }
    });
    for (std::uint8_t t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            while (!over.load()) {
                switched += rte_pmd_holdfast_switch(port.id(), t) == 0 ? 1 : 0;
                (void)rte_pmd_holdfast_unpin(port.id());
            }
        });
    threads.emplace_back([&] {
        while (!over.load()) {
            const int place = add(port, c);
            added += place == 2 ? 1 : 0;
            (void)eventually([&] { return port.joined(2); }, 1s);
            (void)rte_pmd_holdfast_drop(port.id(), 2);
        }
    });
    for (int i = 0; i < 200; i++) {
        a.link(i % 2 != 0);
        std::this_thread::sleep_for(2ms);
    }
    over = true;
    for (std::thread &t : threads)
        t.join();
    EXPECT_GT(switched.load(), 10U);
    EXPECT_GT(added.load(), 1U);
    EXPECT_TRUE(eventually([&] { return port.joined(0) && port.joined(1) && !c.there(); }));
    expect_no_late_access({&a, &b, &c});
}

} // namespace
} // namespace holdfast::test
