// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ether.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast {

/// A frame as it goes onto the wire, without its check sum.
struct Frame {
    std::array<std::uint8_t, 64> bytes{};
    std::uint8_t length = 0;
};

/// A RARP request for itself (RFC 903), broadcast by `mac`, as hypervisors send it after a migration: each bridge and
/// switch that it passes learns where that address is, and nobody answers it. `vlan`: in that VLAN (IEEE 802.1Q); 0:
/// untagged.
[[nodiscard]] Frame rarp_frame(const rte_ether_addr &mac, std::uint16_t vlan) noexcept;

/// All frames of one announcement, in their order: of each address, untagged and then in each VLAN.
class Announcement {
  public:
    Announcement() = default;
    Announcement(std::vector<rte_ether_addr> macs, std::vector<std::uint16_t> vlans)
        : macs_(std::move(macs)), vlans_(std::move(vlans)) {}

    [[nodiscard]] std::size_t size() const noexcept { return macs_.size() * (1 + vlans_.size()); }
    [[nodiscard]] Frame frame(std::size_t number) const noexcept;

  private:
    std::vector<rte_ether_addr> macs_;
    std::vector<std::uint16_t> vlans_;
};

} // namespace holdfast
