// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/carrier_watch.h"

#include "base/ids.h"
#include "port/virtual_port.h"

#include <algorithm>
#include <vector>

#include <poll.h>

namespace holdfast {

CarrierWatch::~CarrierWatch() = default;

void CarrierWatch::loop() {
    auto next = Clock::time_point::max();
    std::vector<pollfd> none;
    for (;;) {
        wait(next, none);
        if (stopping())
            return;
        next = Clock::time_point::max();
        for (const PortId id : registry_.ids())
            if (const Registry::Pin port = registry_.pin(id))
                next = std::min(next, port->watch_carriers());
    }
}

} // namespace holdfast
