// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/stats.h"

namespace holdfast {

/// Counters of one sub-device as the port counts them: only what happened while the sub-device was ours, and never
/// backwards, even if the device's own counters restart (drivers that clear them at start, a device that was replaced).
/// Not thread-safe: belongs under the port's mutex.
class Counters {
  public:
    /// From here on counts what comes on top of `now`: what the device counted before is not ours.
    void begin(const abi::PortStats &now) noexcept { last_ = now; }

    /// Takes a new reading in.
    void update(const abi::PortStats &now) noexcept;

    /// The sum so far. It stays when the sub-device leaves.
    [[nodiscard]] const abi::PortStats &total() const noexcept { return total_; }

    /// Starts again at zero, from the last reading on.
    void reset() noexcept { total_ = {}; }

  private:
    abi::PortStats total_{};
    abi::PortStats last_{};
};

/// Adds each counter of `more` to `sum`.
void add(abi::PortStats &sum, const abi::PortStats &more) noexcept;

} // namespace holdfast
