# SPDX-License-Identifier: BSD-3-Clause
# The tests of a made-up PCI device register its driver themselves.
holdfast_dpdk_driver(dpdk.detach_pci bus_pci)
# The sweep compares all that can be asked of a port, also by functions that DPDK does not call stable yet.
foreach(test dpdk.sweep_ops dpdk.sweep_plug)
    target_compile_definitions(${test} PRIVATE ALLOW_EXPERIMENTAL_API)
endforeach()
