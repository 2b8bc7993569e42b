// SPDX-License-Identifier: BSD-3-Clause
// What happens when the module is loaded and unloaded.
#include "abi/driver_abi.h"
#include "abi/log.h"
#include "mayfly/config.h"
#include "mayfly/director.h"
#include "mayfly/vdev.h"

#include <ethdev_vdev.h>

namespace holdfast::mayfly {
namespace {

/// dpdk-pmdinfo.py looks for this text in the file.
[[gnu::used]] constexpr char kPmdInfo[] =
    "PMD_INFO_STRING= {\"name\": \"net_mayfly\", \"params\": \"" MAYFLY_PARAMS "\", \"pci_ids\": []}";

rte_vdev_driver g_driver = {
    .next = {},
    .driver = {.next = {}, .name = "net_mayfly", .alias = nullptr},
    .probe = probe,
    .remove = remove,
    .dma_map = nullptr,
    .dma_unmap = nullptr,
    .drv_flags = 0,
};
bool g_registered = false;

[[gnu::constructor]] void load() noexcept {
    abi::register_log("pmd.net.mayfly");
    if (const Status s = abi::check_version(); !s.ok()) {
        HOLDFAST_LOG(ERR, "net_mayfly is not used: cannot %s", s.what());
        return;
    }
    rte_vdev_register(&g_driver);
    if (abi::registered_twice(g_driver)) {
        rte_vdev_unregister(&g_driver);
        HOLDFAST_LOG(ERR, "net_mayfly is loaded already: this second copy is not used");
        return;
    }
    g_registered = true;
    register_telemetry();
}

[[gnu::destructor]] void unload() noexcept {
    if (!g_registered)
        return;
    rte_vdev_unregister(&g_driver);
    director().stop();
}

} // namespace
} // namespace holdfast::mayfly
