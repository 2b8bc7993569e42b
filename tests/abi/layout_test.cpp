// SPDX-License-Identifier: BSD-3-Clause
// The layout check against a live EAL: it is silent with the true offsets, and names the field when one offset is
// wrong.
#include "abi/driver_abi.h"

#include <gmock/gmock.h>

#include <rte_bus_vdev.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace holdfast::abi {
namespace {

/// What one wrong offset gave.
struct Outcome {
    std::string field;
    std::ptrdiff_t shift = 0;
    std::string named; ///< empty: the check saw nothing
    bool restored = false;
};

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const void *where, std::size_t size) {
    const auto *begin = static_cast<const std::byte *>(where);
    return {begin, begin + size};
}

/// All that the check may touch.
struct Snapshot {
    Bytes dev, data, vdev;
    bool valid;

    Snapshot(const rte_eth_dev &d, const rte_vdev_device &v)
        : dev(bytes_of(&d, sizeof d)), data(bytes_of(d.data, sizeof *d.data)), vdev(bytes_of(&v, sizeof v)),
          valid(rte_eth_dev_is_valid_port(d.data->port_id) != 0) {}
    bool operator==(const Snapshot &) const = default;
};

std::size_t size_of(Field::Owner owner) {
    switch (owner) {
    case Field::Owner::kDevice:
        return sizeof(rte_eth_dev);
    case Field::Owner::kData:
        return sizeof(rte_eth_dev_data);
    case Field::Owner::kOps:
        return sizeof(eth_dev_ops);
    case Field::Owner::kVdev:
        return sizeof(rte_vdev_device);
    case Field::Owner::kBusDevice:
        return sizeof(rte_device);
    case Field::Owner::kBusDriver:
        return sizeof(rte_driver);
    case Field::Owner::kDeviceSize:
        return 2 * sizeof(rte_eth_dev);
    }
    return 0;
}

/// The shifts of a field that stay inside its struct.
std::vector<std::ptrdiff_t> shifts_of(const Field &field) {
    std::vector<std::ptrdiff_t> shifts;
    for (const std::ptrdiff_t shift :
         {1, 2, 4, 8, 16, 24, 32, 64, 128, 512, -1, -2, -4, -8, -16, -24, -32, -64, -128, -512}) {
        const auto moved = static_cast<std::ptrdiff_t>(field.offset) + shift;
        if (moved >= 0 && moved < static_cast<std::ptrdiff_t>(size_of(field.owner)))
            shifts.push_back(shift);
    }
    return shifts;
}

/// Offsets anywhere in the struct: every word of it.
std::vector<std::ptrdiff_t> everywhere(const Field &field) {
    std::vector<std::ptrdiff_t> shifts;
    for (std::size_t to = 0; to < size_of(field.owner); to += 8)
        if (to != field.offset)
            shifts.push_back(static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(field.offset));
    return shifts;
}

enum class Mode { kTrue, kShifts, kEverywhere };

/// What the probe of our driver should do, and what it found. The bus calls the probe, as it calls that of a real
/// driver.
struct Job {
    Mode mode = Mode::kTrue;
    std::vector<Outcome> outcomes;
    std::string wrong; ///< of the true offsets
    bool restored = false;
} g_job;

int probe(rte_vdev_device *vdev) {
    rte_eth_dev *dev = rte_eth_dev_allocate(rte_dev_name(&vdev->device));
    if (dev == nullptr)
        return -ENOMEM;
    dev->device = &vdev->device;
    const Snapshot before(*dev, *vdev);

    const Status status = check_layout(*dev, *vdev);
    g_job.wrong = status.ok() ? "" : status.what();
    g_job.restored = Snapshot(*dev, *vdev) == before;

    if (g_job.mode == Mode::kShifts || g_job.mode == Mode::kEverywhere) {
        const std::vector<Field> right(fields().begin(), fields().end());
        for (std::size_t i = 0; i < right.size(); i++) {
            for (const std::ptrdiff_t shift :
                 g_job.mode == Mode::kShifts ? shifts_of(right[i]) : everywhere(right[i])) {
                std::vector<Field> shifted = right;
                shifted[i].offset = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(right[i].offset) + shift);
                const Status s = check_layout(*dev, *vdev, shifted);
                g_job.outcomes.push_back({.field = right[i].name,
                                          .shift = shift,
                                          .named = s.ok() ? "" : s.what(),
                                          .restored = Snapshot(*dev, *vdev) == before});
            }
        }
    }
    rte_eth_dev_release_port(dev);
    return -ENODEV; // nothing is left to be removed
}

