// SPDX-License-Identifier: BSD-3-Clause
#include "abi/ethdev.h"

#include <ethdev_driver.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace holdfast::abi {
namespace {

/// Of frames of our own; nullptr: no memory. It stays, for a driver may keep a frame for as long as its port runs. Room
/// for those that wait in the queues of all sub-devices of some ports.
rte_mempool *pool() noexcept {
    constexpr unsigned kFrames = 1023;
    constexpr std::uint16_t kRoom = RTE_PKTMBUF_HEADROOM + 128;
    static rte_mempool *const made = [] {
        rte_mempool *pool = rte_mempool_lookup("holdfast_frames"); // of another copy of this driver, for one
        return pool != nullptr ? pool : rte_pktmbuf_pool_create("holdfast_frames", kFrames, 0, 0, kRoom, SOCKET_ID_ANY);
    }();
    return made;
}

class RealEthdev final : public Ethdev {
  public:
    int info(PortId port, rte_eth_dev_info &info) override { return rte_eth_dev_info_get(port.raw(), &info); }
    int configure(PortId port, std::uint16_t rx_queues, std::uint16_t tx_queues, const rte_eth_conf &conf) override {
        return rte_eth_dev_configure(port.raw(), rx_queues, tx_queues, &conf);
    }
    int rx_queue_setup(PortId port, QueueId queue, std::uint16_t descriptors, unsigned socket,
                       const rte_eth_rxconf &conf, rte_mempool *pool) override {
        return rte_eth_rx_queue_setup(port.raw(), queue.raw(), descriptors, socket, &conf, pool);
    }
    int tx_queue_setup(PortId port, QueueId queue, std::uint16_t descriptors, unsigned socket,
                       const rte_eth_txconf &conf) override {
        return rte_eth_tx_queue_setup(port.raw(), queue.raw(), descriptors, socket, &conf);
    }
    int start(PortId port) override { return rte_eth_dev_start(port.raw()); }
    int stop(PortId port) override { return rte_eth_dev_stop(port.raw()); }
    int reset(PortId port) override { return rte_eth_dev_reset(port.raw()); }
    int rx_queue_run(PortId port, QueueId queue, bool run) override {
        return run ? rte_eth_dev_rx_queue_start(port.raw(), queue.raw())
                   : rte_eth_dev_rx_queue_stop(port.raw(), queue.raw());
    }
    int tx_queue_run(PortId port, QueueId queue, bool run) override {
        return run ? rte_eth_dev_tx_queue_start(port.raw(), queue.raw())
                   : rte_eth_dev_tx_queue_stop(port.raw(), queue.raw());
    }

    bool can_run_queues(PortId port) override {
        const eth_dev_ops *ops = rte_eth_devices[port.raw()].dev_ops;
        return ops != nullptr && ops->rx_queue_start != nullptr && ops->tx_queue_start != nullptr;
    }

    int set_link(PortId port, bool up) override {
        return up ? rte_eth_dev_set_link_up(port.raw()) : rte_eth_dev_set_link_down(port.raw());
    }
    int link(PortId port, rte_eth_link &link) override { return rte_eth_link_get_nowait(port.raw(), &link); }
    int stats(PortId port, PortStats &stats) override { return read_stats(port, stats); }
    int stats_reset(PortId port) override { return rte_eth_stats_reset(port.raw()); }
    bool is_removed(PortId port) override { return rte_eth_dev_is_removed(port.raw()) != 0; }

