// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"
#include "abi/pci.h"
#include "base/result.h"
#include "base/state.h"
#include "port/sub_device.h"

#include <atomic>
#include <cstdint>
#include <utility>

// What a sub-device counts.

namespace holdfast {

void SubDevice::count(abi::Ethdev &ethdev) {
    abi::PortStats now{};
    if (!reads_as_ones() && ethdev.stats(port_, now) == 0 && !reads_as_ones())
        take_in(now);
}

void SubDevice::take_in(const abi::PortStats &now) {
    if (!std::exchange(counted_out_, false))
        counters_.update(now);
}

void SubDevice::count_last(const abi::PortStats &last) {
    counted_last_ = true;
    take_in(last);
}

bool SubDevice::reads_as_ones() const noexcept {
    // pairs: sub-pci (SubDevice::adopt). The same thread, or one behind the mutex.
    const std::uint64_t pci = pci_.load(std::memory_order_relaxed);
    if (pci == 0 || pci_has_vanished())
        return pci != 0;
    const abi::PciHealth health = abi::pci_health(pci);
    // vfio asks for one that still works.
    return (flags() & kGone) != 0 ? health != abi::PciHealth::kAnswers : health == abi::PciHealth::kSilent;
}

Status SubDevice::read_stats(abi::Ethdev &ethdev) {
    if (!touchable() || lost()) // the host thread reads its last ones, for that may take long
        return {};
    abi::PortStats now{};
    const int rc = ethdev.stats(port_, now);
    if (reads_as_ones()) { // nobody has told us yet, and all ones are no counters
        lose(kGone);
        return {};
    }
    if (rc == 0)
        counters_.update(now);
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the counters of a sub-device"} : Status{};
}

Status SubDevice::restart_stats(abi::Ethdev &ethdev) {
    if (state_ == State::kAbsent || leaving || !touchable())
        return {};
    if (lost()) {
        counted_out_ = true;
        return {};
    }
    // A device that cannot reset just goes on; we count from what it shows.
    if (usable())
        if (const int rc = ethdev.stats_reset(port_); judge(ethdev, rc) == Outcome::kRefused)
            return {rc, "reset the counters of a sub-device"};
    abi::PortStats now{};
    const int rc = ethdev.stats(port_, now);
    if (rc == 0)
        counters_.begin(now);
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the counters of a sub-device"} : Status{};
}

} // namespace holdfast
