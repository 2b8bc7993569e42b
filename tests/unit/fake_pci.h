// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/netdev_use.h"
#include "hotplug/sys_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::test {

/// The PCI devices and drivers of a kernel that does not exist, and the sysfs that shows them. It answers writes as the
/// kernel does (drivers/base/bus.c, drivers/pci): a driver takes a device that its override names, or, without one,
/// that fits its table of ids.
class FakePci {
  public:
    /// What was written, in order: "path=text".
    std::vector<std::string> writes;
    /// The interfaces as rtnetlink would show them.
    NetdevUses uses;
    int uses_error = 0;
    /// What the probe function of a driver says.
    std::map<std::string, int> probe_errors;

    void add_driver(const std::string &name) { folders_.insert("bus/pci/drivers/" + name); }
    void remove_driver(const std::string &name) { folders_.erase("bus/pci/drivers/" + name); }
    /// Its own driver is the one in whose table it is, and has it if it is loaded.
    void add_device(const std::string &address, const std::string &own_driver) {
        folders_.insert(device(address));
        files_[device(address) + "/driver_override"] = "(null)";
        files_[device(address) + "/class"] = "0x020000";
        links_[device(address) + "/subsystem"] = "../../../bus/pci";
        links_[device(address) + "/iommu_group"] = "../../../kernel/iommu_groups/7";
        own_driver_[address] = own_driver;
        if (exists("bus/pci/drivers/" + own_driver))
            set_driver(address, own_driver);
    }
    void remove_device(const std::string &address) {
        const auto below = [&](const std::string &path) {
            return path == device(address) || path.starts_with(device(address) + "/");
        };
        std::erase_if(files_, [&](const auto &file) { return below(file.first); });
        std::erase_if(links_, [&](const auto &link) { return below(link.first); });
        std::erase_if(folders_, below);
    }
    /// `folder` is where in the device: "net", or "virtio0/net".
    void add_netdev(const std::string &address, const std::string &name, unsigned index,
                    const std::string &folder = "net") {
        add_netdev_at(device(address) + "/" + folder + "/" + name, name, index);
    }
    /// A netdev on another one, whose folder in sysfs is `below`.
    void add_upper(const std::string &below, const std::string &name, unsigned index) {
        links_[below + "/upper_" + name] = "../../../../virtual/net/" + name;
        if (!exists("class/net/" + name))
            add_netdev_at("class/net/" + name, name, index);
    }
    void add_folder(const std::string &path) { folders_.insert(path); }
    void set_file(const std::string &path, const std::string &text) { files_[path] = text; }
    void set_link(const std::string &path, const std::string &target) { links_[path] = target; }
    void remove_link(const std::string &path) { links_.erase(path); }
    void set_driver(const std::string &address, const std::string &name) {
        if (name.empty())
            links_.erase(device(address) + "/driver");
        else
            links_[device(address) + "/driver"] = "../../../../bus/pci/drivers/" + name;
    }
    [[nodiscard]] std::string driver(const std::string &address) const {
        const auto link = links_.find(device(address) + "/driver");
        return link == links_.end() ? "" : link->second.substr(link->second.rfind('/') + 1);
    }
    [[nodiscard]] std::string override(const std::string &address) const {
        return files_.at(device(address) + "/driver_override");
    }
    [[nodiscard]] static std::string device(const std::string &address) { return "bus/pci/devices/" + address; }
    /// Everything, to compare.
    [[nodiscard]] auto all() const { return std::tuple(files_, links_, folders_); }

    // ---- things that happen in between

    /// Does something before the nth operation of a kind ("read", "write", "link", "list", "exists", "uses") on a path,
    /// "" for any. If that returns a number, the operation is not done and returns it.
    using Action = std::function<std::optional<int>()>;
    void before(std::string operation, std::string path, int nth, Action action) {
        traps_.push_back({std::move(operation), std::move(path), nth, std::move(action)});
    }
    void fail(std::string operation, std::string path, int error, int nth = 1) {
        before(std::move(operation), std::move(path), nth, [=] { return error; });
    }
    void forget_traps() { traps_.clear(); }

    // ---- SysFiles

