// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/match.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <poll.h>

struct udev;
struct udev_device;
struct udev_monitor;

namespace holdfast {

/// Where devices are looked for: the system's, or a test's. The event loop's thread only.
class Catalog {
  public:
    Catalog() = default;
    Catalog(const Catalog &) = delete;
    Catalog &operator=(const Catalog &) = delete;
    virtual ~Catalog() = default;

    /// All network interfaces of this network namespace, and all PCI devices.
    [[nodiscard]] virtual std::vector<std::unique_ptr<Device>> all() = 0;
};

/// Something happened to a device.
struct DeviceEvent {
    enum class What : std::uint8_t {
        kChanged, ///< it came, or is not what it was
        kWent,    ///< it is gone, or has lost its driver
    };
    What what = What::kChanged;
    const Device &device;
};

/// The kernel's device events and udevd's, through libudev. Both are heard, for udevd's come later and tell more, but
/// only where it runs: not in other network namespaces. libudev believes the kernel and root, nobody else.
class Udev final : public Catalog {
  public:
    Udev() = default;
    ~Udev() override;

    /// Starts to listen, in the network namespace of the calling thread. False: there are no events here.
    bool open() noexcept;
    void add_to(std::vector<pollfd> &fds) const;

    enum class Heard : std::uint8_t { kAll, kMissed };
    /// Hands on all waiting events of network and PCI devices, each loss once. kMissed: the kernel dropped some, so
    /// look at everything.
    Heard read(const std::function<void(const DeviceEvent &)> &hear);

    [[nodiscard]] std::vector<std::unique_ptr<Device>> all() override;
    /// The interface of that name in this network namespace; null: there is none.
    [[nodiscard]] std::unique_ptr<Device> interface(const std::string &name);

  private:
    void hear(udev_device *device, bool from_kernel, const std::function<void(const DeviceEvent &)> &hear);

    udev *udev_ = nullptr;
    udev_monitor *kernel_ = nullptr;
    udev_monitor *daemon_ = nullptr;
    std::uint64_t last_ = 0;        ///< number of the newest event that the kernel's monitor gave
    std::set<std::uint64_t> early_; ///< numbers of losses that udevd's monitor gave before the kernel's
};

} // namespace holdfast
