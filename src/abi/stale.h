// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

namespace holdfast::abi {

/// In a secondary: releases a port of this process that the primary has released before, so that the data they shared
/// is zero or another device's by now. ethdev's own release would take the port's id from there, and would reset the
/// burst functions of whatever port that is.
void release_stale(rte_eth_dev &dev, const char *name) noexcept;

} // namespace holdfast::abi
