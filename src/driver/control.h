// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "base/selection.h"
#include "port/virtual_port.h"

#include <cerrno>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

/// What telemetry and the C functions have in common: orders to a port that the host thread carries out, and the wait
/// until it has.

inline constexpr Status kNoPort{-ENODEV, "find a Holdfast port with that id"};

/// Gives an order to a port, then waits (2 s at most) until `settled` says of the sub-device that it is done.
/// -ENODEV: no such port; -EINPROGRESS: not done yet.
[[nodiscard]] Status order(PortId port, SubIndex sub, const std::function<Status(VirtualPort &)> &request,
                           const std::function<bool(const VirtualPort::SubInfo &)> &settled);

[[nodiscard]] Status remove_sub(PortId port, SubIndex sub);
[[nodiscard]] Status drop_sub(PortId port, SubIndex sub);
[[nodiscard]] Status plug_sub(PortId port, SubIndex sub);
[[nodiscard]] Status switch_to(PortId port, SubIndex sub, Hold hold);
[[nodiscard]] Status unpin(PortId port);
/// `fault`: what is wrong with the text, if that is why.
[[nodiscard]] Status add_sub(PortId port, std::string_view text, SubIndex &out, std::string &fault);

} // namespace holdfast
