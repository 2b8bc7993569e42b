/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a driver must know of a DPDK device and driver, for ABI 25.0 (DPDK 24.11) and 26.0 (25.11).
 *
 * Debian's DPDK packages hold no driver headers. The files of this folder declare the part that an out-of-tree vdev
 * ethdev driver needs, in our own words, field for field, under the names of the real headers: a DPDK that was built
 * with -Denable_driver_sdk=true can be put before this folder in the include path. `abi/driver_abi.h` checks the layout
 * at run time.
 */
#pragma once

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_os.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_bus;

/* The bus keeps its drivers in a list through `next`; `name` is what it matches device names against. */
struct rte_driver {
    RTE_TAILQ_ENTRY(rte_driver) next;
    const char *name;
    const char *alias;
};

/* A device on a bus. `driver` is NULL until a probe succeeded; `devargs` belongs to EAL. */
struct rte_device {
    RTE_TAILQ_ENTRY(rte_device) next;
    const char *name;
    const char *bus_info;
    const struct rte_driver *driver;
    const struct rte_bus *bus;
    int numa_node;
    struct rte_devargs *devargs;
};

#ifdef __cplusplus
}
#endif
