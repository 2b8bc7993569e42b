// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::test {

/// A packet's bytes, put together from its headers.
struct FrameSpec {
    std::uint8_t to = 1, from = 2;          ///< last bytes of the MAC addresses
    std::vector<std::uint16_t> tags{};      ///< their types, the outermost first
    std::uint16_t type = 0;                 ///< 0: what the rest is
    int version = 4;                        ///< of IP; 0: no IP
    std::uint8_t source = 10, sink = 20;    ///< last bytes of the IP addresses
    std::uint8_t protocol = 17;             ///< what comes after the headers
    std::uint16_t options = 0;              ///< bytes of IPv4 options
    std::uint16_t fragment = 0;             ///< IPv4: flags and offset, or those of an IPv6 fragment header
    std::vector<std::uint8_t> extensions{}; ///< IPv6: their types; the first byte behind the fixed part is theirs
    std::uint8_t extension_length = 0;      ///< of each, as it says itself
    std::uint16_t source_port = 1000, sink_port = 2000;
    std::size_t payload = 20;
};

class Frame {
  public:
    explicit Frame(const FrameSpec &spec) {
        for (const std::uint8_t last : {spec.to, spec.from}) {
            put({2, 0, 0, 0, 0});
            bytes_.push_back(last);
        }
        for (const std::uint16_t tag : spec.tags) {
            put16(tag);
            put16(100);
        }
        put16(spec.type != 0 ? spec.type : spec.version == 4 ? 0x0800 : spec.version == 6 ? 0x86dd : 0x88b5);
        ip_ = bytes_.size();
        if (spec.version == 4)
            put_ipv4(spec);
        else if (spec.version == 6)
            put_ipv6(spec);
        transport_ = bytes_.size();
        put16(spec.source_port);
        put16(spec.sink_port);
        bytes_.resize(bytes_.size() + spec.payload, 0x5a);
    }
    [[nodiscard]] const std::vector<std::uint8_t> &bytes() const { return bytes_; }
    [[nodiscard]] std::size_t ip() const { return ip_; }
    [[nodiscard]] std::size_t transport() const { return transport_; }

  private:
    void put(const std::vector<std::uint8_t> &more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
    void put16(std::uint16_t n) {
        bytes_.push_back(static_cast<std::uint8_t>(n >> 8U));
        bytes_.push_back(static_cast<std::uint8_t>(n & 0xffU));
    }
    void put_ipv4(const FrameSpec &spec) {
        bytes_.push_back(static_cast<std::uint8_t>(0x40 | (5 + spec.options / 4)));
        bytes_.push_back(0);
        put16(static_cast<std::uint16_t>(24 + spec.options + spec.payload));
        put16(0x1234);
        put16(spec.fragment);
        put({64, spec.protocol, 0, 0, 10, 0, 0, spec.source, 10, 0, 0, spec.sink});
        bytes_.resize(bytes_.size() + spec.options, 1);
    }
    void put_ipv6(const FrameSpec &spec) {
        put({0x60, 0, 0, 0, 0, 24});
        bytes_.push_back(spec.extensions.empty() ? spec.protocol : spec.extensions.front());
        bytes_.push_back(64);
        for (const std::uint8_t last : {spec.source, spec.sink}) {
            put({0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
            bytes_.push_back(last);
        }
        for (std::size_t i = 0; i < spec.extensions.size(); i++) {
            const std::size_t begin = bytes_.size();
            bytes_.push_back(i + 1 < spec.extensions.size() ? spec.extensions[i + 1] : spec.protocol);
            if (spec.extensions[i] == 44) {
                bytes_.push_back(0);
                put16(spec.fragment);
                put({0, 0, 0, 7});
                continue;
            }
            bytes_.push_back(spec.extension_length);
            bytes_.resize(begin + (std::size_t{spec.extension_length} + 1) * 8, 0);
        }
    }

    std::vector<std::uint8_t> bytes_;
    std::size_t ip_ = 0;
    std::size_t transport_ = 0;
};

} // namespace holdfast::test
