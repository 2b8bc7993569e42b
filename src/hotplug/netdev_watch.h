// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace holdfast {

/// Hears from the kernel when network interfaces of this network namespace disappear: ethdev calls on a port over such
/// an interface go on to answer "fine"; when they get another MAC address, of which there is no device event; and of
/// their carrier. One thread.
class NetdevWatch {
  public:
    NetdevWatch() = default;
    ~NetdevWatch();
    NetdevWatch(const NetdevWatch &) = delete;
    NetdevWatch &operator=(const NetdevWatch &) = delete;

    /// Starts to listen, in the network namespace of the calling thread. False: no such socket here; poll instead.
    bool open() noexcept;
    /// To wait on; -1 when not open.
    [[nodiscard]] int fd() const noexcept { return fd_; }

    enum class Heard { kAll, kMissed };
    /// Reads all waiting messages. Calls `gone` with the index of each interface that disappeared, `renumbered` for
    /// each whose MAC address is another one than before, or was not known, and `carrier` for each whose carrier came
    /// or went, or was not known. kMissed: the kernel dropped some, so look at everything. Messages that are not the
    /// kernel's, or malformed, are ignored.
    Heard read(const std::function<void(unsigned)> &gone, const std::function<void(unsigned)> &renumbered = {},
               const std::function<void(unsigned, bool)> &carrier = {});

  private:
    int fd_ = -1;
    struct Known {
        std::string mac;
        std::optional<bool> carrier;
    };
    std::map<unsigned, Known> known_;
};

} // namespace holdfast
