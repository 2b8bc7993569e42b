// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace holdfast::test {

/// A driver of a test's own, for one scope: its ports carry nothing, and come in the way that the test wants. One at a
/// time. Its devices are PREFIX0, PREFIX1 ..., the ports of a device NAME_0, NAME_1 ...
class StubDriver {
  public:
    enum class News : std::uint8_t {
        kOnce,      ///< as it should be: when the port is complete
        kEarlyToo,  ///< also before it has a device
        kEarlyOnly, ///< only before it has a device
    };
    struct Behaviour {
        int ports = 1; ///< of a device
        News news = News::kOnce;
        std::uint16_t ring_unit = 1; ///< what it gives as the unit of its ring sizes
    };

    StubDriver(std::string prefix, Behaviour behaviour) : prefix_(std::move(prefix)), behaviour_(behaviour) {
        EXPECT_EQ(current_, nullptr);
        current_ = this;
        driver_.driver.name = prefix_.c_str();
        driver_.probe = &probe;
        driver_.remove = &remove;
        rte_vdev_register(&driver_);
    }
    ~StubDriver() {
        rte_vdev_unregister(&driver_);
        current_ = nullptr;
    }
    StubDriver(const StubDriver &) = delete;
    StubDriver &operator=(const StubDriver &) = delete;

    [[nodiscard]] std::string device(int number = 0) const { return prefix_ + std::to_string(number); }
    /// The id of one of its ports, or RTE_MAX_ETHPORTS.
    [[nodiscard]] static std::uint16_t port(const std::string &device, int index = 0) {
        std::uint16_t id = RTE_MAX_ETHPORTS;
        return rte_eth_dev_get_port_by_name(port_name(device, index).c_str(), &id) == 0 ? id : RTE_MAX_ETHPORTS;
    }

  private:
    static std::string port_name(const std::string &device, int index) { return device + "_" + std::to_string(index); }

    static int ok(rte_eth_dev *) { return 0; }
    static int link(rte_eth_dev *dev, int) {
        dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
        return 0;
    }
    static int info(rte_eth_dev *, rte_eth_dev_info *info) {
        info->max_rx_queues = info->max_tx_queues = 1;
        info->max_rx_pktlen = 1518;
        info->max_mac_addrs = 1;
        info->rx_desc_lim.nb_align = info->tx_desc_lim.nb_align = current_->behaviour_.ring_unit;
        return 0;
    }
    static int rx_setup(rte_eth_dev *dev, std::uint16_t q, std::uint16_t, unsigned, const rte_eth_rxconf *,
                        rte_mempool *) {
        dev->data->rx_queues[q] = dev;
        return 0;
    }
    static int tx_setup(rte_eth_dev *dev, std::uint16_t q, std::uint16_t, unsigned, const rte_eth_txconf *) {
        dev->data->tx_queues[q] = dev;
        return 0;
    }
    static std::uint16_t no_burst(void *, rte_mbuf **, std::uint16_t) { return 0; }

    static int probe(rte_vdev_device *vdev) {
        static const eth_dev_ops ops = [] {
            eth_dev_ops o{};
            o.dev_configure = o.dev_start = o.dev_stop = o.dev_close = &ok;
            o.dev_infos_get = &info;
            o.rx_queue_setup = &rx_setup;
            o.tx_queue_setup = &tx_setup;
            o.link_update = &link;
            return o;
        }();
        for (int i = 0; i < current_->behaviour_.ports; i++) {
            rte_eth_dev *dev = rte_eth_dev_allocate(port_name(rte_dev_name(&vdev->device), i).c_str());
            if (dev == nullptr)
                return -ENOMEM;
            if (current_->behaviour_.news != News::kOnce)
                (void)rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_NEW, nullptr);
            dev->device = &vdev->device;
            dev->dev_ops = &ops;
            dev->rx_pkt_burst = dev->tx_pkt_burst = &no_burst;
            dev->data->mac_addrs = static_cast<rte_ether_addr *>(rte_zmalloc("stub", sizeof(rte_ether_addr), 0));
            if (dev->data->mac_addrs == nullptr)
                return -ENOMEM;
            dev->data->mac_addrs[0] = {{2, 0, 0, 0, 1, static_cast<std::uint8_t>(i)}};
            if (current_->behaviour_.news == News::kEarlyOnly)
                dev->state = RTE_ETH_DEV_ATTACHED;
            else
                rte_eth_dev_probing_finish(dev);
        }
        return 0;
    }
    static int remove(rte_vdev_device *vdev) {
        for (int i = 0; i < current_->behaviour_.ports; i++)
            if (rte_eth_dev *dev = rte_eth_dev_allocated(port_name(rte_dev_name(&vdev->device), i).c_str());
                dev != nullptr)
                (void)rte_eth_dev_release_port(dev);
        return 0;
    }

    inline static StubDriver *current_ = nullptr;
    const std::string prefix_;
    const Behaviour behaviour_;
    rte_vdev_driver driver_{};
};

} // namespace holdfast::test
