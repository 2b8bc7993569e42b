// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace holdfast {

/// Registers the /holdfast/... commands with DPDK's telemetry, once per process. Without telemetry there are none.
///
///     /holdfast/list                  ids of the Holdfast ports
///     /holdfast/info,PORT             the port and its sub-devices
///     /holdfast/switch,PORT,SUB       makes a sub-device active, until it leaves or the next such command
///     /holdfast/remove,PORT,SUB       removes a sub-device; it stays absent until it is plugged by hand
///     /holdfast/plug,PORT,SUB         lets a sub-device back in
///
/// SUB is its position in the devargs, from 0. The last three answer "status" (0 or a negative errno) and "message";
/// remove and plug wait for the host thread, at most 2 s, and then answer -EINPROGRESS.
void register_telemetry();

} // namespace holdfast
