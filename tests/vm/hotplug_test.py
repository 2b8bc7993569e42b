#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PCI devices that leave and come under Debian's testpmd, unmodified, in a VM: one boot for all of it."""

import unittest

from rig import BACKUP, FAST, OneGuest, UnderTraffic

NIC = "e1000e"
LIMIT = 2.0  # seconds from device_del to DEVICE_DELETED where the driver has to let go of the device (vfio)


def setUpModule():
    OneGuest.boot(NIC)


def tearDownModule():
    OneGuest.end()


class Vfio(UnderTraffic):
    """Both devices on vfio-pci behind the emulated IOMMU."""

    VDEV = "dev(%s),dev(%s)" % (FAST, BACKUP)

    @classmethod
    def prepare(cls, bench):
        bench.remember("vfio-pci")  # which takes the device that is there, too
        bench.bind(BACKUP, "vfio-pci")

    def test_1_a_device_that_is_unbound_is_let_go_and_comes_back_when_it_is_bound(self):
        self.flows("fast")
        self.bench.machine.do("echo %s > /sys/bus/pci/drivers/vfio-pci/unbind" % FAST)  # it returns, or this fails
        self.assertEqual(self.bench.driver_of(FAST), "")
        for _ in range(5):  # several polls look at a device that has no driver
            self.flows("backup")
        self.assertEqual(self.bench.sub(0)["state"], "absent")
        self.no_flood()
        self.bench.machine.do("echo %s > /sys/bus/pci/drivers/vfio-pci/bind" % FAST)
        self.flows("fast")
        self.assertEqual(self.bench.active(), 0)

    def test_2_a_device_that_is_unplugged_while_it_is_polled_returns_when_it_is_plugged(self):
        self.flows("fast")
        for _ in range(2):
            took = self.bench.unplugged(self.bench.unplug(), 30)
            self.assertIsNotNone(took, "qemu waits for the device to be let go")
            self.assertLessEqual(took, LIMIT)
            self.flows("backup")
            self.bench.plug()
            self.flows("fast")
        self.no_flood(60)
        self.assertEqual(self.bench.sub(0)["removals"], 3)
        came_back = sum(self.bench.frames.received().values())
        counted = self.bench.ask("/ethdev/stats,0")["opackets"]
        self.assertGreaterEqual(counted, came_back, "what the device had counted when it was let go is not lost")


class Uio(UnderTraffic):
    """Both on uio_pci_generic, which tells nobody that a device goes."""

    VDEV = "dev(%s),dev(%s)" % (FAST, BACKUP)
    EAL = ("--iova-mode=pa",)

    @classmethod
    def prepare(cls, bench):
        bench.forget("vfio-pci")
        bench.remember("uio_pci_generic")
        bench.bind(FAST, "uio_pci_generic")
        bench.bind(BACKUP, "uio_pci_generic")

    def test_a_device_that_is_unplugged_while_it_is_polled_returns_when_it_is_plugged(self):
        self.flows("fast")
        self.assertIsNotNone(self.bench.unplugged(self.bench.unplug(), 60))
        self.flows("backup")
        self.bench.plug()
        self.flows("fast")
        self.no_flood()
        self.assertEqual(self.bench.sub(0)["removals"], 1)


class Bind(UnderTraffic):
    """Holdfast itself takes the device from its kernel driver."""

    VDEV = "udev(vendor=0x8086;device=0x10d3;bind=vfio-pci),dev(%s)" % BACKUP

    @classmethod
    def prepare(cls, bench):
        bench.forget("uio_pci_generic")
        bench.machine.do("load e1000e")
        bench.bind(FAST, "e1000e")
        bench.machine.do("echo > /sys/bus/pci/devices/%s/driver_override" % FAST)
        bench.bind(BACKUP, "vfio-pci")

    def is_an_interface(self):
        """The kernel's driver has it, and made an interface of it."""
        self.has_driver(FAST, NIC)
        self.assertTrue(self.bench.eventually(
            lambda: self.bench.machine.run("ls /sys/bus/pci/devices/%s/net" % FAST)[1] != ""))

    def test_1_it_is_taken_from_its_driver_and_given_back_when_it_is_removed_by_hand(self):
        self.flows("fast")
        self.has_driver(FAST, "vfio-pci")
        self.assertEqual(self.bench.ask("/holdfast/remove,0,0")["status"], 0)
        self.flows("backup")
        self.is_an_interface()
        self.assertEqual(self.bench.ask("/holdfast/plug,0,0")["status"], 0)
        self.has_driver(FAST, "vfio-pci")
        self.flows("fast")

    def test_2_one_that_is_plugged_anew_is_taken_again(self):
        self.flows("fast")
        took = self.bench.unplugged(self.bench.unplug(), 30)
        self.assertIsNotNone(took)
        self.assertLessEqual(took, LIMIT)
        self.flows("backup")
        self.bench.plug()
        self.flows("fast")
        self.has_driver(FAST, "vfio-pci")
        self.no_flood()

    def test_3_it_is_given_back_when_the_port_is_closed(self):
        self.flows("fast")
        for command in ("stop", "port stop 0", "port close 0"):
            self.bench.write(command)
        self.is_an_interface()
        self.assertTrue(self.bench.testpmd_lives())


def load_tests(loader, _tests, _pattern):
    """In this order: a driver of the kernel's that is loaded once stays."""
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (Vfio, Uio, Bind))


if __name__ == "__main__":
    unittest.main()
