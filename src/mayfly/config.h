// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mayfly/op.h"
#include "mayfly/script.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::mayfly {

using Mac = std::array<std::uint8_t, 6>;

enum class Mode : std::uint8_t {
    kSink,     ///< takes packets, gives none
    kGenerate, ///< gives numbered packets, takes any
    kLoop,     ///< gives back what it took, queue by queue
    kPair,     ///< gives it to another mayfly, queue by queue
};

inline constexpr std::uint16_t kMostQueues = 64;
inline constexpr std::uint16_t kMostDescriptors = 4096;
inline constexpr std::uint16_t kSmallestPacket = 60;
inline constexpr std::uint16_t kSmallestFlowPacket = 74; ///< Ethernet, IPv4, UDP and a stamp
inline constexpr std::uint16_t kMostFlows = 1024;
inline constexpr std::uint16_t kFirstFlowPort = 1024; ///< UDP source port of flow 0
inline constexpr std::uint8_t kMostPorts = 8;

/// What a device is made to be: its devargs, with the defaults filled in.
struct Config {
    Mode mode = Mode::kSink;
    std::string peer;
    std::uint16_t size = 0;  ///< of generated packets; 0: 64, or what a flow's packet needs
    std::uint16_t flows = 0; ///< generated flows, which RSS spreads; 0: each queue has packets of its own
    std::uint64_t rate = 0;  ///< packets a second over all queues; 0: as fast as polled
    std::optional<Mac> mac;

    std::uint8_t ports = 1;           ///< ethdev ports of the one device
    std::uint32_t probe_delay_ms = 0; ///< how long a probe takes

    std::uint32_t speed = 10000; ///< of its link, in Mbit/s
    std::uint16_t queues = 16;
    std::uint16_t max_mtu = 9600;
    std::uint32_t max_macs = 64;          ///< what it says it has, the default address included
    std::optional<std::uint32_t> macs;    ///< places for further addresses; not told: as many as it says
    std::optional<std::uint32_t> mc_macs; ///< places for multicast addresses; not told: max_macs
    std::uint16_t vlans = 4096;           ///< places for VLANs
    std::uint16_t min_desc = 32;
    std::uint16_t max_desc = kMostDescriptors;
    std::uint16_t desc_align = 1;
    std::uint16_t reta_size = 128;
    std::uint8_t hash_key_size = 40;
    std::uint64_t rx_offloads;
    std::uint64_t tx_offloads;
    bool lsc = true;
    bool rmv = true;
    bool live_mac = true;        ///< may the MAC address change while started?
    bool runtime_queues = false; ///< may queues be set up while started?
    bool dead_tx_refuses = false;
    bool rss = true;
    std::bitset<kOps> no_ops;
    std::string no_caps; ///< what was taken away, by name

    std::string script; ///< its text, by which a re-probe knows it again
    std::vector<Step> steps;

    Config() noexcept;

    [[nodiscard]] std::uint16_t packet_size() const noexcept {
        return size != 0 ? size : flows != 0 ? kSmallestFlowPacket : std::uint16_t{64};
    }
    [[nodiscard]] std::uint32_t mac_places() const noexcept { return macs.value_or(max_macs - 1); }
    [[nodiscard]] std::uint32_t mc_mac_places() const noexcept { return mc_macs.value_or(max_macs); }
};

/// Every key with its values, for `dpdk-pmdinfo.py`.
#define MAYFLY_PARAMS                                                                                                  \
    "mode=sink|generate|loop|pair peer=<name> size=<int> rate=<int> flows=<int> ports=<1..8> mac=<mac> "               \
    "probe_delay=<ms> speed=<Mbit/s> queues=<1..64> max_mtu=<int> "                                                    \
    "max_macs=<int> macs=<int> mc_macs=<int> vlans=<int> min_desc=<int> max_desc=<int> desc_align=<int> "              \
    "reta_size=<int> hash_key_size=<int> "                                                                             \
    "rx_offloads=<mask> tx_offloads=<mask> lsc=0|1 rmv=0|1 live_mac=0|1 runtime_queues=0|1 dead_tx=drop|refuse "       \
    "no_ops=<op;op> no_caps=<cap;cap> script=<command@time;command@time>"

/// Parses a device's devargs ("mode=generate,size=128"), strictly: unknown or repeated keys and bad values are refused.
/// False: `error` says which part is wrong, where it stands and why.
[[nodiscard]] bool parse_config(std::string_view args, Config &config, std::string &error);

[[nodiscard]] std::string_view to_string(Mode mode) noexcept;

} // namespace holdfast::mayfly
