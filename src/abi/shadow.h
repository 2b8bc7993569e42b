// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct rte_device;

// A driver that is told to remove a device takes it apart and then says so (RTE_ETH_EVENT_DESTROY): net_af_packet has
// unmapped its rings by then. So each device below a port of ours gets, in place of its driver, a shadow of it: the
// same in all that the bus and ethdev read, but for the removal. That first asks the listener of each port of the
// device that is ours (PortListener::on_detach), and then calls the driver. Removals of our own go straight to the
// driver.

namespace holdfast::abi {

/// Puts the shadow in place. False: not on this bus, or not with this driver; a removal by somebody else then comes as
/// a surprise. Call it when the device cannot go away meanwhile: under the virtual bus's lock, if it is on that bus.
bool cast_shadow(rte_device &dev) noexcept;

/// Puts the driver back. The same conditions.
void lift_shadow(rte_device &dev) noexcept;

/// For its scope a removal of this device by this thread is one of our own.
class OwnRemoval {
  public:
    explicit OwnRemoval(const rte_device &dev) noexcept;
    ~OwnRemoval();
    OwnRemoval(const OwnRemoval &) = delete;
    OwnRemoval &operator=(const OwnRemoval &) = delete;

  private:
    const rte_device *outer_;
};

/// Is this thread inside a removal of that device that somebody else began, further up?
[[nodiscard]] bool detaching_here(const rte_device *dev) noexcept;

} // namespace holdfast::abi
