// SPDX-License-Identifier: BSD-3-Clause
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
using testing::HasSubstr;
using testing::IsEmpty;

using BindingTest = test::BindingRig;

TEST_F(BindingTest, KnowsAPciAddress) {
    for (const char *good : {"0000:00:00.0", "0000:01:00.0", "abcd:ef:1f.7", "ffff:ff:10.3"})
        EXPECT_TRUE(is_pci_address(good)) << good;
    for (const char *bad : {"",
                            "01:00.0",
                            "0000:01:00.8",
                            "0000:01:20.0",
                            "0000:01:00",
                            "0000:01:00.0 ",
                            " 0000:01:00.0",
                            "0000:01:00.0\n",
                            "0000:01:00.00",
                            "10000:01:00.0",
                            "000:01:00.0",
                            "0000-01:00.0",
                            "0000:01-00.0",
                            "0000:01:00:0",
                            "000g:01:00.0",
                            "0000:0G:00.0",
                            "000A:01:00.0",
                            "0000:01:0x.0",
                            "../../../../",
                            "0000:/1:00.0",
                            "0000:01:..../",
                            "vfio-pci"})
        EXPECT_FALSE(is_pci_address(bad)) << bad;
    EXPECT_FALSE(is_pci_address(std::string("0000:01:00.\0", 12)));
    EXPECT_FALSE(is_pci_address(std::string("0000:01:00.0\0", 13)));
}

TEST_F(BindingTest, RefusesWhatIsNoAddressBeforeItBecomesPartOfAPath) {
    int operations = 0;
    for (int i = 1; i < 3; i++)
        pci_.before("", "", i, [&] {
            operations++;
            return std::nullopt;
        });
    EXPECT_EQ(bind("vfio-pci", true, "../../0000:01:00.0"), -EINVAL);
    EXPECT_EQ(reason_, "\"../../0000:01:00.0\" is not a PCI address such as 0000:01:00.0");
    EXPECT_EQ(bind("vfio-pci", true, std::string(60, '\n')), -EINVAL);
    EXPECT_EQ(reason_, "\"" + std::string(40, '?') + "...\" is not a PCI address such as 0000:01:00.0");
    EXPECT_EQ(operations, 0);
}

TEST_F(BindingTest, RefusesOtherDrivers) {
    pci_.add_driver("e1000");
    for (const char *driver : {"", "e1000", "igb", "vfio-pci ", "../vfio-pci", "vfio"}) {
        EXPECT_EQ(bind(driver, true), -EINVAL) << driver;
        EXPECT_EQ(reason_, "\"" + std::string(driver) + "\" is neither vfio-pci nor uio_pci_generic");
    }
    EXPECT_THAT(pci_.writes, IsEmpty());
    expect_as_before();
}

TEST_F(BindingTest, BindsByTheOverrideOfThisDeviceAndGivesItBack) {
    ASSERT_EQ(bind(), 0) << reason_;
    EXPECT_EQ(pci_.driver(kAddress), "vfio-pci");
    EXPECT_TRUE(binding_->holds());
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFromIgb, kToVfio));
    pci_.writes.clear();
    ASSERT_EQ(restore(), 0) << reason_;
    EXPECT_THAT(pci_.writes, ElementsAre(kFree, kFromVfio, kToIgb));
    expect_as_before();
}

TEST_F(BindingTest, BindsToTheOtherDriverForUserSpace) {
    ASSERT_EQ(bind("uio_pci_generic"), 0) << reason_;
    EXPECT_EQ(pci_.driver(kAddress), "uio_pci_generic");
    EXPECT_THAT(pci_.writes, ElementsAre("bus/pci/devices/0000:01:00.0/driver_override=uio_pci_generic", kFromIgb,
                                         "bus/pci/drivers/uio_pci_generic/bind=0000:01:00.0"));
    ASSERT_EQ(restore(), 0) << reason_;
    expect_as_before();
}

