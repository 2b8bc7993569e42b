// SPDX-License-Identifier: BSD-3-Clause
#include "base/mutex.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// What another thread would get. (Clang's analysis follows one thread only, so it is told to look away here.)
bool free_for_another(Mutex &mutex) HOLDFAST_TSA(no_thread_safety_analysis) {
    bool got = false;
    std::thread other([&]() HOLDFAST_TSA(no_thread_safety_analysis) {
        got = mutex.try_lock();
        if (got)
            mutex.unlock();
    });
    other.join();
    return got;
}

bool free_in_time(Mutex &mutex, std::chrono::milliseconds limit) HOLDFAST_TSA(no_thread_safety_analysis) {
    bool got = false;
    std::thread other([&]() HOLDFAST_TSA(no_thread_safety_analysis) {
        got = mutex.try_lock_for(limit);
        if (got)
            mutex.unlock();
    });
    other.join();
    return got;
}

TEST(Mutex, KeepsOthersOutWhileItIsHeld) {
    Mutex mutex;
    EXPECT_TRUE(free_for_another(mutex));
    {
        const Locked held(mutex);
        EXPECT_FALSE(free_for_another(mutex));
    }
    EXPECT_TRUE(free_for_another(mutex));
}

TEST(Mutex, WaitsNoLongerThanItIsTold) {
    Mutex mutex;
    const Locked held(mutex);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(free_in_time(mutex, 20ms));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
}

TEST(Mutex, IsGotWhenItIsFreedInTime) {
    Mutex mutex;
    EXPECT_TRUE(free_in_time(mutex, 10s));
}

TEST(Mutex, ExcludesUnderLoad) {
    Mutex mutex;
    int value = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; i++) {
                const Locked held(mutex);
                value++;
            }
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(value, 4 * 5000);
}

} // namespace
} // namespace holdfast
