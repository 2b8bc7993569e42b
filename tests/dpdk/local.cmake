# SPDX-License-Identifier: BSD-3-Clause
# The tests of a made-up PCI device register its driver themselves.
holdfast_dpdk_driver(dpdk.detach_pci bus_pci)
