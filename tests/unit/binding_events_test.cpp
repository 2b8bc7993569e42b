// SPDX-License-Identifier: BSD-3-Clause
// What happens to a device while it is bound or restored, and each operation failing once.
#include "hotplug/binding.h"
#include "unit/binding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

namespace holdfast {
namespace {

using test::FakePci;
using testing::ElementsAre;
using testing::IsEmpty;

class BindingEvents : public test::BindingRig {
  protected:
    BindingEvents() { again(); }
    /// Starts from the begin.
    void again() {
        pci_.forget_traps();
        binding_.reset();
        pci_ = FakePci();
        for (const char *driver : {"igb", "vfio-pci"})
            pci_.add_driver(driver);
        for (const char *address : {kAddress, kOther})
            pci_.add_device(address, "igb");
        pci_.set_file(FakePci::device(kAddress) + "/sriov_numvfs", "0");
        pci_.add_netdev(kAddress, "eth3", 7);
        pci_.add_upper(FakePci::device(kAddress) + "/net/eth3", "eth3.100", 8);
        make();
    }
};

TEST_F(BindingEvents, EachOperationThatFailsLeavesTheDeviceAsItWas) {
    int failures = 0;
    for (const char *operation : {"read", "write", "link", "list", "uses"})
        for (int n = 1;; n++) {
            again();
            const auto before = pci_.all();
            bool hit = false;
            pci_.before(operation, "", n, [&] {
                hit = true;
                return -EIO;
            });
            const int rc = bind();
            if (!hit) {
                EXPECT_EQ(rc, 0) << operation << " " << n;
                break;
            }
            failures++;
            EXPECT_NE(rc, 0) << operation << " " << n;
            EXPECT_EQ(pci_.all(), before) << operation << " " << n << ": " << reason_;
            EXPECT_FALSE(binding_->holds()) << operation << " " << n;
        }
    EXPECT_GE(failures, 15);
}

TEST_F(BindingEvents, EachOperationThatFailsWhenRestoringIsDoneAgain) {
    int failures = 0;
    for (const char *operation : {"read", "write", "link"})
        for (int n = 1;; n++) {
            again();
            const auto before = pci_.all();
            ASSERT_EQ(bind(), 0) << reason_;
            bool hit = false;
            pci_.before(operation, "", n, [&] {
                hit = true;
                return -EIO;
            });
            const int rc = restore();
            if (!hit) {
                EXPECT_EQ(rc, 0) << operation << " " << n;
                break;
            }
            failures++;
            EXPECT_EQ(rc, -EIO) << operation << " " << n;
            EXPECT_FALSE(what_.empty());
            EXPECT_TRUE(binding_->holds()) << operation << " " << n;
            EXPECT_EQ(restore(), 0) << operation << " " << n;
            EXPECT_EQ(pci_.all(), before) << operation << " " << n;
        }
    EXPECT_GE(failures, 7);
}

TEST_F(BindingEvents, ADeviceThatVanishesAtAnyTimeIsSaidToBeGone) {
    for (int n = 1;; n++) {
        again();
        bool hit = false;
        pci_.before("", "", n, [&] {
            hit = true;
            pci_.remove_device(kAddress);
            return std::nullopt;
        });
        const int rc = bind();
        if (!hit) {
            EXPECT_EQ(rc, 0);
            EXPECT_GT(n, 20);
            break;
        }
        EXPECT_EQ(rc, -ENODEV) << n << ": " << reason_;
        EXPECT_EQ(reason_, n == 1 ? "there is no PCI device 0000:01:00.0" : "0000:01:00.0 has vanished") << n;
        EXPECT_FALSE(binding_->holds());
        pci_.writes.clear();
        binding_.reset();
        EXPECT_THAT(pci_.writes, IsEmpty());
    }
}

TEST_F(BindingEvents, AVanishedDeviceNeedsNothing) {
    for (int n = 0;; n++) {
        again();
        ASSERT_EQ(bind(), 0);
        pci_.writes.clear();
        bool hit = n == 0;
        if (n == 0)
            pci_.remove_device(kAddress);
        else
            pci_.before("", "", n, [&] {
                hit = true;
                pci_.remove_device(kAddress);
                return std::nullopt;
            });
        EXPECT_EQ(restore(), 0) << n << ": " << reason_;
        EXPECT_FALSE(binding_->holds()) << n;
        if (n == 0) {
            EXPECT_THAT(pci_.writes, IsEmpty());
        }
        if (!hit) {
            EXPECT_GT(n, 7);
            break;
        }
    }
}

TEST_F(BindingEvents, ADeviceThatCameAnewAtTheAddressIsNotTouched) {
    ASSERT_EQ(bind(), 0);
    pci_.remove_device(kAddress);
    pci_.add_device(kAddress, "igb");
    pci_.set_driver(kAddress, "vfio-pci"); // whoever did that
    pci_.writes.clear();
    EXPECT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, IsEmpty());
    EXPECT_FALSE(binding_->holds());
}

TEST_F(BindingEvents, ADeviceThatCameAnewAtTheAddressIsBoundAnew) {
    ASSERT_EQ(bind(), 0);
    pci_.remove_device(kAddress);
    pci_.add_device(kAddress, "igb");
    pci_.writes.clear();
    ASSERT_EQ(bind(), 0) << reason_;
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFromIgb, kToVfio));
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingEvents, WhatSomebodyElseMadeOfTheDeviceStays) {
    pci_.add_driver("e1000");
    ASSERT_EQ(bind(), 0);
    pci_.set_driver(kAddress, "e1000");
    pci_.writes.clear();
    EXPECT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, ElementsAre(kFree)) << "the override is ours";
    EXPECT_EQ(pci_.driver(kAddress), "e1000");

    again();
    ASSERT_EQ(bind(), 0);
    pci_.set_file(kOverrideFile, "e1000");
    pci_.set_driver(kAddress, "e1000");
    pci_.writes.clear();
    EXPECT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, IsEmpty());
    EXPECT_EQ(pci_.override(kAddress), "e1000");
}