    bool exists(const std::string &path) const {
        const auto is_below = [&](const std::string &other) { return other.starts_with(path + "/"); };
        return files_.contains(path) || links_.contains(path) || folders_.contains(path) ||
               std::any_of(files_.begin(), files_.end(), [&](const auto &f) { return is_below(f.first); }) ||
               std::any_of(links_.begin(), links_.end(), [&](const auto &l) { return is_below(l.first); }) ||
               std::any_of(folders_.begin(), folders_.end(), is_below);
    }
    int write(const std::string &path, std::string_view text) {
        writes.push_back(path + "=" + std::string(text));
        if (const auto trapped = trap("write", path))
            return *trapped;
        if (path.ends_with("/driver_override")) {
            if (!files_.contains(path))
                return -ENOENT;
            files_[path] = text == "\n" ? "(null)" : text;
            return 0;
        }
        const std::string drivers = "bus/pci/drivers/";
        const std::size_t slash = path.rfind('/');
        const std::string name = path.substr(drivers.size(), slash - drivers.size());
        const std::string address(text), what = path.substr(slash + 1);
        if (!path.starts_with(drivers) || (what != "bind" && what != "unbind")) {
            ADD_FAILURE() << "nobody was to write to " << path;
            return -EACCES;
        }
        if (!exists(drivers + name))
            return -ENOENT;
        return what == "bind" ? bind(address, name) : unbind(address, name);
    }
    int read(const std::string &path, std::string &out) {
        if (const auto trapped = trap("read", path))
            return *trapped;
        if (!files_.contains(path))
            return -ENOENT;
        out = files_.at(path);
        return 0;
    }
    int read_link(const std::string &path, std::string &out) {
        if (const auto trapped = trap("link", path))
            return *trapped;
        if (!links_.contains(path))
            return exists(path) ? -EINVAL : -ENOENT;
        out = links_.at(path);
        return 0;
    }
    int list(const std::string &path, std::vector<std::string> &out) {
        if (const auto trapped = trap("list", path))
            return *trapped;
        if (!exists(path))
            return files_.contains(path.substr(0, path.rfind('/'))) ? -ENOTDIR : -ENOENT;
        std::set<std::string> names;
        const auto add = [&](const std::string &other) {
            if (other.starts_with(path + "/"))
                names.insert(other.substr(path.size() + 1, other.find('/', path.size() + 1) - path.size() - 1));
        };
        for (const auto &file : files_)
            add(file.first);
        for (const auto &link : links_)
            add(link.first);
        for (const auto &folder : folders_)
            add(folder);
        out.assign(names.begin(), names.end());
        return 0;
    }
    std::optional<int> trap(const std::string &operation, const std::string &path) {
        for (std::size_t i = 0; i < traps_.size(); i++) {
            Trap &t = traps_[i];
            if ((!t.operation.empty() && t.operation != operation) || (!t.path.empty() && t.path != path))
                continue;
            if (--t.left == 0)
                return t.action();
        }
        return std::nullopt;
    }

  private:
    struct Trap {
        std::string operation, path;
        int left;
        Action action;
    };
    void add_netdev_at(const std::string &folder, const std::string &name, unsigned index) {
        files_[folder + "/ifindex"] = std::to_string(index);
        uses.names[index] = name;
    }
    int bind(const std::string &address, const std::string &name) {
        if (!folders_.contains(device(address)))
            return -ENODEV;
        const std::string chosen = override(address);
        if (name != (chosen == "(null)" ? own_driver_[address] : chosen))
            return -ENODEV;
        if (!driver(address).empty())
            return -EBUSY;
        if (probe_errors.contains(name))
            return probe_errors[name];
        set_driver(address, name);
        return 0;
    }
    int unbind(const std::string &address, const std::string &name) {
        if (driver(address) != name)
            return -ENODEV;
        set_driver(address, "");
        return 0;
    }

    std::map<std::string, std::string> files_, links_, own_driver_;
    std::set<std::string> folders_;
    std::vector<Trap> traps_;
};

/// Its files, for one who wants to own them.
class FakePciFiles final : public SysFiles {
  public:
    explicit FakePciFiles(FakePci &pci) : pci_(pci) {}
    bool exists(const std::string &path) override {
        (void)pci_.trap("exists", path);
        return pci_.exists(path);
    }
    int write(const std::string &path, std::string_view text) override { return pci_.write(path, text); }
    int read(const std::string &path, std::string &out) override { return pci_.read(path, out); }
    int read_link(const std::string &path, std::string &out) override { return pci_.read_link(path, out); }
    int list(const std::string &path, std::vector<std::string> &out) override { return pci_.list(path, out); }

  private:
    FakePci &pci_;
};

class FakePciUse final : public NetdevUse {
  public:
    explicit FakePciUse(FakePci &pci) : pci_(pci) {}
    int look(NetdevUses &out) override {
        if (const auto trapped = pci_.trap("uses", "uses"))
            return *trapped;
        out = pci_.uses;
        return pci_.uses_error;
    }

  private:
    FakePci &pci_;
};

} // namespace holdfast::test
