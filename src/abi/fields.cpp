// SPDX-License-Identifier: BSD-3-Clause
// The tables hold what DPDK's own driver headers say of each field. Whatever headers this build uses, ours of dpdk/ or
// those of a DPDK with its driver SDK, must say the same. scripts/checks/check_fields.py makes and completes the
// tables.
#include <ethdev_vdev.h>
#include <rte_version.h>

#include <cstddef>

#include <bus_pci_driver.h>

namespace {

// Elsewhere cache lines and mutexes have other sizes; what comes before them is at the same place.
#ifdef RTE_ARCH_X86_64
constexpr bool kSizesHold = true;
#else
constexpr bool kSizesHold = false;
#endif

} // namespace

#define HOLDFAST_SIZE(type, size) static_assert(!kSizesHold || sizeof(type) == (size), #type);
#define HOLDFAST_FIELD(type, member, offset, size)                                                                     \
    static_assert(offsetof(type, member) == (offset) && (!kSizesHold || sizeof(type::member) == (size)),               \
                  #type "." #member);
#define HOLDFAST_BITS(type, member, bit, width) // bit-fields have no offsetof: check_fields.py and check_layout()

#if RTE_VER_YEAR == 24 && RTE_VER_MONTH == 11
#include "abi/fields_24_11.inc"
#elif RTE_VER_YEAR == 25 && RTE_VER_MONTH == 11
#include "abi/fields_25_11.inc"
#endif

#undef HOLDFAST_SIZE
#undef HOLDFAST_FIELD
#undef HOLDFAST_BITS
