// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace holdfast {

/// Who drives a port's reconciling: the host thread, seen from below.
class Host {
  public:
    /// Asks for a reconcile soon. Any thread, also an event callback: no lock, one write to a descriptor.
    virtual void wake() noexcept = 0;

  protected:
    ~Host() = default;
};

} // namespace holdfast
