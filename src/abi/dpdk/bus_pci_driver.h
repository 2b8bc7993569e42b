/* SPDX-License-Identifier: BSD-3-Clause */
/* PCI devices and drivers as the bus keeps them, for both ABIs. See dev_driver.h for why this file exists. */
#pragma once

#include <dev_driver.h>
#include <rte_bus_pci.h>
#include <rte_pci.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_intr_handle;

enum rte_pci_kernel_driver {
    RTE_PCI_KDRV_UNKNOWN = 0,
    RTE_PCI_KDRV_IGB_UIO,
    RTE_PCI_KDRV_VFIO,
    RTE_PCI_KDRV_UIO_GENERIC,
    RTE_PCI_KDRV_NIC_UIO,
    RTE_PCI_KDRV_NONE,
    RTE_PCI_KDRV_NET_UIO,
};

/* The bus asks its own `driver` field, not the one in `device`, who removes and maps. */
struct rte_pci_device {
    RTE_TAILQ_ENTRY(rte_pci_device) next;
    struct rte_device device;
    struct rte_pci_addr addr;
    struct rte_pci_id id;
    struct rte_mem_resource mem_resource[PCI_MAX_RESOURCE];
    struct rte_intr_handle *intr_handle;
    struct rte_pci_driver *driver;
    uint16_t max_vfs;
    enum rte_pci_kernel_driver kdrv;
    char name[PCI_PRI_STR_SIZE + 1];
    char *bus_info;
    struct rte_intr_handle *vfio_req_intr_handle;
};

typedef int(rte_pci_probe_t)(struct rte_pci_driver *, struct rte_pci_device *);
typedef int(rte_pci_remove_t)(struct rte_pci_device *);
typedef int(pci_dma_map_t)(struct rte_pci_device *dev, void *addr, uint64_t iova, size_t len);
typedef int(pci_dma_unmap_t)(struct rte_pci_device *dev, void *addr, uint64_t iova, size_t len);

struct rte_pci_driver {
    RTE_TAILQ_ENTRY(rte_pci_driver) next;
    struct rte_driver driver;
    rte_pci_probe_t *probe;
    rte_pci_remove_t *remove;
    pci_dma_map_t *dma_map;
    pci_dma_unmap_t *dma_unmap;
    const struct rte_pci_id *id_table;
    uint32_t drv_flags;
};

/* Both are exported by librte_bus_pci under version INTERNAL. */
void rte_pci_register(struct rte_pci_driver *driver);
void rte_pci_unregister(struct rte_pci_driver *driver);

#ifdef __cplusplus
}
#endif
