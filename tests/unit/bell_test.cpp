// SPDX-License-Identifier: BSD-3-Clause
#include "port/bell.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class BellTest : public testing::Test {
    struct alignas(Bell) Memory : std::array<std::byte, sizeof(Bell)> {};
    const std::unique_ptr<Memory> memory_ = std::make_unique<Memory>(); // before what lies in it

  protected:
    /// As the driver makes it: in memory that comes zeroed.
    Bell &bell_ = *std::launder(reinterpret_cast<Bell *>(memory_->data()));
};

TEST_F(BellTest, WithoutListenersEverythingIsHeard) {
    EXPECT_TRUE(bell_.heard(bell_.ring()));
}

TEST_F(BellTest, AListenerHearsWhatItSaysItHasDone) {
    const unsigned place = bell_.join(7);
    const Bell::Turn turn = bell_.ring();
    EXPECT_FALSE(bell_.heard(turn));
    EXPECT_TRUE(bell_.done(place, 7, turn));
    EXPECT_TRUE(bell_.heard(turn));
    EXPECT_FALSE(bell_.heard(bell_.ring()));
}

// It has not looked yet, so the primary must not take it for one that has.
TEST_F(BellTest, ANewListenerHasNotHeardTheLastRing) {
    const Bell::Turn turn = bell_.ring();
    (void)bell_.join(7);
    EXPECT_FALSE(bell_.heard(turn));
}

TEST_F(BellTest, TheSlowestListenerCounts) {
    const unsigned first = bell_.join(7);
    const unsigned second = bell_.join(8);
    const Bell::Turn turn = bell_.ring();
    EXPECT_TRUE(bell_.done(first, 7, turn));
    EXPECT_FALSE(bell_.heard(turn));
    bell_.leave(second, 8);
    EXPECT_TRUE(bell_.heard(turn));
}

TEST_F(BellTest, AListenerThatWasKilledIsGivenUpAndOthersAreNot) {
    const unsigned alive = bell_.join(7);
    const unsigned dead = bell_.join(8);
    const Bell::Turn turn = bell_.ring();
    EXPECT_TRUE(bell_.done(alive, 7, turn));
    bell_.give_up(turn);
    EXPECT_TRUE(bell_.heard(turn));
    EXPECT_TRUE(bell_.done(alive, 7, turn));
    EXPECT_FALSE(bell_.done(dead, 8, turn)) << "it was only slow: it has to know, and to join again";
    EXPECT_FALSE(bell_.heard(bell_.ring())) << "the living one still counts";
}

TEST_F(BellTest, HasRoomForSoManyAndNoMore) {
    for (unsigned i = 0; i < Bell::kListeners; i++)
        EXPECT_EQ(bell_.join(100 + i), i);
    EXPECT_EQ(bell_.join(7), Bell::kListeners);
    bell_.leave(5, 7);
    EXPECT_EQ(bell_.join(7), Bell::kListeners) << "only its owner leaves a place";
    bell_.leave(5, 105);
    EXPECT_EQ(bell_.join(7), 5U);
}

TEST_F(BellTest, WaitsForTheNextRingOnly) {
    const Bell::Turn before = bell_.turn();
    bell_.ring();
    bell_.wait(before, 60s); // it has rung since
    std::atomic<bool> woken{false};
    std::thread listener([&] {
        const Bell::Turn turn = bell_.turn();
        while (bell_.turn() == turn)
            bell_.wait(turn, 60s);
        woken.store(true, std::memory_order_release);
    });
    while (!woken.load(std::memory_order_acquire)) {
        bell_.ring();
        std::this_thread::sleep_for(1ms);
    }
    listener.join();
    bell_.wait(bell_.turn(), 1ms); // and gives up in time
}

} // namespace
} // namespace holdfast