TEST_F(BindingTest, GivesItBackAtItsEnd) {
    ASSERT_EQ(bind(), 0);
    pci_.writes.clear();
    binding_.reset();
    EXPECT_THAT(pci_.writes, ElementsAre(kFree, kFromVfio, kToIgb));
    make();
    expect_as_before();
}

TEST_F(BindingTest, GivesItBackOnce) {
    ASSERT_EQ(bind(), 0);
    ASSERT_EQ(restore(), 0);
    pci_.writes.clear();
    EXPECT_TRUE(binding_->restore().ok());
    binding_.reset();
    EXPECT_THAT(pci_.writes, IsEmpty());
}

TEST_F(BindingTest, LeavesADeviceThatHadNoDriverWithoutOne) {
    pci_.set_driver(kAddress, "");
    ASSERT_EQ(bind(), 0) << reason_;
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kToVfio));
    pci_.writes.clear();
    ASSERT_EQ(restore(), 0) << reason_;
    EXPECT_THAT(pci_.writes, ElementsAre(kFree, kFromVfio));
    EXPECT_EQ(pci_.driver(kAddress), "");
    EXPECT_FALSE(binding_->holds());
}

TEST_F(BindingTest, LeavesADeviceAloneThatHasTheDriverAlready) {
    ASSERT_EQ(bind(), 0);
    pci_.writes.clear();
    EXPECT_EQ(bind(), 0) << "ours";
    EXPECT_THAT(pci_.writes, IsEmpty());
    EXPECT_TRUE(binding_->holds());
    ASSERT_EQ(restore(), 0);
    pci_.set_driver(kAddress, "vfio-pci"); // by somebody else
    pci_.writes.clear();
    EXPECT_EQ(bind(), 0);
    EXPECT_FALSE(binding_->holds());
    EXPECT_EQ(restore(), 0);
    binding_.reset();
    EXPECT_THAT(pci_.writes, IsEmpty());
    EXPECT_EQ(pci_.driver(kAddress), "vfio-pci");
}

TEST_F(BindingTest, GivesTheOneBackBeforeItTakesAnother) {
    ASSERT_EQ(bind(), 0);
    pci_.writes.clear();
    ASSERT_EQ(bind("vfio-pci", false, kOther), 0) << reason_;
    EXPECT_THAT(pci_.writes,
                ElementsAre(kFree, kFromVfio, kToIgb, "bus/pci/devices/0000:01:00.1/driver_override=vfio-pci",
                            "bus/pci/drivers/igb/unbind=0000:01:00.1", "bus/pci/drivers/vfio-pci/bind=0000:01:00.1"));
    EXPECT_EQ(pci_.driver(kAddress), "igb");
    EXPECT_EQ(pci_.driver(kOther), "vfio-pci");
    ASSERT_EQ(bind("uio_pci_generic", false, kOther), 0) << reason_;
    EXPECT_EQ(pci_.driver(kOther), "uio_pci_generic");
    ASSERT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingTest, TakesNoOtherOneWhileTheFirstCannotBeGivenBack) {
    ASSERT_EQ(bind(), 0);
    pci_.fail("write", "bus/pci/drivers/vfio-pci/unbind", -EIO);
    EXPECT_EQ(bind("vfio-pci", false, kOther), -EIO);
    EXPECT_EQ(reason_, "0000:01:00.0 cannot be unbound from vfio-pci: Input/output error");
    EXPECT_EQ(pci_.driver(kOther), "igb");
    EXPECT_TRUE(binding_->holds());
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingTest, PutsAnOverrideBackThatWasThereBefore) {
    pci_.set_file(kOverrideFile, "igb");
    ASSERT_EQ(bind(), 0);
    pci_.writes.clear();
    ASSERT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, ElementsAre("bus/pci/devices/0000:01:00.0/driver_override=igb", kFromVfio, kToIgb));
    EXPECT_EQ(pci_.override(kAddress), "igb");
    EXPECT_EQ(pci_.driver(kAddress), "igb");
}

