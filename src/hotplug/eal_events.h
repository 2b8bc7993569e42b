// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

namespace holdfast {

/// EAL's device events: those of its monitor, when the application has started it, and what vfio asks to be released,
/// which EAL tells without a monitor. They arrive in a thread of EAL's, which only writes them into a pipe.
class EalEvents {
  public:
    struct Event {
        bool removed = false; ///< else it came
        std::string device;   ///< as EAL names it: the PCI address, mostly
    };

    EalEvents() = default;
    ~EalEvents();
    EalEvents(const EalEvents &) = delete;
    EalEvents &operator=(const EalEvents &) = delete;

    /// Starts to listen; does nothing if it does already. False: EAL refuses.
    bool open() noexcept;
    /// To wait on; -1 when not open.
    [[nodiscard]] int fd() const noexcept { return ends_[0]; }
    /// Hands on what has arrived.
    void read(const std::function<void(const Event &)> &hear);

  private:
    int ends_[2]{-1, -1};
};

} // namespace holdfast
