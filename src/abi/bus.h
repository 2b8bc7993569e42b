// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "base/result.h"

#include <cstdint>
#include <string>

struct rte_device;
struct rte_vdev_device;

namespace holdfast::abi {

/// How long a call may wait for another hot-plug of ours that is under way. EAL's hot-plug has no lock of its own, so
/// all our probes and removes go one after the other.
enum class Wait : std::uint8_t {
    kForever, ///< the host thread, and rte_eth_dev_close()
    kBriefly, ///< our own probe and remove: the bus may hold its lock around them, and who we wait for may want that
              ///< lock
};

/// What a probe gave.
struct Probed {
    Status status{};
    bool absent = false; ///< no such device now: not worth a log line, nor a growing delay
    bool used = false;   ///< somebody probed it before us, and may have told it anything
    PortId port{};
};

/// The way to devices: EAL's hot-plug, as a seam that tests replace. No mutex of the caller's may be held.
class Bus {
  public:
    Bus() = default;
    Bus(const Bus &) = delete;
    Bus &operator=(const Bus &) = delete;
    virtual ~Bus() = default;

    /// Makes a device's first port ours. The port is owned before the application can see it (or, if the device was
    /// probed before, taken over when nobody owns it); whoever heard of it is told that it is gone. -EBUSY: among other
    /// things, the first port was closed, but another one of the device lives.
    virtual Probed probe(const std::string &devargs, std::uint64_t owner, const char *owner_name, Wait wait) = 0;

    /// Closes a port, if `owner` still owns it, and takes its device off the bus, when this was its last port. `keep`
    /// is a device that must stay in the bus's list, closed: the bus may be walking over it. -EAGAIN: another hot-plug
    /// was under way for too long; nothing was done.
    virtual Status remove(PortId port, std::uint64_t owner, const rte_vdev_device *keep, Wait wait) = 0;
};

[[nodiscard]] Bus &real_bus() noexcept;

} // namespace holdfast::abi
