/* SPDX-License-Identifier: BSD-3-Clause */
/* The virtual device bus as a driver sees it, for both ABIs. See dev_driver.h for why this file exists. */
#pragma once

#include <dev_driver.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_vdev_device {
    RTE_TAILQ_ENTRY(rte_vdev_device) next; /* the bus walks this list; see driver/vdev.cpp on cleanup */
    struct rte_device device;
};

typedef int(rte_vdev_probe_t)(struct rte_vdev_device *dev);
typedef int(rte_vdev_remove_t)(struct rte_vdev_device *dev);
typedef int(rte_vdev_dma_map_t)(struct rte_vdev_device *dev, void *addr, uint64_t iova, size_t len);
typedef int(rte_vdev_dma_unmap_t)(struct rte_vdev_device *dev, void *addr, uint64_t iova, size_t len);

struct rte_vdev_driver {
    RTE_TAILQ_ENTRY(rte_vdev_driver) next;
    struct rte_driver driver;
    rte_vdev_probe_t *probe;
    rte_vdev_remove_t *remove;
    rte_vdev_dma_map_t *dma_map;
    rte_vdev_dma_unmap_t *dma_unmap;
    uint32_t drv_flags;
};

/* Both are exported by librte_bus_vdev under version INTERNAL. Neither locks: call them from a constructor only. */
void rte_vdev_register(struct rte_vdev_driver *driver);
void rte_vdev_unregister(struct rte_vdev_driver *driver);

#ifdef __cplusplus
}
#endif
