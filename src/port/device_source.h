// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/answer.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast {

/// Where the devargs of a sub-device come from when they can change, as its port sees it. Any thread; only wait()
/// waits.
class DeviceSource {
  public:
    DeviceSource() = default;
    DeviceSource(const DeviceSource &) = delete;
    DeviceSource &operator=(const DeviceSource &) = delete;
    virtual ~DeviceSource() = default;

    /// As in the port's devargs, shortened: "exec(/opt/find-vf)".
    [[nodiscard]] virtual const std::string &name() const noexcept = 0;
    /// Asks for an answer. The host is woken when it is there.
    virtual void ask() = 0;
    /// What was found since ask(); empty as long as it is being looked for.
    virtual std::optional<Answer> answer() = 0;
    /// Waits for the answer, but not longer than until then.
    virtual void wait(std::chrono::steady_clock::time_point until) = 0;
    /// Would it answer otherwise than it did? True once for each time.
    virtual bool has_news() = 0;

    /// The virtual port has this MAC address, for sources that go by it.
    virtual void pair_with(const std::array<std::uint8_t, 6> &) {}
    /// The device that it named belongs to another port. True: it may name another one at once.
    virtual bool taken() { return false; }
    /// The device that it named is about to be probed: makes it ready for that. May take long. `lease` undoes it when
    /// its last copy goes, which may take long too; it stays as it is if there is nothing to undo. False: it cannot be
    /// made ready, and `why` says why.
    virtual bool prepare([[maybe_unused]] std::shared_ptr<void> &lease, [[maybe_unused]] std::string &why) {
        return true;
    }
};

} // namespace holdfast
