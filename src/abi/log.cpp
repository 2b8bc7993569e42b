// SPDX-License-Identifier: BSD-3-Clause
#include "abi/log.h"

namespace holdfast::abi {
namespace {
int g_log_type = RTE_LOGTYPE_USER1;
}

void register_log(const char *name) noexcept {
    const int type = rte_log_register_type_and_pick_level(name, RTE_LOG_NOTICE);
    if (type >= 0)
        g_log_type = type;
}

int log_type() noexcept {
    return g_log_type;
}

} // namespace holdfast::abi
