// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/rx_interrupts.h"
#include "abi/stats.h"
#include "base/result.h"
#include "mayfly/config.h"
#include "mayfly/device.h"
#include "mayfly/queue.h"

#include <ethdev_driver.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <type_traits>

namespace holdfast::mayfly {

/// The ethdev port of a device, for one life: what the slots of eth_dev_ops call. Primary process only. Belongs to
/// rte_eth_dev::process_private; close() deletes it.
class Port {
  public:
    Port(Device &device, Device *peer, const Config &config, rte_eth_dev &dev, const Mac &mac);
    Port(const Port &) = delete;
    Port &operator=(const Port &) = delete;

    /// Begins the life of the device. False: it was unplugged meanwhile.
    [[nodiscard]] bool begin();

    /// Every operation goes through this one function: it counts the call, springs what is armed for it, and answers
    /// for dead hardware. Methods give Status, or what their slot wants.
    template <Op Code, auto Method, class Ret, class... Args> Ret perform(Args... args) {
        Device &device = device_; // close() deletes *this
        const std::uint32_t life = life_;
        int error = device.enter(Code);
        if (error == 0 && !traits(Code).without_hardware)
            error = device.hardware(life, Code);
        if constexpr (Code == Op::kClose) {
            const int rc = (this->*Method)(args...); // ethdev releases the port whatever we say
            return error != 0 ? error : rc;
        } else if constexpr (Code == Op::kIsRemoved) {
            return error != 0 ? 0 : (this->*Method)(args...); // the failure of this one is a lie
        } else if constexpr (std::is_void_v<Ret>) {
            if (error == 0 || traits(Code).cannot_fail)
                (this->*Method)(args...);
        } else if constexpr (std::is_pointer_v<Ret>) {
            return error != 0 ? nullptr : (this->*Method)(args...);
        } else if constexpr (std::is_same_v<Ret, Status>) {
            return error != 0 ? Status(error, traits(Code).name.data()) : (this->*Method)(args...);
        } else {
            return error != 0 ? error : (this->*Method)(args...);
        }
    }

