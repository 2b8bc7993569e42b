// SPDX-License-Identifier: BSD-3-Clause
#include "abi/driver_abi.h"

#include <gmock/gmock.h>

#include <rte_bus_vdev.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::abi {
namespace {

int no_probe(rte_vdev_device *) {
    return -ENODEV;
}

int no_remove(rte_vdev_device *) {
    return 0;
}

/// A driver in the bus's list for the time of a test.
class Driver {
  public:
    explicit Driver(const char *name, const char *alias = nullptr) {
        driver_.driver.name = name;
        driver_.driver.alias = alias;
        driver_.probe = &no_probe;
        driver_.remove = &no_remove;
        rte_vdev_register(&driver_);
    }
    ~Driver() { rte_vdev_unregister(&driver_); }
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

    [[nodiscard]] const rte_vdev_driver &raw() const { return driver_; }

  private:
    rte_vdev_driver driver_{};
};

TEST(Registration, ADriverAloneWithItsNameIsFine) {
    const Driver mine("hf_alone");
    EXPECT_FALSE(registered_twice(mine.raw()));
    EXPECT_EQ(clashing_driver(mine.raw()), nullptr);
}

TEST(Registration, FindsTheDriverThatWasThereFirst) {
    const Driver first("hf_twice");
    const Driver other("hf_other");
    const Driver second("hf_twice");
    EXPECT_TRUE(registered_twice(second.raw()));
    EXPECT_EQ(clashing_driver(second.raw()), &first.raw());
}

TEST(Registration, TheFirstSeesTheSecond) {
    const Driver first("hf_twice");
    const Driver other("hf_other");
    const Driver second("hf_twice");
    EXPECT_EQ(clashing_driver(first.raw()), &second.raw());
    EXPECT_EQ(clashing_driver(other.raw()), nullptr);
}

TEST(Registration, FindsANameThatOursBeginsWith) {
    const Driver shorter("hf_pre");
    const Driver mine("hf_prefix");
    EXPECT_EQ(clashing_driver(mine.raw()), &shorter.raw());
}

TEST(Registration, FindsANameThatBeginsWithOurs) {
    const Driver longer("hf_prefix");
    const Driver mine("hf_pre");
    EXPECT_EQ(clashing_driver(mine.raw()), &longer.raw());
}

TEST(Registration, LooksAtAliasesToo) {
    const Driver theirs("hf_something", "hf_alias");
    const Driver mine("hf_alias");
    EXPECT_EQ(clashing_driver(mine.raw()), &theirs.raw());
    const Driver both("hf_quite", "hf_some");
    EXPECT_EQ(clashing_driver(both.raw()), &theirs.raw());
}

TEST(Registration, ADriverThatIsGoneIsNoClash) {
    auto first = std::make_unique<Driver>("hf_gone");
    const Driver second("hf_gone");
    EXPECT_TRUE(registered_twice(second.raw()));
    first.reset();
    EXPECT_FALSE(registered_twice(second.raw()));
}

TEST(Registration, FindsDpdksOwnDriverByItsName) {
    // The drivers of DPDK's own modules come first in the list: the walk goes all the way back.
    const Driver mine("net_null");
    const rte_vdev_driver *found = clashing_driver(mine.raw());
    ASSERT_NE(found, nullptr);
    EXPECT_STREQ(found->driver.name, "net_null");
}

// Why this matters: the bus asks the first driver whose name a device's name begins with.
TEST(Registration, TheBusGivesADeviceToTheFirstDriverWhosePrefixFits) {
    static int asked;
    asked = 0;
    rte_vdev_driver shorter{};
    shorter.driver.name = "hf_wh";
    shorter.probe = [](rte_vdev_device *) { return ++asked, -ENODEV; };
    shorter.remove = &no_remove;
    rte_vdev_register(&shorter);
    {
        const Driver mine("hf_who");
        EXPECT_LT(rte_vdev_init("hf_who0", ""), 0);
    }
    rte_vdev_unregister(&shorter);
    EXPECT_EQ(asked, 1);
}

TEST(Registration, ManyDriversAreWalkedToTheEnd) {
    std::vector<std::string> names;
    for (char a = 'a'; a <= 'z'; a++)
        names.push_back(std::string("hf_many_") + a);
    std::vector<std::unique_ptr<Driver>> drivers;
    for (const std::string &name : names)
        drivers.push_back(std::make_unique<Driver>(name.c_str()));
    for (const auto &driver : drivers)
        EXPECT_FALSE(registered_twice(driver->raw()));
    const Driver again("hf_many_a");
    EXPECT_EQ(clashing_driver(again.raw()), &drivers.front()->raw());
}

} // namespace
} // namespace holdfast::abi
