// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/config.h"

#include "mayfly/no_caps.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <limits>
#include <set>

namespace holdfast::mayfly {
namespace {

constexpr std::uint64_t kRxOffloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER |
                                      RTE_ETH_RX_OFFLOAD_VLAN_EXTEND | RTE_ETH_RX_OFFLOAD_QINQ_STRIP |
                                      RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |
                                      RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER |
                                      RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TIMESTAMP;
constexpr std::uint64_t kTxOffloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                      RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                                      RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;

/// Reads one value into the configuration; nullptr, or why it cannot.
using Reader = const char *(*)(const Part &value, Config &config, Part &culprit);

template <class T> void put(std::uint64_t value, T &field) noexcept {
    field = static_cast<T>(value);
}
template <class T> void put(std::uint64_t value, std::optional<T> &field) noexcept {
    field = static_cast<T>(value);
}

template <auto Member, std::uint64_t Min, std::uint64_t Max>
const char *number(const Part &value, Config &config, Part & /*culprit*/) {
    const auto parsed = parse_number(value.text, Max);
    if (!parsed || *parsed < Min)
        return "not a number in the range of this key";
    put(*parsed, config.*Member);
    return nullptr;
}

template <bool Config::*Member> const char *flag(const Part &value, Config &config, Part & /*culprit*/) {
    if (value.text != "0" && value.text != "1")
        return "neither 0 nor 1";
    config.*Member = value.text == "1";
    return nullptr;
}

const char *read_mode(const Part &value, Config &config, Part & /*culprit*/) {
    for (const Mode mode : {Mode::kSink, Mode::kGenerate, Mode::kLoop, Mode::kPair}) {
        if (value.text == to_string(mode)) {
            config.mode = mode;
            return nullptr;
        }
    }
    return "not sink, generate, loop or pair";
}

const char *read_peer(const Part &value, Config &config, Part & /*culprit*/) {
    if (!value.text.starts_with("net_mayfly") || value.text.size() >= RTE_ETH_NAME_MAX_LEN)
        return "a peer is another mayfly: net_mayfly1";
    config.peer = value.text;
    return nullptr;
}

const char *read_mac(const Part &value, Config &config, Part & /*culprit*/) {
    Mac mac{};
    const std::vector<Part> bytes = split(value.text, ':');
    if (bytes.size() != mac.size())
        return "not a MAC address";
    for (std::size_t i = 0; i < mac.size(); i++) {
        unsigned byte = 0;
        const char *end = bytes[i].text.data() + bytes[i].text.size();
        const auto [stop, error] = std::from_chars(bytes[i].text.data(), end, byte, 16);
        if (bytes[i].text.size() != 2 || error != std::errc() || stop != end)
            return "not a MAC address";
        mac[i] = static_cast<std::uint8_t>(byte);
    }
    if ((mac[0] & 1) != 0 || mac == Mac{})
        return "not the address of one station";
    config.mac = mac;
    return nullptr;
}

const char *read_dead_tx(const Part &value, Config &config, Part & /*culprit*/) {
    if (value.text != "drop" && value.text != "refuse")
        return "neither drop nor refuse";
    config.dead_tx_refuses = value.text == "refuse";
    return nullptr;
}

const char *read_no_ops(const Part &value, Config &config, Part &culprit) {
    for (const Part &part : split(value.text, ';', value.at)) {
        culprit = part;
        const auto op = find_op(part.text);
        if (!op)
            return "no such operation";
        if (traits(*op).must_exist)
            return "no driver can do without this operation";
        config.no_ops.set(index(*op));
    }
    return nullptr;
}

const char *read_no_caps(const Part &value, Config &config, Part &culprit) {
    for (const Part &part : split(value.text, ';', value.at)) {
        culprit = part;
        if (Config scratch; !remove_capability(part.text, scratch))
            return "no such capability";
    }
    config.no_caps = value.text;
    return nullptr;
}

const char *read_script(const Part &value, Config &config, Part & /*culprit*/) {
    config.script = value.text;
    return nullptr;
}

struct Key {
    std::string_view name;
    Reader read;
};

constexpr auto kMax64 = std::numeric_limits<std::uint64_t>::max();

constexpr Key kKeys[] = {
    {"mode", read_mode},
    {"peer", read_peer},
    {"size", number<&Config::size, kSmallestPacket, 9614>},
    {"flows", number<&Config::flows, 0, kMostFlows>},
    {"ports", number<&Config::ports, 1, kMostPorts>},
    {"probe_delay", number<&Config::probe_delay_ms, 0, 60'000>},
    {"speed", number<&Config::speed, 1, 800'000>},
    {"rate", number<&Config::rate, 0, 1'000'000'000>},
    {"mac", read_mac},
    {"queues", number<&Config::queues, 1, kMostQueues>},
    {"max_mtu", number<&Config::max_mtu, RTE_ETHER_MIN_MTU, 9600>},
    {"max_macs", number<&Config::max_macs, 1, RTE_ETH_NUM_RECEIVE_MAC_ADDR>},
    {"macs", number<&Config::macs, 0, RTE_ETH_NUM_RECEIVE_MAC_ADDR>},
    {"mc_macs", number<&Config::mc_macs, 0, 4096>},
    {"vlans", number<&Config::vlans, 0, 4096>},
    {"min_desc", number<&Config::min_desc, 1, kMostDescriptors>},
    {"max_desc", number<&Config::max_desc, 1, kMostDescriptors>},
    {"desc_align", number<&Config::desc_align, 1, kMostDescriptors>},
    {"reta_size", number<&Config::reta_size, 0, RTE_ETH_RSS_RETA_SIZE_512>},
    {"hash_key_size", number<&Config::hash_key_size, 0, 255>},
    {"rx_offloads", number<&Config::rx_offloads, 0, kMax64>},
    {"tx_offloads", number<&Config::tx_offloads, 0, kMax64>},
    {"lsc", flag<&Config::lsc>},
    {"rmv", flag<&Config::rmv>},
    {"live_mac", flag<&Config::live_mac>},
    {"runtime_queues", flag<&Config::runtime_queues>},
    {"dead_tx", read_dead_tx},
    {"no_ops", read_no_ops},
    {"no_caps", read_no_caps},
    {"script", read_script},
    {"max_queues", number<&Config::queues, 1, kMostQueues>}, // another name of "queues"
};

/// What no single key can see.
const char *contradiction(const Config &config) {
    if (config.mode == Mode::kPair && config.peer.empty())
        return "mode=pair wants a peer=";
    if (config.mode != Mode::kPair && !config.peer.empty())
        return "peer= is for mode=pair";
    if (config.min_desc > config.max_desc || config.max_desc % config.desc_align != 0)
        return "min_desc, max_desc and desc_align do not fit together";
    if (config.size > config.max_mtu + RTE_ETHER_HDR_LEN)
        return "size= is more than max_mtu= allows";
    if (config.flows != 0 && config.mode != Mode::kGenerate)
        return "flows= is for mode=generate";
    if (config.flows != 0 && config.packet_size() < kSmallestFlowPacket)
        return "size= is too small for the headers of flows=";
    if (config.reta_size % RTE_ETH_RETA_GROUP_SIZE != 0)
        return "reta_size= is a multiple of 64";
    return nullptr;
}

} // namespace

Config::Config() noexcept : rx_offloads(kRxOffloads), tx_offloads(kTxOffloads) {}

std::string_view to_string(Mode mode) noexcept {
    switch (mode) {
    case Mode::kSink:
        return "sink";
    case Mode::kGenerate:
        return "generate";
    case Mode::kLoop:
        return "loop";
    case Mode::kPair:
        return "pair";
    }
    return "?";
}

bool parse_config(std::string_view args, Config &config, std::string &error) {
    Config parsed;
    std::set<std::string_view> seen;
    const std::vector<Part> parts = args.empty() ? std::vector<Part>{} : split(args, ',');
    for (const Part &part : parts) {
        const std::size_t equals = part.text.find('=');
        const std::string_view name = part.text.substr(0, equals);
        if (equals == std::string_view::npos) {
            error = complaint(args, part, "not of the form key=value");
            return false;
        }
        const auto *const key =
            std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key &k) { return k.name == name; });
        if (key == std::end(kKeys)) {
            error = complaint(args, {name, part.at}, "no such key");
            return false;
        }
        if (!seen.insert(name == "max_queues" ? "queues" : name).second) {
            error = complaint(args, part, "this key came before");
            return false;
        }
        const Part value{part.text.substr(equals + 1), part.at + equals + 1};
        Part culprit = value;
        if (const char *why = key->read(value, parsed, culprit); why != nullptr) {
            error = std::string(name) + ": " + complaint(args, culprit, why);
            return false;
        }
    }
    // Last, so that it holds against every other key, in whatever order they came.
    if (!parsed.no_caps.empty())
        for (const Part &part : split(parsed.no_caps, ';'))
            (void)remove_capability(part.text, parsed);
    if (const char *why = contradiction(parsed); why != nullptr) {
        error = complaint(args, {args, 0}, why);
        return false;
    }
    if (seen.contains("script")) {
        if (std::string inner; !parse_script(parsed.script, parsed.steps, inner)) {
            error = "script: " + inner;
            return false;
        }
    }
    config = parsed;
    return true;
}

} // namespace holdfast::mayfly
