// SPDX-License-Identifier: BSD-3-Clause
#include "port/switch_listeners.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

constexpr PortId kPort{3};

void count(std::uint16_t, int, int, int, void *arg) {
    static_cast<std::atomic<int> *>(arg)->fetch_add(1);
}

std::vector<SwitchEvent> events(int n) {
    return std::vector<SwitchEvent>(static_cast<std::size_t>(n));
}

TEST(SwitchListeners, EachHearsEachSwitchInOrder) {
    SwitchListeners listeners;
    static std::vector<std::vector<int>> heard;
    heard.clear();
    const auto note = [](std::uint16_t port, int from, int to, int why, void *) {
        heard.push_back({port, from, to, why});
    };
    ASSERT_TRUE(listeners.add(note, nullptr));
    EXPECT_FALSE(listeners.add(note, nullptr));
    listeners.tell(kPort, {{.from = SubIndex{}, .to = SubIndex{2}, .why = SwitchWhy::kFirst},
                           {.from = SubIndex{2}, .to = SubIndex{}, .why = SwitchWhy::kLink}});
    EXPECT_EQ(heard, (std::vector<std::vector<int>>{{3, -1, 2, 4}, {3, 2, -1, 1}}));
    EXPECT_TRUE(listeners.remove(note, nullptr));
    EXPECT_FALSE(listeners.remove(note, nullptr));
    listeners.tell(kPort, events(1));
    EXPECT_EQ(heard.size(), 2U);
}

TEST(SwitchListeners, OneMayBeTakenOutByAnotherThatIsCalled) {
    SwitchListeners listeners;
    struct Both {
        SwitchListeners &listeners;
        std::atomic<int> second{0};
    } both{listeners};
    const auto first = [](std::uint16_t, int, int, int, void *arg) {
        auto &b = *static_cast<Both *>(arg);
        EXPECT_TRUE(b.listeners.remove(count, &b.second));
    };
    listeners.add(first, &both);
    listeners.add(count, &both.second);
    listeners.tell(kPort, events(1));
    EXPECT_EQ(both.second, 0);
}

// Whoever took a listener out may free what it used.
TEST(SwitchListeners, RemoveWaitsForACallThatIsUnderWay) {
    struct Slow {
        std::atomic<bool> inside{false}, go{false};
        int plain = 0;
    };
    for (int round = 0; round < 50; round++) {
        SwitchListeners listeners;
        Slow slow;
        const auto wait = [](std::uint16_t, int, int, int, void *arg) {
            auto &s = *static_cast<Slow *>(arg);
            s.inside = true;
            while (!s.go)
                std::this_thread::yield();
            s.plain++;
        };
        listeners.add(wait, &slow);
        std::thread teller([&] { listeners.tell(kPort, events(1)); });
        while (!slow.inside)
            std::this_thread::yield();
        std::thread opener([&] { slow.go = true; });
        EXPECT_TRUE(listeners.remove(wait, &slow));
        EXPECT_EQ(slow.plain, 1);
        slow.plain = 0; // a race, if it were still being called
        opener.join();
        teller.join();
    }
}

} // namespace
} // namespace holdfast