    int set_mtu(PortId port, std::uint16_t mtu) override { return rte_eth_dev_set_mtu(port.raw(), mtu); }
    int mtu(PortId port, std::uint16_t &mtu) override { return rte_eth_dev_get_mtu(port.raw(), &mtu); }
    bool prepare_to_send() override { return pool() != nullptr; }
    std::size_t send(PortId port, QueueId queue, std::span<const std::span<const std::uint8_t>> frames) override {
        std::array<rte_mbuf *, 32> mbufs{};
        const std::size_t n = std::min(frames.size(), mbufs.size());
        if (n == 0 || pool() == nullptr || rte_pktmbuf_alloc_bulk(pool(), mbufs.data(), static_cast<unsigned>(n)) != 0)
            return 0;
        for (std::size_t i = 0; i < n; i++)
            std::memcpy(rte_pktmbuf_append(mbufs[i], static_cast<std::uint16_t>(frames[i].size())), frames[i].data(),
                        frames[i].size());
        const std::uint16_t sent =
            rte_eth_tx_burst(port.raw(), queue.raw(), mbufs.data(), static_cast<std::uint16_t>(n));
        rte_pktmbuf_free_bulk(mbufs.data() + sent, static_cast<unsigned>(n - sent));
        return sent;
    }
    int tx_status(PortId port, QueueId queue, std::uint16_t offset) override {
        return rte_eth_tx_descriptor_status(port.raw(), queue.raw(), offset);
    }
    bool promiscuous(PortId port) override { return rte_eth_promiscuous_get(port.raw()) == 1; }
    bool allmulticast(PortId port) override { return rte_eth_allmulticast_get(port.raw()) == 1; }
    int set_promiscuous(PortId port, bool on) override {
        return on ? rte_eth_promiscuous_enable(port.raw()) : rte_eth_promiscuous_disable(port.raw());
    }
    int set_allmulticast(PortId port, bool on) override {
        return on ? rte_eth_allmulticast_enable(port.raw()) : rte_eth_allmulticast_disable(port.raw());
    }
    int mac(PortId port, rte_ether_addr &mac) override { return rte_eth_macaddr_get(port.raw(), &mac); }
    // ethdev takes non-const addresses but only reads them; copies keep our own const.
    int set_default_mac(PortId port, const rte_ether_addr &mac) override {
        rte_ether_addr copy = mac;
        return rte_eth_dev_default_mac_addr_set(port.raw(), &copy);
    }
    int add_mac(PortId port, const rte_ether_addr &mac, std::uint32_t pool) override {
        rte_ether_addr copy = mac;
        return rte_eth_dev_mac_addr_add(port.raw(), &copy, pool);
    }
    int remove_mac(PortId port, const rte_ether_addr &mac) override {
        rte_ether_addr copy = mac;
        const int rc = rte_eth_dev_mac_addr_remove(port.raw(), &copy);
        // The driver's operation has no result, so here ethdev does not ask whether the device is still there.
        return rc == 0 && is_removed(port) ? -EIO : rc;
    }
    int set_mc_list(PortId port, std::span<const rte_ether_addr> list) override {
        return rte_eth_dev_set_mc_addr_list(port.raw(), const_cast<rte_ether_addr *>(list.data()),
                                            static_cast<std::uint32_t>(list.size()));
    }
    int set_vlan_filter(PortId port, std::uint16_t vlan, bool on) override {
        return rte_eth_dev_vlan_filter(port.raw(), vlan, on ? 1 : 0);
    }
    int set_vlan_offload(PortId port, int mask) override { return rte_eth_dev_set_vlan_offload(port.raw(), mask); }
    int vlan_offload(PortId port) override { return rte_eth_dev_get_vlan_offload(port.raw()); }

    Leftovers leftovers(PortId port) override {
        Leftovers out;
        rte_eth_dev_info limits{};
        if (rte_eth_dev_info_get(port.raw(), &limits) != 0)
            return out;
        // There are public getters for the addresses but none for their pools, nor for the VLANs.
        const rte_eth_dev_data &data = *rte_eth_devices[port.raw()].data;
        const std::uint32_t macs = std::min<std::uint32_t>(limits.max_mac_addrs, RTE_ETH_NUM_RECEIVE_MAC_ADDR);
        for (std::uint32_t i = 0; i < macs && data.mac_addrs != nullptr; i++)
            if (data.mac_pool_sel[i] != 0 && rte_is_zero_ether_addr(&data.mac_addrs[i]) == 0)
                out.macs.emplace_back(data.mac_addrs[i], data.mac_pool_sel[i]);
        constexpr std::size_t kBits = 64;
        for (std::size_t vlan = 0; vlan < out.vlans.size(); vlan++)
            out.vlans[vlan] = (data.vlan_filter_conf.ids[vlan / kBits] >> (vlan % kBits) & 1U) != 0;
        return out;
    }

    int rss(PortId port, rte_eth_rss_conf &conf) override { return rte_eth_dev_rss_hash_conf_get(port.raw(), &conf); }
    int set_rss(PortId port, const rte_eth_rss_conf &conf) override {
        rte_eth_rss_conf copy = conf; // ethdev writes the functions as it understands them
        return rte_eth_dev_rss_hash_update(port.raw(), &copy);
    }
    int reta(PortId port, std::span<std::uint16_t> table) override {
        RetaEntries entries{};
        if (!all_of(table.size(), entries))
            return -EINVAL;
        const int rc = rte_eth_dev_rss_reta_query(port.raw(), entries.data(), static_cast<std::uint16_t>(table.size()));
        for (std::size_t i = 0; rc == 0 && i < table.size(); i++)
            table[i] = entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
        return rc;
    }
    int set_reta(PortId port, std::span<const std::uint16_t> table) override {
        RetaEntries entries{};
        if (!all_of(table.size(), entries))
            return -EINVAL;
        for (std::size_t i = 0; i < table.size(); i++)
            entries[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = table[i];
        return rte_eth_dev_rss_reta_update(port.raw(), entries.data(), static_cast<std::uint16_t>(table.size()));
    }

  private:
    /// Room for the largest table that a 16-bit size of ours is likely to name; drivers' are 64 to 2048.
    using RetaEntries = std::array<rte_eth_rss_reta_entry64, 64>;
    static bool all_of(std::size_t size, RetaEntries &entries) noexcept {
        if (size > entries.size() * RTE_ETH_RETA_GROUP_SIZE)
            return false;
        for (std::size_t i = 0; i < size; i++)
            entries[i / RTE_ETH_RETA_GROUP_SIZE].mask |= std::uint64_t{1} << (i % RTE_ETH_RETA_GROUP_SIZE);
        return true;
    }
};

} // namespace

Ethdev &real_ethdev() noexcept {
    // Never destroyed: the host thread may still use it while the process exits.
    static RealEthdev *const ethdev = new RealEthdev;
    return *ethdev;
}

} // namespace holdfast::abi
