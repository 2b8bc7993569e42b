// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/match.h"
#include "hotplug/udev.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A system of devices that a test makes up.
namespace holdfast::fake {

struct DeviceData {
    std::string path{}, kernel_name{}, subsystem = "net", pci_address{}, pci_driver{};
    std::map<std::string, std::string> properties{}, attributes{};
};

class FakeDevice final : public Device {
  public:
    explicit FakeDevice(DeviceData data) : data_(std::move(data)) {}
    [[nodiscard]] std::string path() const override { return data_.path; }
    [[nodiscard]] std::string kernel_name() const override { return data_.kernel_name; }
    [[nodiscard]] std::string subsystem() const override { return data_.subsystem; }
    [[nodiscard]] std::optional<std::string> property(const std::string &key) const override {
        return find(data_.properties, key);
    }
    [[nodiscard]] std::optional<std::string> attribute(const std::string &key) const override {
        return find(data_.attributes, key);
    }
    [[nodiscard]] std::string pci_address() const override { return data_.pci_address; }
    [[nodiscard]] std::string pci_driver() const override { return data_.pci_driver; }

  private:
    static std::optional<std::string> find(const std::map<std::string, std::string> &in, const std::string &key) {
        const auto it = in.find(key);
        return it != in.end() ? std::optional(it->second) : std::nullopt;
    }
    const DeviceData data_;
};

class System final : public Catalog {
  public:
    [[nodiscard]] std::vector<std::unique_ptr<Device>> all() override {
        looks++;
        std::vector<std::unique_ptr<Device>> out;
        for (const auto &[path, data] : devices)
            out.push_back(std::make_unique<FakeDevice>(data));
        return out;
    }

    void add(DeviceData data) {
        const std::string path = data.path;
        devices[path] = std::move(data);
    }

    std::map<std::string, DeviceData> devices; ///< by path
    unsigned looks = 0;
};

/// A network interface of no PCI device.
inline DeviceData netdev(const std::string &name, const std::string &mac = "02:00:00:00:00:01") {
    return {.path = "/devices/virtual/net/" + name,
            .kernel_name = name,
            .attributes = {{"address", mac}, {"ifindex", "7"}}};
}

/// One of a PCI device.
inline DeviceData netdev_of(const std::string &pci, const std::string &driver, const std::string &name,
                            const std::string &mac = "02:00:00:00:00:02") {
    DeviceData out = netdev(name, mac);
    out.path = "/devices/pci0000:00/" + pci + "/net/" + name;
    out.pci_address = pci;
    out.pci_driver = driver;
    return out;
}

inline DeviceData pci(const std::string &address, const std::string &driver, const std::string &kind = "0x020000") {
    return {.path = "/devices/pci0000:00/" + address,
            .kernel_name = address,
            .subsystem = "pci",
            .pci_address = address,
            .pci_driver = driver,
            .attributes = {{"class", kind}, {"vendor", "0x8086"}}};
}

} // namespace holdfast::fake
