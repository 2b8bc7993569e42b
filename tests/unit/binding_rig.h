// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "hotplug/binding.h"
#include "unit/fake_pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {

/// A device of igb, another one beside it, and a binding that can be ended.
class BindingRig : public testing::Test {
  protected:
    static constexpr const char *kAddress = "0000:01:00.0";
    static constexpr const char *kOther = "0000:01:00.1";
    static constexpr const char *kOverrideFile = "bus/pci/devices/0000:01:00.0/driver_override";
    static constexpr const char *kDriverLink = "bus/pci/devices/0000:01:00.0/driver";
    static constexpr const char *kFree = "bus/pci/devices/0000:01:00.0/driver_override=\n";
    static constexpr const char *kWantVfio = "bus/pci/devices/0000:01:00.0/driver_override=vfio-pci";
    static constexpr const char *kFromIgb = "bus/pci/drivers/igb/unbind=0000:01:00.0";
    static constexpr const char *kToIgb = "bus/pci/drivers/igb/bind=0000:01:00.0";
    static constexpr const char *kFromVfio = "bus/pci/drivers/vfio-pci/unbind=0000:01:00.0";
    static constexpr const char *kToVfio = "bus/pci/drivers/vfio-pci/bind=0000:01:00.0";

    BindingRig() {
        for (const char *driver : {"igb", "vfio-pci", "uio_pci_generic"})
            pci_.add_driver(driver);
        pci_.add_device(kAddress, "igb");
        pci_.add_device(kOther, "igb");
        make();
    }
    /// What was to happen at the time of a test does not happen at its end.
    void TearDown() override { pci_.forget_traps(); }
    void make() { binding_.emplace(std::make_unique<FakePciFiles>(pci_), std::make_unique<FakePciUse>(pci_)); }

    int bind(std::string_view driver = "vfio-pci", bool force = false, std::string_view address = kAddress) {
        const Status s = binding_->bind(address, driver, force, reason_);
        EXPECT_EQ(s.ok(), reason_.empty()) << reason_;
        EXPECT_EQ(s.ok(), std::string_view(s.what()).empty()) << s.what();
        what_ = s.what();
        return s.code();
    }
    int restore() {
        const Status s = binding_->restore(reason_);
        EXPECT_EQ(s.ok(), reason_.empty()) << reason_;
        what_ = s.what();
        return s.code();
    }
    /// It has its own driver and nothing is left to do.
    void expect_as_before() {
        EXPECT_EQ(pci_.driver(kAddress), "igb");
        EXPECT_EQ(pci_.override(kAddress), "(null)");
        EXPECT_EQ(pci_.driver(kOther), "igb");
        EXPECT_EQ(pci_.override(kOther), "(null)");
        EXPECT_FALSE(binding_->holds());
    }

    FakePci pci_;
    std::optional<Binding> binding_;
    std::string reason_, what_;
};

} // namespace holdfast::test
