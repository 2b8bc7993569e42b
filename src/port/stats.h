// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

namespace holdfast {

/// Counters of one sub-device as the port counts them: only what happened while the sub-device was ours, and never
/// backwards, even if the device's own counters restart (drivers that clear them at start, a device that was replaced).
/// Not thread-safe: belongs under the port's mutex.
class Counters {
  public:
    /// From here on counts what comes on top of `now`: what the device counted before is not ours.
    void begin(const rte_eth_stats &now) noexcept { last_ = now; }

    /// Takes a new reading in.
    void update(const rte_eth_stats &now) noexcept;

    /// The sum so far. It stays when the sub-device leaves.
    [[nodiscard]] const rte_eth_stats &total() const noexcept { return total_; }

    /// Starts again at zero, from the last reading on.
    void reset() noexcept { total_ = {}; }

  private:
    rte_eth_stats total_{};
    rte_eth_stats last_{};
};

/// Adds each counter of `more` to `sum`.
void add(rte_eth_stats &sum, const rte_eth_stats &more) noexcept;

} // namespace holdfast