TEST_F(BindingEvents, ADeviceThatSomebodyUnboundGetsItsOldDriver) {
    ASSERT_EQ(bind(), 0);
    pci_.set_driver(kAddress, "");
    pci_.writes.clear();
    EXPECT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, ElementsAre(kFree, kToIgb));
    expect_as_before();
}

TEST_F(BindingEvents, ADeviceThatHasItsOldDriverAgainKeepsIt) {
    ASSERT_EQ(bind(), 0);
    pci_.set_driver(kAddress, "igb");
    pci_.writes.clear();
    EXPECT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, ElementsAre(kFree));
    expect_as_before();
}

TEST_F(BindingEvents, AnOldDriverThatWasUnloadedIsSaid) {
    ASSERT_EQ(bind(), 0);
    pci_.remove_driver("igb");
    EXPECT_EQ(restore(), -ENOENT);
    EXPECT_EQ(reason_, "0000:01:00.0 cannot be given back to igb, which is not loaded any more");
    EXPECT_EQ(pci_.override(kAddress), "(null)") << "so it finds the device when it is loaded";
    EXPECT_EQ(pci_.driver(kAddress), "");
    pci_.add_driver("igb");
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingEvents, ADriverThatComesMeanwhileIsNotTakenUnchecked) {
    // The kernel's probe of a new device ends after we have looked at it.
    pci_.set_driver(kAddress, "");
    pci_.before("write", kOverrideFile, 1, [&] {
        pci_.set_driver(kAddress, "igb");
        return std::nullopt;
    });
    EXPECT_EQ(bind(), -EAGAIN);
    EXPECT_EQ(reason_, "0000:01:00.0 was given to igb meanwhile");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFree));
    expect_as_before();
    EXPECT_EQ(bind(), 0) << "the next time";
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingEvents, ADriverThatGoesMeanwhileStaysAway) {
    pci_.before("write", kOverrideFile, 1, [&] {
        pci_.set_driver(kAddress, "");
        return std::nullopt;
    });
    EXPECT_EQ(bind(), -EAGAIN);
    EXPECT_EQ(reason_, "0000:01:00.0 lost its driver igb meanwhile");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFree));
    EXPECT_EQ(pci_.driver(kAddress), "");
    EXPECT_FALSE(binding_->holds());
}

TEST_F(BindingEvents, WhoBindsItMeanwhileToTheSameDriverKeepsIt) {
    pci_.before("write", kOverrideFile, 1, [&] {
        pci_.set_driver(kAddress, "vfio-pci");
        return std::nullopt;
    });
    EXPECT_EQ(bind(), -EAGAIN);
    EXPECT_EQ(reason_, "0000:01:00.0 was given to vfio-pci meanwhile");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFree));
    EXPECT_EQ(pci_.driver(kAddress), "vfio-pci");
    EXPECT_EQ(bind(), 0);
    EXPECT_FALSE(binding_->holds());
}

TEST_F(BindingEvents, WhoGivesItToAnotherDriverBetweenTheStepsKeepsIt) {
    pci_.add_driver("e1000");
    pci_.before("write", "bus/pci/drivers/igb/unbind", 1, [&] {
        pci_.set_driver(kAddress, "e1000");
        return std::nullopt;
    });
    EXPECT_EQ(bind(), -EAGAIN);
    EXPECT_EQ(reason_, "0000:01:00.0 cannot be unbound from igb: Resource temporarily unavailable");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFromIgb, kFree));
    EXPECT_EQ(pci_.driver(kAddress), "e1000");
    EXPECT_FALSE(binding_->holds());
}

} // namespace
} // namespace holdfast
