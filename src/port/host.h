// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace holdfast {

/// Who drives a port: the host thread and the event loop, seen from below.
class Host {
  public:
    /// Asks for a reconcile soon. Any thread, also an event callback: no lock, one write to a descriptor.
    virtual void wake() noexcept = 0;
    /// Asks for the port's link to be looked at soon, and the application told of a change. Callable as wake() is.
    virtual void look() noexcept = 0;

  protected:
    ~Host() = default;
};

class SubDevice;

/// Who makes control calls on a sub-device: its virtual port, seen from below.
class Keeper {
  public:
    /// Somebody else takes the device off its bus, and waits. One attempt to get out of it; on his thread, so it waits
    /// for nobody. True: nobody is inside, and no call is made on it any more.
    virtual bool give_up(SubDevice &sub) noexcept = 0;

  protected:
    ~Keeper() = default;
};

} // namespace holdfast
