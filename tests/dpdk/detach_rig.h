// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/virtual_port.h"

#include <rte_dev.h>

#include <cerrno>
#include <string>

/// Foreign hands: somebody else (an application, an operator at its prompt) takes a sub-device off its bus.
namespace holdfast::test {

class Detach : public WithPorts {};

inline int detach(const std::string &name) {
    rte_device *dev = find_vdev(name);
    return dev != nullptr ? rte_dev_remove(dev) : -ENODEV;
}

} // namespace holdfast::test
