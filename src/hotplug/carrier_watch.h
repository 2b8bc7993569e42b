// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hotplug/registry.h"
#include "hotplug/thread.h"

namespace holdfast {

/// Asks the kernel for the carriers of interfaces below drivers that have no link events. The kernel puts off its own
/// events of them for up to a second; when it is asked it does not, but lets the asker wait for whoever changes
/// interfaces at the moment, somewhere on the machine. So nobody else may be kept by this thread.
class CarrierWatch final : public Thread {
  public:
    explicit CarrierWatch(Registry &registry) noexcept : Thread("holdfast-link"), registry_(registry) {}
    ~CarrierWatch() override;

  private:
    void loop() override;

    Registry &registry_;
};

} // namespace holdfast