int remove(rte_vdev_device *) {
    return 0;
}

class Layout : public testing::Test {
  protected:
    void SetUp() override {
        g_job = {};
        driver_.driver.name = "holdfast_layout";
        driver_.probe = &probe;
        driver_.remove = &remove;
        rte_vdev_register(&driver_);
    }
    void TearDown() override { rte_vdev_unregister(&driver_); }

    static void run(Mode mode, const char *name = "holdfast_layout0") {
        g_job.mode = mode;
        rte_vdev_init(name, "");
    }

    /// Counts, prints and expects that all were caught.
    static void expect_all_caught(const char *what) {
        std::size_t caught = 0;
        std::size_t named = 0;
        std::set<std::string> seen;
        for (const Outcome &o : g_job.outcomes) {
            caught += o.named.empty() ? 0 : 1;
            named += o.named == o.field ? 1 : 0;
            seen.insert(o.field);
            EXPECT_EQ(o.named, o.field) << o.field << " shifted by " << o.shift;
            EXPECT_TRUE(o.restored) << o.field << " shifted by " << o.shift << " was not taken back";
        }
        std::printf("%s: %zu of %zu caught, %zu of them named the field; %zu fields\n", what, caught,
                    g_job.outcomes.size(), named, seen.size());
        EXPECT_EQ(caught, g_job.outcomes.size());
        EXPECT_EQ(seen.size(), fields().size());
    }

  private:
    rte_vdev_driver driver_{};
};

TEST_F(Layout, IsSilentWithTheTrueOffsetsAndLeavesThePortAsItWas) {
    run(Mode::kTrue);
    EXPECT_EQ(g_job.wrong, "");
    EXPECT_TRUE(g_job.restored);
}

TEST_F(Layout, IsSilentForAPortThatIsNotTheFirst) {
    ASSERT_EQ(rte_vdev_init("net_null_first", ""), 0);
    run(Mode::kTrue);
    EXPECT_EQ(g_job.wrong, "");
    EXPECT_TRUE(g_job.restored);
    EXPECT_EQ(rte_vdev_uninit("net_null_first"), 0);
}

TEST_F(Layout, NamesEachShiftedFieldAndTakesEverythingBack) {
    run(Mode::kShifts);
    EXPECT_EQ(g_job.wrong, "");
    expect_all_caught("shifts");
}

TEST_F(Layout, NamesAFieldThatIsAtAnyOtherWordOfItsStruct) {
    run(Mode::kEverywhere);
    EXPECT_EQ(g_job.wrong, "");
    expect_all_caught("other words");
}

TEST_F(Layout, NamesEachShiftedFieldOfAPortThatIsNotTheFirst) {
    ASSERT_EQ(rte_vdev_init("net_null_first", ""), 0);
    run(Mode::kShifts);
    expect_all_caught("shifts, second port");
    EXPECT_EQ(rte_vdev_uninit("net_null_first"), 0);
}

TEST_F(Layout, RefusesAListThatIsNotOurs) {
    std::vector<Field> none;
    rte_eth_dev dev{};
    rte_vdev_device vdev{};
    EXPECT_EQ(check_layout(dev, vdev, none).code(), -EINVAL);
}

/// An application's callback on all ports must hear nothing of the check.
TEST_F(Layout, RaisesNoEvent) {
    static int heard;
    heard = 0;
    const auto hear = [](std::uint16_t, rte_eth_event_type, void *, void *) { return ++heard; };
    const rte_eth_dev_cb_fn fn = hear;
    for (int event = RTE_ETH_EVENT_UNKNOWN; event < RTE_ETH_EVENT_MAX; event++)
        ASSERT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, static_cast<rte_eth_event_type>(event), fn, nullptr), 0);
    run(Mode::kTrue);
    EXPECT_EQ(g_job.wrong, "");
    EXPECT_TRUE(g_job.restored);
    EXPECT_EQ(heard, 0);
    for (int event = RTE_ETH_EVENT_UNKNOWN; event < RTE_ETH_EVENT_MAX; event++)
        EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, static_cast<rte_eth_event_type>(event), fn, nullptr), 0);
}

} // namespace
} // namespace holdfast::abi
