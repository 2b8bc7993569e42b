// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/ethdev.h"
#include "base/ids.h"

#include <rte_ether.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

namespace holdfast {

/// @name One change to a port's settings, as one call to a driver carries it out
/// @{
struct Mtu {
    std::uint16_t mtu;
};
struct Promiscuous {
    bool on;
};
struct Allmulticast {
    bool on;
};
struct DefaultMac {
    rte_ether_addr mac;
};
struct MacAdd {
    rte_ether_addr mac;
    std::uint32_t pool;
};
struct MacRemove {
    rte_ether_addr mac;
};
struct VlanFilter {
    std::uint16_t vlan;
    bool on;
};
struct VlanOffload {
    int mask;
};
struct McList {
    std::vector<rte_ether_addr> list;
};
struct LinkUp {
    bool up;
};
/// RSS. A key that is empty leaves the one that is there.
struct Rss {
    std::uint64_t functions = 0;
    std::uint32_t algorithm = 0; ///< an enum rte_eth_hash_function
    std::vector<std::uint8_t> key{};
};
/// Its redirection table, whole.
struct Reta {
    std::vector<std::uint16_t> queues{};
};
/// @}
using Change = std::variant<Mtu, Promiscuous, Allmulticast, DefaultMac, MacAdd, MacRemove, VlanFilter, VlanOffload,
                            McList, LinkUp, Rss, Reta>;

/// The VLAN offloads among Rx offloads, as rte_eth_dev_set_vlan_offload() names them.
[[nodiscard]] int vlan_offloads(std::uint64_t rx_offloads) noexcept;

/// Does a device have to get this before it starts? Some take it only while stopped, and an address has to leave the
/// list before it can become the default one.
[[nodiscard]] bool belongs_before_start(const Change &change) noexcept;

/// "set the MTU", for messages.
[[nodiscard]] const char *describe(const Change &change) noexcept;

/// Carries a change out on one sub-device: the only place that does, for what the application sets now and for what a
/// late sub-device gets later. Answers what ethdev answers.
int apply(abi::Ethdev &ethdev, PortId port, const Change &change);

/// Addresses with the pools that each is in. What one change costs does not depend on how many there are.
class MacTable {
  public:
    void add(const MacAdd &entry);
    /// Out of all its pools.
    void remove(const rte_ether_addr &mac);
    /// Bit n: it is in pool n. 0: it is not here.
    [[nodiscard]] std::uint64_t pools(const rte_ether_addr &mac) const;
    [[nodiscard]] bool has(const MacAdd &entry) const { return (pools(entry.mac) >> entry.pool & 1U) != 0; }
    /// What adds one address, one entry per pool.
    [[nodiscard]] std::vector<MacAdd> of(const rte_ether_addr &mac) const;
    /// What adds all of them, in the order in which they came: the first ones are there in a smaller table too.
    [[nodiscard]] std::vector<MacAdd> entries() const;
    [[nodiscard]] std::size_t addresses() const noexcept { return table_.size(); }

  private:
    struct Entry {
        std::uint64_t pools = 0;
        std::uint64_t turn = 0;
    };
    std::unordered_map<std::uint64_t, Entry> table_; ///< by the address as a number
    std::uint64_t turns_ = 0;
};

/// What is set on a port. One is the record of the virtual port (what the application asked for), and each sub-device
/// has one of what it was given so far. Not thread-safe: belongs under the port's mutex.
class Settings {
  public:
    std::optional<std::uint16_t> mtu{};
    std::optional<bool> promiscuous{};
    std::optional<bool> allmulticast{};
    std::optional<rte_ether_addr> default_mac{};
    MacTable macs{}; ///< beside the default one
    std::bitset<4096> vlans{};
    std::optional<int> vlan_offload{};
    std::optional<std::vector<rte_ether_addr>> mc_list{}; ///< nothing: empty, or not known
    std::optional<bool> link_up{};
    std::optional<Rss> rss{};
    std::vector<std::uint16_t> reta{}; ///< empty: never set
    /// A device that had another owner before us: what is not known of it may be anything, not only what a new device
    /// has.
    bool second_hand = false;

    /// Notes that a change was carried out.
    void record(const Change &change);

    /// The changes that bring a device with these settings back, once `change` was carried out on it.
    [[nodiscard]] std::vector<Change> undo(const Change &change) const;

    /// The changes that a device with settings `has` needs to get these, in order: what it has too much of goes first.
    /// What was never set is left as it is, but for a second-hand device: that gets what a new one has.
    [[nodiscard]] std::vector<Change> missing_from(const Settings &has) const;
};

} // namespace holdfast
