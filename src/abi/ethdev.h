// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/stats.h"
#include "base/ids.h"
#include "base/result.h"

#include <rte_ethdev.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::abi {

/// What the control side does to a sub-device's port: ethdev's public functions, as a seam that tests replace. Each
/// answers what ethdev answers (0 or a negative errno). Called with the virtual port's mutex held; may block as long as
/// the sub-device's driver does. The port id must be one we own.
class Ethdev {
  public:
    Ethdev() = default;
    Ethdev(const Ethdev &) = delete;
    Ethdev &operator=(const Ethdev &) = delete;
    virtual ~Ethdev() = default;

    virtual int info(PortId port, rte_eth_dev_info &info) = 0;
    virtual int configure(PortId port, std::uint16_t rx_queues, std::uint16_t tx_queues, const rte_eth_conf &conf) = 0;
    virtual int rx_queue_setup(PortId port, QueueId queue, std::uint16_t descriptors, unsigned socket,
                               const rte_eth_rxconf &conf, rte_mempool *pool) = 0;
    virtual int tx_queue_setup(PortId port, QueueId queue, std::uint16_t descriptors, unsigned socket,
                               const rte_eth_txconf &conf) = 0;
    virtual int start(PortId port) = 0;
    virtual int stop(PortId port) = 0;
    virtual int reset(PortId port) = 0;
    virtual int rx_queue_run(PortId port, QueueId queue, bool run) = 0;
    virtual int tx_queue_run(PortId port, QueueId queue, bool run) = 0;
    /// Can its queues be started and stopped one by one?
    [[nodiscard]] virtual bool can_run_queues(PortId port) = 0;

    virtual int set_link(PortId port, bool up) = 0;
    /// Without waiting for the link to come up.
    virtual int link(PortId port, rte_eth_link &link) = 0;
    virtual int stats(PortId port, PortStats &stats) = 0;
    virtual int stats_reset(PortId port) = 0;
    [[nodiscard]] virtual bool is_removed(PortId port) = 0;

    virtual int set_mtu(PortId port, std::uint16_t mtu) = 0;
    virtual int mtu(PortId port, std::uint16_t &mtu) = 0;
    [[nodiscard]] virtual bool promiscuous(PortId port) = 0;
    [[nodiscard]] virtual bool allmulticast(PortId port) = 0;
    virtual int set_promiscuous(PortId port, bool on) = 0;
    virtual int set_allmulticast(PortId port, bool on) = 0;
    virtual int mac(PortId port, rte_ether_addr &mac) = 0;
    virtual int set_default_mac(PortId port, const rte_ether_addr &mac) = 0;
    virtual int add_mac(PortId port, const rte_ether_addr &mac, std::uint32_t pool) = 0;
    virtual int remove_mac(PortId port, const rte_ether_addr &mac) = 0;
    virtual int set_mc_list(PortId port, std::span<const rte_ether_addr> list) = 0;
    virtual int set_vlan_filter(PortId port, std::uint16_t vlan, bool on) = 0;
    virtual int set_vlan_offload(PortId port, int mask) = 0;
    /// The VLAN offloads that are on, as rte_eth_dev_set_vlan_offload() takes them.
    virtual int vlan_offload(PortId port) = 0;

    /// Makes ready what send() needs, once per process. False: no memory.
    virtual bool prepare_to_send() = 0;
    /// Sends frames of our own on a queue that nobody else uses meanwhile; says how many its driver took.
    virtual std::size_t send(PortId port, QueueId queue, std::span<const std::span<const std::uint8_t>> frames) = 0;

    /// The state of a Tx descriptor, counted from the place of the next packet on (RTE_ETH_TX_DESC_FULL ...).
    virtual int tx_status(PortId port, QueueId queue, std::uint16_t offset) = 0;

    /// What an owner before us left on a port, as far as ethdev remembers it.
    struct Leftovers {
        std::vector<std::pair<rte_ether_addr, std::uint64_t>>
            macs; ///< in use, with its pools as bits; the default first
        std::bitset<4096> vlans;
    };
    virtual Leftovers leftovers(PortId port) = 0;

    /// The key goes where `conf` points, as far as it says there is room.
    virtual int rss(PortId port, rte_eth_rss_conf &conf) = 0;
    virtual int set_rss(PortId port, const rte_eth_rss_conf &conf) = 0;
    /// All of the redirection table, whose size has to be the port's.
    virtual int reta(PortId port, std::span<std::uint16_t> table) = 0;
    virtual int set_reta(PortId port, std::span<const std::uint16_t> table) = 0;
};

/// The real one. Lives as long as the process.
[[nodiscard]] Ethdev &real_ethdev() noexcept;

} // namespace holdfast::abi