TEST_F(BindingTest, LeavesTheSameOverrideThatWasThereBefore) {
    // As tools leave it that want the driver at the next boot.
    pci_.set_driver(kAddress, "");
    pci_.set_file(kOverrideFile, "vfio-pci");
    ASSERT_EQ(bind(), 0);
    pci_.writes.clear();
    ASSERT_EQ(restore(), 0);
    EXPECT_THAT(pci_.writes, ElementsAre(kFromVfio));
    EXPECT_EQ(pci_.override(kAddress), "vfio-pci");
    EXPECT_EQ(pci_.driver(kAddress), "");
}

TEST_F(BindingTest, ReadsAnEmptyOverrideAsNone) {
    pci_.set_file(kOverrideFile, "");
    ASSERT_EQ(bind(), 0);
    ASSERT_EQ(restore(), 0);
    EXPECT_EQ(pci_.writes.at(3), kFree);
    expect_as_before();
}

// ---- what is not there

TEST_F(BindingTest, SaysThatThereIsNoSuchDevice) {
    EXPECT_EQ(bind("vfio-pci", true, "0000:02:00.0"), -ENODEV);
    EXPECT_EQ(reason_, "there is no PCI device 0000:02:00.0");
    EXPECT_THAT(pci_.writes, IsEmpty());
    EXPECT_FALSE(binding_->holds());
}

TEST_F(BindingTest, SaysThatTheDriverIsNotLoaded) {
    pci_.remove_driver("vfio-pci");
    EXPECT_EQ(bind(), -ENOENT);
    EXPECT_EQ(reason_, "the driver vfio-pci is not loaded");
    EXPECT_THAT(pci_.writes, IsEmpty());
    expect_as_before();
}

TEST_F(BindingTest, IgnoresADriverLinkThatNamesNone) {
    for (const char *target : {"../..", "drivers/", ".", ""}) {
        pci_.set_link(kDriverLink, target);
        EXPECT_EQ(bind(), -EBADMSG) << target;
        EXPECT_EQ(reason_, "which driver 0000:01:00.0 has cannot be read: Bad message");
    }
    EXPECT_THAT(pci_.writes, IsEmpty());
}

// ---- steps that fail

TEST_F(BindingTest, ChangesNothingIfTheOverrideCannotBeRead) {
    pci_.fail("read", kOverrideFile, -EACCES);
    EXPECT_EQ(bind(), -EACCES);
    EXPECT_EQ(reason_, "the driver_override of 0000:01:00.0 cannot be read: Permission denied");
    EXPECT_EQ(what_, "read a device's driver_override");
    EXPECT_THAT(pci_.writes, IsEmpty());
    expect_as_before();
}

TEST_F(BindingTest, ChangesNothingIfTheOverrideCannotBeSet) {
    pci_.fail("write", kOverrideFile, -EACCES);
    EXPECT_EQ(bind(), -EACCES);
    EXPECT_EQ(reason_, "the driver_override of 0000:01:00.0 cannot be set: Permission denied");
    EXPECT_EQ(what_, "set a device's driver_override");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio)) << "the attempt";
    expect_as_before();
}

TEST_F(BindingTest, ClearsTheOverrideIfTheOldDriverKeepsTheDevice) {
    pci_.fail("write", "bus/pci/drivers/igb/unbind", -EPERM);
    EXPECT_EQ(bind(), -EPERM);
    EXPECT_EQ(reason_, "0000:01:00.0 cannot be unbound from igb: Operation not permitted");
    EXPECT_EQ(what_, "unbind a device from its driver");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFromIgb, kFree));
    expect_as_before();
}

TEST_F(BindingTest, DoesNotBelieveThatADeviceWasUnboundThatWasNot) {
    pci_.fail("write", "bus/pci/drivers/igb/unbind", 0);
    EXPECT_EQ(bind(), -EIO);
    EXPECT_EQ(reason_, "0000:01:00.0 cannot be unbound from igb: Input/output error");
    expect_as_before();
}

