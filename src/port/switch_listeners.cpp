// SPDX-License-Identifier: BSD-3-Clause
#include "port/switch_listeners.h"

#include "base/ids.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {

bool SwitchListeners::add(Function function, void *arg) {
    const std::lock_guard held(mutex_);
    const Listener wanted{function, arg};
    if (std::find(listeners_.begin(), listeners_.end(), wanted) != listeners_.end())
        return false;
    listeners_.push_back(wanted);
    return true;
}

bool SwitchListeners::remove(Function function, void *arg) {
    std::unique_lock held(mutex_);
    const Listener wanted{function, arg};
    if (std::erase(listeners_, wanted) == 0)
        return false;
    told_.wait(held, [&] { return !(called_ == wanted) || caller_ == std::this_thread::get_id(); });
    return true;
}

void SwitchListeners::end() {
    const std::lock_guard held(mutex_);
    listeners_.clear();
}

void SwitchListeners::tell(PortId port, const std::vector<SwitchEvent> &events) {
    const auto number = [](SubIndex sub) { return sub.valid() ? int{sub.raw()} : -1; };
    std::unique_lock held(mutex_);
    caller_ = std::this_thread::get_id();
    for (const SwitchEvent &event : events) {
        // Those that are called may add and remove others meanwhile.
        const std::vector<Listener> now = listeners_;
        for (const Listener &listener : now) {
            if (std::find(listeners_.begin(), listeners_.end(), listener) == listeners_.end())
                continue;
            called_ = listener;
            held.unlock();
            listener.function(port.raw(), number(event.from), number(event.to), static_cast<int>(event.why),
                              listener.arg);
            held.lock();
            called_ = {};
            told_.notify_all();
        }
    }
}

} // namespace holdfast
