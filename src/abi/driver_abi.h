// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <ethdev_vdev.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::abi {

/// A DPDK release. The driver structs belong to one release: no ABI promise covers them.
struct Version {
    unsigned year;
    unsigned month;
};

/// The release whose driver structs this build declares.
[[nodiscard]] Version built_for() noexcept;

/// The release of the EAL that this process runs.
[[nodiscard]] Version running() noexcept;

/// Refuses to run with the driver structs of another release. The sentence says what the operator should do.
Status check_version(Version built, Version running) noexcept;

/// The same for this process. At load, before anything is registered.
Status check_version() noexcept;

/// Another driver of the bus that would be matched in place of the given one, or the other way round: the same name (a
/// second copy of this module was loaded), or a name that begins with the other one, for the bus matches devices to
/// drivers by prefix and takes the first that was registered. Null if there is none. Takes no lock: call it at load
/// only.
[[nodiscard]] const rte_vdev_driver *clashing_driver(const rte_vdev_driver &driver) noexcept;

/// True if there is such a driver. Call after rte_vdev_register(); the caller then takes its own driver back.
[[nodiscard]] bool registered_twice(const rte_vdev_driver &driver) noexcept;

/// One field of DPDK's unpublished structs, as our headers place it.
struct Field {
    enum class Owner : std::uint8_t {
        kDevice,     ///< rte_eth_dev
        kData,       ///< rte_eth_dev_data
        kOps,        ///< eth_dev_ops
        kVdev,       ///< rte_vdev_device
        kBusDevice,  ///< rte_device
        kBusDriver,  ///< rte_driver
        kDeviceSize, ///< not a field: the distance between two rte_eth_dev
    };
    const char *name;   ///< "rte_eth_dev_data.mtu"
    Owner owner;        ///< which struct it lives in
    std::size_t offset; ///< by our headers
};

/// All fields that check_layout() can compare, in the order in which it does.
[[nodiscard]] std::span<const Field> fields() noexcept;

/// The fields that ethdev copies into rte_eth_fp_ops when a port starts.
[[nodiscard]] std::span<const Field> fast_path_fields() noexcept;

/// Compares the raw fields of a port that is being probed with what DPDK's public functions report of it. What() of the
/// answer is the name of the first field that differs.
///
/// Call it after rte_eth_dev_allocate(), when `device` is set and nothing else, before rte_eth_dev_probing_finish(). It
/// puts values into the fields, makes the port valid for some microseconds (with an owner, so that those who iterate
/// over ports pass it by) and takes everything back, also when a field differs. A wrong offset does not make it crash.
/// In a secondary process it looks at the bus's structs only: the others are shared and in use. `fields` are fields(),
/// or a test's copy of them with a wrong offset.
Status check_layout(rte_eth_dev &dev, const rte_vdev_device &vdev,
                    std::span<const Field> fields = abi::fields()) noexcept;

/// The same for a started port's entry in rte_eth_fp_ops, which ethdev fills when the port starts. Only reads.
Status check_fast_path(const rte_eth_dev &dev, std::span<const Field> fields = abi::fast_path_fields()) noexcept;

} // namespace holdfast::abi
