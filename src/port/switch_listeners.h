// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {

/// Why the active sub-device became another one.
enum class SwitchWhy : std::uint8_t {
    kRemoval, ///< the one before left, or had an error in itself
    kLink,    ///< the one before lost its link
    kBetter,  ///< the policies prefer the new one
    kByHand,
    kFirst, ///< there was none
};

struct SwitchEvent {
    SubIndex from, to; ///< none: nobody was, or is
    SwitchWhy why = SwitchWhy::kFirst;
};

/// Functions of the application that hear of switches. Any thread; they are called by one thread at a time, with no
/// lock held.
class SwitchListeners {
  public:
    using Function = void (*)(std::uint16_t port, int from, int to, int why, void *arg);

    /// False: this function with this argument is registered.
    bool add(Function function, void *arg);
    /// Waits until it is not being called, but for the thread that calls it. False: it was not registered.
    bool remove(Function function, void *arg);
    /// The port goes: nobody hears of it any more. Waits for nobody.
    void end();
    void tell(PortId port, const std::vector<SwitchEvent> &events);

  private:
    struct Listener {
        Function function;
        void *arg;
        bool operator==(const Listener &) const = default;
    };

    std::mutex mutex_;
    std::condition_variable told_;
    std::vector<Listener> listeners_;
    Listener called_{}; ///< now, by caller_; {}: none
    std::thread::id caller_;
};

} // namespace holdfast
