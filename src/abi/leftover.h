// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"

namespace holdfast::abi {

/// Disarms the burst callbacks that others have put on a port of ours, before it is closed: ethdev keeps them for
/// whoever gets the port's id next. A capture tool that ends while its device is away cannot take its callback back (it
/// is asked for by the device's name), frees what the callback writes into all the same, and the device would come back
/// to it. They stay in their lists, so that who put them there can still remove them. Nobody may be inside the port.
void disarm_callbacks(PortId port) noexcept;

} // namespace holdfast::abi