    // Life and queues: port_life.cpp, port_queues.cpp
    Status configure();
    Status start();
    Status stop();
    int close();
    Status reset();
    int is_removed();
    Status rx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket, const rte_eth_rxconf *conf,
                          rte_mempool *pool);
    Status tx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket, const rte_eth_txconf *conf);
    void rx_queue_release(std::uint16_t queue);
    void tx_queue_release(std::uint16_t queue);
    Status rx_queue_start(std::uint16_t queue);
    Status rx_queue_stop(std::uint16_t queue);
    Status tx_queue_start(std::uint16_t queue);
    Status tx_queue_stop(std::uint16_t queue);
    Status rx_intr_enable(std::uint16_t queue);
    Status rx_intr_disable(std::uint16_t queue);
    void rxq_info(std::uint16_t queue, rte_eth_rxq_info *info);
    void txq_info(std::uint16_t queue, rte_eth_txq_info *info);

    // What an application sets: port_settings.cpp, port_rss.cpp
    Status promiscuous_enable();
    Status promiscuous_disable();
    Status allmulticast_enable();
    Status allmulticast_disable();
    void mac_remove(std::uint32_t slot);
    Status mac_add(rte_ether_addr *mac, std::uint32_t slot, std::uint32_t pool);
    Status mac_set(rte_ether_addr *mac);
    Status mc_list(rte_ether_addr *list, std::uint32_t count);
    Status mtu_set(std::uint16_t mtu);
    Status vlan_filter(std::uint16_t vlan, int on);
    Status vlan_tpid(enum rte_vlan_type type, std::uint16_t tpid);
    void vlan_strip_queue(std::uint16_t queue, int on);
    Status vlan_offload(int mask);
    Status vlan_pvid(std::uint16_t vlan, int on);
    Status flow_ctrl_get(rte_eth_fc_conf *conf);
    Status flow_ctrl_set(rte_eth_fc_conf *conf);
    Status rss_update(rte_eth_rss_conf *conf);
    Status rss_get(rte_eth_rss_conf *conf);
    Status reta_update(rte_eth_rss_reta_entry64 *reta, std::uint16_t size);
    Status reta_query(rte_eth_rss_reta_entry64 *reta, std::uint16_t size);
    Status ptypes_set(std::uint32_t mask);
    Status link_up();
    Status link_down();

    // Its clocks: port_time.cpp
    Status timesync_enable();
    Status timesync_disable();
    Status timesync_read_rx(timespec *time, std::uint32_t flags);
    Status timesync_read_tx(timespec *time);
    Status timesync_adjust_time(std::int64_t nanoseconds);
    Status timesync_adjust_freq(std::int64_t ppm);
    Status timesync_read_time(timespec *time);
    Status timesync_write_time(const timespec *time);
    Status read_clock(std::uint64_t *clock);

    // What it can ask: port_info.cpp, port_stats.cpp
    int link_update(int wait);
    Status info(rte_eth_dev_info *info);
    Status burst_mode(std::uint16_t queue, rte_eth_burst_mode *mode);
    int fw_version(char *text, std::size_t size);
    const std::uint32_t *ptypes(std::size_t *count);
    Status dump(FILE *file);
    Status stats(abi::PortStats *stats);
    Status stats_reset();
    int xstats(rte_eth_xstat *values, unsigned n);
    int xstats_names(rte_eth_xstat_name *names, unsigned n);
    int xstats_by_id(const std::uint64_t *ids, std::uint64_t *values, unsigned n);
    int xstats_names_by_id(const std::uint64_t *ids, rte_eth_xstat_name *names, unsigned n);
    Status xstats_reset();

    /// A look at the counters of one queue, or what they were at the last reset.
    struct Reading {
        std::uint64_t packets = 0, bytes = 0, calls = 0, no_mbuf = 0, no_peer = 0, dead = 0, no_link = 0, rung = 0;
        [[nodiscard]] std::uint64_t dropped() const noexcept { return no_peer + dead + no_link; }
        Reading &operator-=(const Reading &then) noexcept;
    };

    [[nodiscard]] Device &device() const noexcept { return device_; }

  private:
    [[nodiscard]] Queue *rx(std::uint16_t queue) const noexcept;
    [[nodiscard]] Queue *tx(std::uint16_t queue) const noexcept;
    [[nodiscard]] Queue *make_queue() noexcept;
    [[nodiscard]] Status check_descriptors(std::uint16_t descriptors) const noexcept;
    [[nodiscard]] bool reads_inbox() const noexcept {
        return config_.mode == Mode::kLoop || config_.mode == Mode::kPair;
    }
    void run_rx(std::uint16_t number, Queue &queue);
    void halt_rx(std::uint16_t number, Queue &queue, Running state) noexcept;
    void halt_tx(std::uint16_t number, Queue &queue, Running state) noexcept;
    void note_trespass(const Queue &queue, const char *where) noexcept;
    void halt_all() noexcept;
    void release(void **slot) noexcept;
    [[nodiscard]] Settings initial() const;
    [[nodiscard]] Reading read(bool rx, std::uint16_t queue) const noexcept;
    [[nodiscard]] Reading since_reset(bool rx, std::uint16_t queue) const noexcept;
    [[nodiscard]] unsigned xstats_count() const noexcept;
    [[nodiscard]] std::uint64_t xstat(unsigned id) const noexcept;
    /// Tells the lcores where RSS sends each flow now.
    void steer() noexcept;
    Status set_up_interrupts();
    [[nodiscard]] Status latched(std::atomic<std::uint64_t> &when, timespec *time);

    Device &device_;
    Device *const peer_; ///< whose inboxes our Tx fills; itself in loop mode, nullptr: nobody's
    const Config config_;
    rte_eth_dev &dev_;
    const Mac factory_mac_;
    std::uint32_t life_ = 0;
    eth_dev_ops ops_; ///< of this port: optional ones can be missing
    std::array<Reading, kMostQueues> rx_base_{};
    std::array<Reading, kMostQueues> tx_base_{};
    std::array<std::uint64_t, Device::kCounts> count_base_{}; ///< of the extended counters that are the device's
    abi::RxInterrupts interrupts_;
};

/// The operations of a port, less those that `config` takes away.
[[nodiscard]] eth_dev_ops make_ops(const Config &config) noexcept;
/// What stands in for them when the port's object is gone: every one answers -ENODEV.
[[nodiscard]] const eth_dev_ops &closed_ops() noexcept;
/// The fast path of a port, less what `config` takes away.
void install_bursts(rte_eth_dev &dev, const Config &config) noexcept;

} // namespace holdfast::mayfly