TEST_F(BindingTest, GivesTheDeviceBackIfTheNewDriverFailsToProbe) {
    pci_.probe_errors["vfio-pci"] = -ENOMEM;
    EXPECT_EQ(bind(), -ENOMEM);
    EXPECT_EQ(reason_, "vfio-pci did not take 0000:01:00.0: Cannot allocate memory");
    EXPECT_EQ(what_, "bind a device to its new driver");
    EXPECT_THAT(pci_.writes, ElementsAre(kWantVfio, kFromIgb, kToVfio, kFree, kToIgb));
    expect_as_before();
}

TEST_F(BindingTest, DoesNotBelieveThatADeviceWasBoundThatWasNot) {
    pci_.fail("write", "bus/pci/drivers/vfio-pci/bind", 0);
    EXPECT_EQ(bind(), -EIO);
    EXPECT_EQ(reason_, "vfio-pci did not take 0000:01:00.0: Input/output error");
    expect_as_before();
}

TEST_F(BindingTest, TakesWhatItFindsForTheAnswer) {
    // Somebody else writes the same at the same time, so ours fails.
    pci_.before("write", "bus/pci/drivers/igb/unbind", 1, [&] {
        pci_.set_driver(kAddress, "");
        return -ENODEV;
    });
    pci_.before("write", "bus/pci/drivers/vfio-pci/bind", 1, [&] {
        pci_.set_driver(kAddress, "vfio-pci");
        return -EBUSY;
    });
    EXPECT_EQ(bind(), 0) << reason_;
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

TEST_F(BindingTest, SaysThatVfioNeedsAnIommu) {
    pci_.remove_link(FakePci::device(kAddress) + "/iommu_group");
    pci_.probe_errors["vfio-pci"] = -EINVAL;
    const std::string mode = "module/vfio/parameters/enable_unsafe_noiommu_mode";
    for (const char *off : {"", "N", "0"}) {
        if (*off != '\0')
            pci_.set_file(mode, off);
        EXPECT_EQ(bind(), -EINVAL);
        EXPECT_EQ(reason_,
                  "vfio-pci did not take 0000:01:00.0, for it is in no IOMMU group (is there an IOMMU, and is it "
                  "on?) and vfio's mode without IOMMU is off: Invalid argument");
        expect_as_before();
    }
    for (const char *on : {"Y", "1"}) {
        pci_.set_file(mode, on);
        EXPECT_EQ(bind(), -EINVAL);
        EXPECT_EQ(reason_, "vfio-pci did not take 0000:01:00.0: Invalid argument") << "that is not why";
    }
    pci_.probe_errors = {{"uio_pci_generic", -ENODEV}};
    pci_.set_file(mode, "N");
    EXPECT_EQ(bind("uio_pci_generic"), -ENODEV);
    EXPECT_EQ(reason_, "uio_pci_generic did not take 0000:01:00.0: No such device");
    pci_.probe_errors.clear();
    pci_.set_file(mode, "Y");
    EXPECT_EQ(bind(), 0) << "with that mode it needs no group";
}

TEST_F(BindingTest, SaysWhenTheOldDriverDoesNotTakeTheDeviceBackAndTriesAgain) {
    pci_.probe_errors = {{"vfio-pci", -EINVAL}, {"igb", -ENOMEM}};
    EXPECT_EQ(bind(), -EINVAL);
    EXPECT_EQ(reason_, "vfio-pci did not take 0000:01:00.0: Invalid argument; and 0000:01:00.0 cannot be given back to "
                       "igb: Cannot allocate memory");
    EXPECT_TRUE(binding_->holds());
    pci_.writes.clear();
    EXPECT_EQ(restore(), -ENOMEM);
    EXPECT_EQ(what_, "bind a device to its old driver");
    EXPECT_THAT(pci_.writes, ElementsAre(kToIgb)) << "what was done is not done again";
    pci_.probe_errors.clear();
    EXPECT_EQ(restore(), 0);
    expect_as_before();
}

} // namespace
} // namespace holdfast
