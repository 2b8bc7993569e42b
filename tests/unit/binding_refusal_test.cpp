// SPDX-License-Identifier: BSD-3-Clause
// Devices that the system uses.
#include "hotplug/binding.h"
#include "unit/binding_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace holdfast {
namespace {

using test::FakePci;
using testing::IsEmpty;

class BindingRefusal : public test::BindingRig {
  protected:
    static constexpr const char *kEth3 = "bus/pci/devices/0000:01:00.0/net/eth3";

    BindingRefusal() { pci_.add_netdev(kAddress, "eth3", 7); }

    /// It is refused for that reason with nothing changed, and taken by force.
    void expect_refused(const std::string &why) {
        const auto before = pci_.all();
        EXPECT_EQ(bind(), -EBUSY);
        EXPECT_EQ(reason_, why);
        EXPECT_EQ(what_, "take a device that the system uses");
        EXPECT_THAT(pci_.writes, IsEmpty());
        EXPECT_EQ(pci_.all(), before);
        EXPECT_FALSE(binding_->holds());
        EXPECT_EQ(bind("vfio-pci", true), 0) << reason_;
        EXPECT_EQ(pci_.driver(kAddress), "vfio-pci");
        EXPECT_EQ(restore(), 0);
        EXPECT_EQ(pci_.all(), before);
    }
};

TEST_F(BindingRefusal, AnUnusedInterfaceIsNone) {
    pci_.uses.with_address = {1, 8};
    pci_.uses.with_default_route = {8};
    EXPECT_EQ(bind(), 0) << reason_;
}

TEST_F(BindingRefusal, AnInterfaceWithAnAddress) {
    pci_.uses.with_address = {7};
    expect_refused("eth3 carries an IP address");
}

TEST_F(BindingRefusal, AnInterfaceWithTheDefaultRoute) {
    pci_.uses.with_address = {7};
    pci_.uses.with_default_route = {7};
    expect_refused("eth3 carries the default route");
}

TEST_F(BindingRefusal, AnInterfaceOfABond) {
    pci_.set_link(std::string(kEth3) + "/master", "../../../../../virtual/net/bond0");
    expect_refused("eth3 belongs to bond0");
}

TEST_F(BindingRefusal, TheSecondOfItsInterfaces) {
    pci_.add_netdev(kAddress, "eth4", 9);
    pci_.uses.with_address = {9};
    expect_refused("eth4 carries an IP address");
}

TEST_F(BindingRefusal, AVirtioInterface) {
    pci_.add_device("0000:00:03.0", "virtio-pci");
    pci_.add_netdev("0000:00:03.0", "eth0", 2, "virtio2/net");
    pci_.uses.with_default_route = {2};
    EXPECT_EQ(bind("vfio-pci", false, "0000:00:03.0"), -EBUSY);
    EXPECT_EQ(reason_, "eth0 carries the default route");
}

TEST_F(BindingRefusal, AnotherDevicesInterfaceIsNone) {
    pci_.add_netdev(kOther, "eth4", 9);
    pci_.set_link(FakePci::device(kAddress) + "/virtfn0", "../0000:01:00.1");
    pci_.uses.with_default_route = {9};
    pci_.fail("list", FakePci::device(kAddress) + "/virtfn0/net", -EIO); // not even looked at
    EXPECT_EQ(bind(), 0) << reason_;
}

TEST_F(BindingRefusal, AVlanWithTheDefaultRoute) {
    pci_.add_upper(kEth3, "eth3.100", 8);
    pci_.uses.with_default_route = {8};
    expect_refused("eth3 is below eth3.100: eth3.100 carries the default route");
}

TEST_F(BindingRefusal, AnAddressSeveralInterfacesUp) {
    pci_.add_upper(kEth3, "eth3.100", 8);
    pci_.add_upper("class/net/eth3.100", "mv0", 9);
    // A circle cannot be, and would not be followed for ever.
    pci_.add_upper("class/net/mv0", "eth3.100", 8);
    EXPECT_EQ(bind(), 0) << reason_;
    EXPECT_EQ(restore(), 0);
    pci_.writes.clear();
    pci_.uses.with_address = {9};
    expect_refused("eth3 is below mv0: mv0 carries an IP address");
}

TEST_F(BindingRefusal, AVlanInABridge) {
    pci_.add_upper(kEth3, "eth3.100", 8);
    pci_.set_link("class/net/eth3.100/master", "../br0");
    expect_refused("eth3 is below eth3.100: eth3.100 belongs to br0");
}

TEST_F(BindingRefusal, VirtualFunctions) {
    pci_.set_file(FakePci::device(kAddress) + "/sriov_numvfs", "4");
    expect_refused("0000:01:00.0 has virtual functions (4), which would go with its driver");
}

TEST_F(BindingRefusal, ADisk) {
    pci_.set_file(FakePci::device(kAddress) + "/class", "0x010802");
    expect_refused("0000:01:00.0 is not a network device (class 0x010802)");
}

TEST_F(BindingRefusal, NoNetworkDeviceOfAnotherKind) {
    pci_.set_file(FakePci::device(kAddress) + "/class", "0x020700");
    EXPECT_EQ(bind(), 0) << reason_;
}

TEST_F(BindingRefusal, NoVirtualFunctionsAreNone) {
    pci_.set_file(FakePci::device(kAddress) + "/sriov_numvfs", "0");
    EXPECT_EQ(bind(), 0) << reason_;
}

// ---- what cannot be told

TEST_F(BindingRefusal, AnInterfaceThatWasMovedToAnotherNamespace) {
    pci_.remove_device(kAddress);
    pci_.add_device(kAddress, "igb");
    pci_.add_folder(FakePci::device(kAddress) + "/net");
    expect_refused("the interface of 0000:01:00.0 is in another network namespace, so what it carries cannot be seen");
}

TEST_F(BindingRefusal, AnInterfaceOfTheHostSeenFromAContainer) {
    const std::string why = "eth3 is not in this network namespace, so what it carries cannot be seen";
    pci_.uses.names = {{1, "lo"}};
    expect_refused(why);
    pci_.writes.clear();
    pci_.uses.names = {{1, "lo"}, {7, "eth0"}};
    expect_refused(why);
    pci_.writes.clear();
    pci_.uses.names = {{1, "lo"}, {5, "eth3"}};
    expect_refused(why);
    pci_.writes.clear();
    pci_.set_file(std::string(kEth3) + "/ifindex", "junk");
    expect_refused(why);
}

TEST_F(BindingRefusal, ALookUpThatFails) {
    pci_.uses_error = -ETIMEDOUT;
    expect_refused("what eth3 carries cannot be found out: Connection timed out");
}

TEST_F(BindingRefusal, AnInterfaceWithoutItsNumber) {
    pci_.fail("read", std::string(kEth3) + "/ifindex", -ENOENT);
    expect_refused("what eth3 carries cannot be found out: No such file or directory");
}

TEST_F(BindingRefusal, AMasterThatCannotBeRead) {
    pci_.fail("link", std::string(kEth3) + "/master", -EACCES);
    expect_refused("whether eth3 belongs to another interface cannot be found out: Permission denied");
}

TEST_F(BindingRefusal, AStackThatCannotBeRead) {
    pci_.fail("list", kEth3, -EACCES);
    expect_refused("what is stacked on eth3 cannot be found out: Permission denied");
}

TEST_F(BindingRefusal, AClassThatCannotBeRead) {
    pci_.fail("read", FakePci::device(kAddress) + "/class", -EIO);
    expect_refused("the class of 0000:01:00.0 cannot be read: Input/output error");
}

TEST_F(BindingRefusal, VirtualFunctionsThatCannotBeCounted) {
    pci_.fail("read", FakePci::device(kAddress) + "/sriov_numvfs", -EIO);
    expect_refused("whether 0000:01:00.0 has virtual functions cannot be found out: Input/output error");
}

TEST_F(BindingRefusal, InterfacesThatCannotBeListed) {
    const std::string why = "the interfaces of 0000:01:00.0 cannot be listed: Input/output error";
    pci_.fail("list", FakePci::device(kAddress), -EIO);
    expect_refused(why);
    pci_.writes.clear();
    pci_.fail("list", FakePci::device(kAddress) + "/net", -EIO);
    expect_refused(why);
    pci_.writes.clear();
    pci_.fail("link", FakePci::device(kAddress) + "/net", -EIO);
    expect_refused(why);
}

} // namespace
} // namespace holdfast
