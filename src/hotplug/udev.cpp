// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/udev.h"

#include "hotplug/match.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libudev.h>
#include <net/if.h>
#include <poll.h>

namespace holdfast {
namespace {

constexpr int kBuffer = 4 * 1024 * 1024; // a thousand devices may come at once; each brings several events
constexpr std::array<const char *, 2> kSubsystems{"net", "pci"};

std::string text(const char *s) {
    return s != nullptr ? s : "";
}

std::optional<std::string> maybe(const char *s) {
    return s != nullptr ? std::optional<std::string>(s) : std::nullopt;
}

class UdevDevice final : public Device {
  public:
    /// Takes over a reference.
    explicit UdevDevice(udev_device *device) noexcept : device_(device) {}
    ~UdevDevice() override { ::udev_device_unref(device_); }

    [[nodiscard]] std::string path() const override { return text(::udev_device_get_devpath(device_)); }
    [[nodiscard]] std::string kernel_name() const override { return text(::udev_device_get_sysname(device_)); }
    [[nodiscard]] std::string subsystem() const override { return text(::udev_device_get_subsystem(device_)); }
    [[nodiscard]] std::optional<std::string> property(const std::string &key) const override {
        return maybe(::udev_device_get_property_value(device_, key.c_str()));
    }
    [[nodiscard]] std::optional<std::string> attribute(const std::string &key) const override {
        return maybe(::udev_device_get_sysattr_value(device_, key.c_str()));
    }
    [[nodiscard]] std::string pci_address() const override {
        udev_device *pci = this->pci();
        return pci != nullptr ? text(::udev_device_get_sysname(pci)) : std::string();
    }
    [[nodiscard]] std::string pci_driver() const override {
        udev_device *pci = this->pci();
        return pci != nullptr ? text(::udev_device_get_driver(pci)) : std::string();
    }

  private:
    /// Belongs to device_.
    [[nodiscard]] udev_device *pci() const {
        return subsystem() == "pci" ? device_
                                    : ::udev_device_get_parent_with_subsystem_devtype(device_, "pci", nullptr);
    }

    udev_device *const device_;
};

/// sysfs shows the network namespace of whoever mounted it: is this interface one of ours?
bool is_here(const Device &device) {
    if (device.subsystem() != "net")
        return true;
    const unsigned index = ::if_nametoindex(device.kernel_name().c_str());
    const std::optional<std::string> shown = device.attribute("ifindex");
    return index != 0 && shown && *shown == std::to_string(index);
}

udev_monitor *listen(udev *context, const char *group) noexcept {
    udev_monitor *monitor = ::udev_monitor_new_from_netlink(context, group);
    if (monitor == nullptr)
        return nullptr;
    (void)::udev_monitor_set_receive_buffer_size(monitor, kBuffer); // a small one only means to look at all more often
    bool good = true;
    for (const char *subsystem : kSubsystems)
        good = good && ::udev_monitor_filter_add_match_subsystem_devtype(monitor, subsystem, nullptr) >= 0;
    if (good && ::udev_monitor_enable_receiving(monitor) >= 0)
        return monitor;
    ::udev_monitor_unref(monitor);
    return nullptr;
}

} // namespace

Udev::~Udev() {
    if (kernel_ != nullptr)
        ::udev_monitor_unref(kernel_);
    if (daemon_ != nullptr)
        ::udev_monitor_unref(daemon_);
    if (udev_ != nullptr)
        ::udev_unref(udev_);
}

bool Udev::open() noexcept {
    if (udev_ == nullptr)
        udev_ = ::udev_new();
    if (udev_ == nullptr)
        return false;
    kernel_ = listen(udev_, "kernel");
    daemon_ = listen(udev_, "udev");
    return kernel_ != nullptr;
}

void Udev::add_to(std::vector<pollfd> &fds) const {
    for (udev_monitor *monitor : {kernel_, daemon_})
        if (monitor != nullptr)
            fds.push_back({.fd = ::udev_monitor_get_fd(monitor), .events = POLLIN, .revents = 0});
}

Udev::Heard Udev::read(const std::function<void(const DeviceEvent &)> &hear) {
    Heard heard = Heard::kAll;
    for (udev_monitor *monitor : {kernel_, daemon_}) {
        if (monitor == nullptr)
            continue;
        for (;;) {
            errno = 0;
            udev_device *device = ::udev_monitor_receive_device(monitor);
            if (device != nullptr) {
                this->hear(device, monitor == kernel_, hear);
                continue;
            }
            if (errno == ENOBUFS) {
                heard = Heard::kMissed;
                continue;
            }
            // One that is not to be believed was dropped, and another one may wait behind it.
            pollfd more{.fd = ::udev_monitor_get_fd(monitor), .events = POLLIN, .revents = 0};
            if (::poll(&more, 1, 0) <= 0 || (more.revents & POLLIN) == 0)
                break;
        }
    }
    return heard;
}

void Udev::hear(udev_device *device, bool from_kernel, const std::function<void(const DeviceEvent &)> &hear) {
    UdevDevice told(device);
    const std::string action = text(::udev_device_get_action(device));
    const std::uint64_t number = ::udev_device_get_seqnum(device);
    // udevd's copy of a loss may come when the next device is there already; now and then it is read before the
    // kernel's.
    const bool again = from_kernel ? early_.erase(number) != 0 : number <= last_;
    if (from_kernel)
        last_ = std::max(last_, number);
    if (action == "remove" || action == "unbind") {
        if (again)
            return;
        if (!from_kernel)
            early_.insert(number);
        hear({.what = DeviceEvent::What::kWent, .device = told});
        return;
    }
    // What the message says may be out of date, and the kernel's says little.
    udev_device *now = ::udev_device_new_from_syspath(udev_, ::udev_device_get_syspath(device));
    if (now == nullptr)
        return;
    const UdevDevice fresh(now);
    if (is_here(fresh))
        hear({.what = DeviceEvent::What::kChanged, .device = fresh});
}

std::vector<std::unique_ptr<Device>> Udev::all() {
    std::vector<std::unique_ptr<Device>> out;
    if (udev_ == nullptr)
        udev_ = ::udev_new();
    if (udev_ == nullptr)
        return out;
    udev_enumerate *list = ::udev_enumerate_new(udev_);
    if (list == nullptr)
        return out;
    for (const char *subsystem : kSubsystems)
        (void)::udev_enumerate_add_match_subsystem(list, subsystem);
    (void)::udev_enumerate_scan_devices(list);
    for (udev_list_entry *e = ::udev_enumerate_get_list_entry(list); e != nullptr; e = ::udev_list_entry_get_next(e)) {
        udev_device *device = ::udev_device_new_from_syspath(udev_, ::udev_list_entry_get_name(e));
        if (device == nullptr)
            continue; // it went meanwhile
        auto view = std::make_unique<UdevDevice>(device);
        if (is_here(*view))
            out.push_back(std::move(view));
    }
    ::udev_enumerate_unref(list);
    return out;
}

std::unique_ptr<Device> Udev::interface(const std::string &name) {
    udev_device *device =
        udev_ != nullptr ? ::udev_device_new_from_subsystem_sysname(udev_, "net", name.c_str()) : nullptr;
    if (device == nullptr)
        return nullptr;
    auto view = std::make_unique<UdevDevice>(device);
    return is_here(*view) ? std::move(view) : nullptr;
}

} // namespace holdfast
