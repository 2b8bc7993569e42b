// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// A number that names something. Two kinds do not convert into each other, nor from or to a plain number by accident.
template <class Tag, class Rep, Rep None> class Id {
  public:
    using rep = Rep;

    constexpr Id() noexcept = default;
    constexpr explicit Id(Rep value) noexcept : value_(value) {}

    /// The number itself, for a C interface.
    [[nodiscard]] constexpr Rep raw() const noexcept { return value_; }
    [[nodiscard]] constexpr bool valid() const noexcept { return value_ != None; }

    friend constexpr auto operator<=>(const Id &, const Id &) noexcept = default;

  private:
    Rep value_ = None;
};

/// An ethdev port id.
using PortId = Id<struct PortTag, std::uint16_t, 0xffff>;
/// A queue of a port; sub-devices use the same numbers as the virtual port.
using QueueId = Id<struct QueueTag, std::uint16_t, 0xffff>;
/// Position of a sub-device in the devargs, from 0. 0 is the preferred one.
using SubIndex = Id<struct SubTag, std::uint8_t, 0xff>;

static_assert(sizeof(PortId) == sizeof(std::uint16_t) && sizeof(SubIndex) == 1);

/// Limits of one virtual port. The selection word has one bit per sub-device.
inline constexpr std::uint8_t kMaxSubDevices = 16;
inline constexpr std::uint16_t kMaxQueues = 64;

/// Size of a cache line on the machines we build for; datapath.h checks it against DPDK's.
#ifdef __aarch64__
inline constexpr std::size_t kCacheLine = 128; // the longest of such processors, which one binary has to serve
#else
inline constexpr std::size_t kCacheLine = 64;
#endif

} // namespace holdfast
