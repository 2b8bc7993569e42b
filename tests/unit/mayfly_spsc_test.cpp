// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/generate.h"
#include "mayfly/spsc.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::mayfly {
namespace {

struct Packet {
    std::uint64_t number;
};
using Ring = Spsc<Packet, 8>;

TEST(MayflySpsc, KeepsOrderAndItsLimit) {
    Ring ring;
    Packet packets[8];
    Packet *in[8];
    for (std::size_t i = 0; i < 8; i++)
        in[i] = &packets[i];
    EXPECT_EQ(ring.room(5), 5u);
    ring.push(in, 5);
    EXPECT_EQ(ring.room(5), 0u);
    EXPECT_EQ(ring.room(8), 3u);
    EXPECT_EQ(ring.waiting(), 5u);
    Packet *out[8];
    ASSERT_EQ(ring.pop(out, 3), 3u);
    EXPECT_EQ(out[0], in[0]);
    EXPECT_EQ(out[2], in[2]);
    ring.push(in + 5, 3);
    ASSERT_EQ(ring.pop(out, 8), 5u);
    EXPECT_EQ(out[0], in[3]);
    EXPECT_EQ(out[4], in[7]);
    EXPECT_EQ(ring.pop(out, 8), 0u);
}

TEST(MayflySpsc, HammerLosesAndDoublesNothing) {
    Ring ring;
    std::vector<Packet> packets(64);
    std::atomic<bool> stop{false};
    std::uint64_t sent = 0;
    std::thread writer([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            const std::uint32_t room = ring.room(8);
            for (std::uint32_t i = 0; i < room; i++) {
                Packet *packet = &packets[sent % packets.size()]; // at most 8 wait, so none is written while it waits
                packet->number = sent++;
                ring.push(&packet, 1);
            }
            if (room == 0)
                std::this_thread::yield();
        }
    });
    std::uint64_t got = 0;
    std::uint64_t wrong = 0;
    std::uint64_t meetings = 0;
    const auto read = [&] {
        Packet *out[4];
        const std::uint32_t n = ring.pop(out, 4);
        for (std::uint32_t i = 0; i < n; i++)
            wrong += out[i]->number == got++ ? 0 : 1;
        return n;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end) {
        if (read() != 0)
            meetings++;
        else
            std::this_thread::yield();
    }
    stop.store(true, std::memory_order_relaxed);
    writer.join();
    while (read() != 0) {}
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(got, sent);
    EXPECT_GT(meetings, 0u) << "the threads never met, so this run says nothing";
}

TEST(MayflyGenerate, WithoutARateEverythingIsDue) {
    std::uint64_t next = 0;
    EXPECT_EQ(due(1000, 0, 100, next, 32), 32);
}

TEST(MayflyGenerate, KeepsTheRateWhateverTheBurstSize) {
    std::uint64_t next = 0;
    std::uint64_t made = 0;
    for (std::uint64_t now = 0; now < 100'000; now += 37)
        made += due(now, 100, 10'000, next, 4);
    EXPECT_NEAR(static_cast<double>(made), 1000.0, 1.0);
}

TEST(MayflyGenerate, ForgetsWhatAStoppedLcoreIsTooFarBehindWith) {
    std::uint64_t next = 0;
    EXPECT_EQ(due(1'000'000, 100, 1000, next, 64), 11) << "a backlog of 1000 cycles is ten packets and the one due now";
    EXPECT_EQ(due(1'000'000, 100, 1000, next, 64), 0);
}

} // namespace
} // namespace holdfast::mayfly
