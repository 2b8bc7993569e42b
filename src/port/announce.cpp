// SPDX-License-Identifier: BSD-3-Clause
#include "port/announce.h"

#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast {
namespace {

constexpr std::uint16_t kRarp = 0x8035;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint8_t kShortest = 60; ///< of an untagged frame, without its check sum

/// Puts one field after the other, in network order.
class Writer {
  public:
    explicit Writer(Frame &frame) noexcept : frame_(frame) {}
    void put(std::uint16_t value) noexcept {
        frame_.bytes[at_++] = static_cast<std::uint8_t>(value >> 8U);
        frame_.bytes[at_++] = static_cast<std::uint8_t>(value & 0xffU);
    }
    void put(const rte_ether_addr &mac) noexcept {
        std::copy_n(mac.addr_bytes, sizeof(mac.addr_bytes), frame_.bytes.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ += sizeof(mac.addr_bytes);
    }
    void skip(std::size_t zeros) noexcept { at_ += zeros; }

  private:
    Frame &frame_;
    std::size_t at_ = 0;
};

} // namespace

Frame rarp_frame(const rte_ether_addr &mac, std::uint16_t vlan) noexcept {
    constexpr rte_ether_addr kAll{.addr_bytes = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    constexpr std::uint16_t kEthernet = 1;
    constexpr std::uint16_t kIpv4 = 0x0800;
    constexpr std::uint16_t kLengths = 0x0604; // of their addresses
    constexpr std::uint16_t kRequestReverse = 3;
    constexpr std::size_t kAddress = 4;
    Frame frame;
    Writer out(frame);
    out.put(kAll);
    out.put(mac);
    if (vlan != 0) {
        out.put(kVlan);
        out.put(vlan);
    }
    out.put(kRarp);
    out.put(kEthernet);
    out.put(kIpv4);
    out.put(kLengths);
    out.put(kRequestReverse);
    out.put(mac); // whoever asks
    out.skip(kAddress);
    out.put(mac); // asks for himself
    frame.length = static_cast<std::uint8_t>(kShortest + (vlan != 0 ? 4 : 0));
    return frame;
}

Frame Announcement::frame(std::size_t number) const noexcept {
    const std::size_t each = 1 + vlans_.size();
    const std::size_t turn = number % each;
    return rarp_frame(macs_[number / each], turn == 0 ? std::uint16_t{0} : vlans_[turn - 1]);
}

} // namespace holdfast
