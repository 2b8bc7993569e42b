// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::mayfly {
namespace {

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(maps, line);)
        lines++;
    return lines;
}

/// May the page be read? Asks the kernel, which does not fault.
bool readable(const void *page) {
    unsigned char resident = 0;
    if (mincore(const_cast<void *>(page), 1, &resident) != 0)
        return false;
    const int null = memfd_create("probe", 0);
    const bool ok = write(null, page, 1) == 1;
    ::close(null);
    return ok;
}

TEST(MayflyArena, GivesZeroedPagesThatFaultOnceClosed) {
    Arena arena(16, 2);
    auto *page = static_cast<char *>(arena.take());
    ASSERT_NE(page, nullptr);
    for (std::size_t i = 0; i < arena.page_size(); i++)
        ASSERT_EQ(page[i], 0);
    std::memset(page, 1, arena.page_size());
    EXPECT_TRUE(readable(page));
    arena.close(page);
    EXPECT_FALSE(readable(page));
    EXPECT_TRUE(arena.owns(page)) << "the addresses stay reserved";
}

TEST(MayflyArena, DoesNotHandOutAClosedPageBeforeAllOthersWereUsed) {
    Arena arena(8, 4);
    std::set<void *> seen;
    for (int i = 0; i < 32; i++) {
        void *page = arena.take();
        ASSERT_NE(page, nullptr);
        EXPECT_TRUE(seen.insert(page).second) << "page " << i << " came twice";
        arena.close(page);
    }
    EXPECT_TRUE(seen.contains(arena.take())) << "after the last address the first comes again";
}

TEST(MayflyArena, PassesByLivePagesWhenAddressesComeAgain) {
    Arena arena(4, 1);
    void *kept = arena.take();
    for (int i = 0; i < 20; i++) {
        void *page = arena.take();
        ASSERT_NE(page, nullptr);
        ASSERT_NE(page, kept);
        arena.close(page);
    }
    EXPECT_TRUE(readable(kept));
}

TEST(MayflyArena, SaysNoWhenEveryPageIsLive) {
    Arena arena(2, 1);
    EXPECT_NE(arena.take(), nullptr);
    EXPECT_NE(arena.take(), nullptr);
    EXPECT_EQ(arena.take(), nullptr);
}

TEST(MayflyArena, CostsNoMappingsForPagesThatWereClosed) {
    Arena arena;
    const std::size_t before = mappings();
    for (int life = 0; life < 200; life++) {
        std::vector<void *> queues;
        for (int i = 0; i < 32; i++)
            queues.push_back(arena.take());
        for (void *page : queues)
            std::memset(page, 1, arena.page_size());
        for (void *page : queues)
            arena.close(page);
    }
    EXPECT_LT(mappings(), before + 64) << "closed pages must melt into one mapping";
}

} // namespace
} // namespace holdfast::mayfly
