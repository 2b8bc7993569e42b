// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "base/ids.h"
#include "hotplug/host_thread.h"
#include "port/virtual_port.h"
#include "support/eal_state.h"
#include "support/wait.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

/// Virtual ports in a real EAL: made by devargs, driven through DPDK's public functions.
namespace holdfast::test {

/// A device name that no other test of this process has used.
inline std::string unique(std::string_view driver) {
    static int number = 0;
    return std::string(driver) + std::to_string(number++);
}

/// One mayfly, by its name: there is nothing to see of it before somebody probes it. Leaves it plugged and without
/// faults.
class Mayfly {
  public:
    explicit Mayfly(std::string args = {}) : name_(unique("net_mayfly")), args_(std::move(args)) {}
    ~Mayfly() {
        EXPECT_TRUE(eventually([&] { return !there(); })) << name_ << " still has a port";
        // A virtual port that is detached without a close leaves one of its devices on the bus, closed: the bus may be
        // walking over its list with that one in its hand.
        (void)rte_vdev_uninit(cname());
        (void)rte_pmd_mayfly_clear(cname());
        (void)rte_pmd_mayfly_plug(cname());
        (void)rte_pmd_mayfly_link(cname(), 1, RTE_PMD_MAYFLY_SYNC);
    }
    Mayfly(const Mayfly &) = delete;
    Mayfly &operator=(const Mayfly &) = delete;

    [[nodiscard]] const std::string &name() const noexcept { return name_; }
    /// "dev(net_mayfly3,mode=loop)"
    [[nodiscard]] std::string dev() const { return "dev(" + devargs() + ")"; }
    [[nodiscard]] std::string devargs() const { return name_ + (args_.empty() ? "" : "," + args_); }

    [[nodiscard]] std::int64_t calls(const char *op) const { return rte_pmd_mayfly_calls(cname(), op); }
    [[nodiscard]] std::int64_t count(rte_pmd_mayfly_counter what) const { return rte_pmd_mayfly_count(cname(), what); }
    [[nodiscard]] rte_pmd_mayfly_settings settings() const {
        rte_pmd_mayfly_settings out{};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(cname(), &out), 0) << name_;
        return out;
    }
    /// Its port, or nothing.
    [[nodiscard]] PortId port() const {
        const int id = rte_pmd_mayfly_port(cname());
        return id < 0 ? PortId{} : PortId{static_cast<std::uint16_t>(id)};
    }
    [[nodiscard]] bool there() const { return port().valid(); }

    /// Pulled, planned or not; the events are raised before this returns.
    void unplug() const { EXPECT_EQ(rte_pmd_mayfly_unplug(cname(), RTE_PMD_MAYFLY_SYNC), 0) << name_; }
    void unplug_planned() const { EXPECT_EQ(rte_pmd_mayfly_unplug_planned(cname(), RTE_PMD_MAYFLY_SYNC), 0) << name_; }
    void plug() const { EXPECT_EQ(rte_pmd_mayfly_plug(cname()), 0) << name_; }
    void link(bool up) const { EXPECT_EQ(rte_pmd_mayfly_link(cname(), up ? 1 : 0, RTE_PMD_MAYFLY_SYNC), 0) << name_; }
    void fail(const char *op, int error, std::int32_t calls = -1) const {
        EXPECT_EQ(rte_pmd_mayfly_fail(cname(), op, calls, error), 0) << name_ << " " << op;
    }
    void delay(const char *op, std::chrono::microseconds time) const {
        EXPECT_EQ(rte_pmd_mayfly_delay(cname(), op, static_cast<std::uint32_t>(time.count())), 0) << name_ << " " << op;
    }
    void raise(rte_eth_event_type event) const {
        EXPECT_EQ(rte_pmd_mayfly_raise(cname(), event, RTE_PMD_MAYFLY_SYNC), 0) << name_;
    }
    void raise_in(const char *op, rte_eth_event_type event) const {
        EXPECT_EQ(rte_pmd_mayfly_raise_in(cname(), op, event), 0) << name_ << " " << op;
    }
    void unplug_in(const char *op) const { EXPECT_EQ(rte_pmd_mayfly_unplug_in(cname(), op), 0) << name_ << " " << op; }
    /// An enum rte_pmd_mayfly_recovery.
    void recover(int step) const { EXPECT_EQ(rte_pmd_mayfly_recover(cname(), step, RTE_PMD_MAYFLY_SYNC), 0) << name_; }
    void hang() const { EXPECT_EQ(rte_pmd_mayfly_reset(cname(), RTE_PMD_MAYFLY_SYNC), 0) << name_; }
    void clear() const { EXPECT_EQ(rte_pmd_mayfly_clear(cname()), 0) << name_; }

  private:
    [[nodiscard]] const char *cname() const noexcept { return name_.c_str(); }

    const std::string name_;
    const std::string args_;
};

/// What a port is brought up with.
struct Shape {
    std::uint16_t rx_queues = 1;
    std::uint16_t tx_queues = 1;
    std::uint16_t descriptors = 256;
    rte_eth_conf conf{};
    bool deferred = false; ///< every queue waits for its own start
};

/// A virtual port, for one scope. Every step is a public DPDK call and answers what that answers.
class Vport {
  public:
    /// Probes it; `rc()` says how that went. `devargs` are what follows the name.
    explicit Vport(const std::string &devargs, std::string name = unique("net_holdfast")) : name_(std::move(name)) {
        rc_ = rte_vdev_init(name_.c_str(), devargs.c_str());
        if (rc_ == 0 && rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0)
            rc_ = -ENODEV;
    }
    ~Vport() {
        if (rc_ != 0)
            return;
        if (!closed_) {
            EXPECT_EQ(close(), 0) << name_;
        }
        if (!detached_) {
            EXPECT_EQ(detach(), 0) << name_;
        }
    }
    Vport(const Vport &) = delete;
    Vport &operator=(const Vport &) = delete;

    [[nodiscard]] int rc() const noexcept { return rc_; }
    [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
    [[nodiscard]] const std::string &name() const noexcept { return name_; }

    [[nodiscard]] int configure(const Shape &shape) const {
        return rte_eth_dev_configure(id_, shape.rx_queues, shape.tx_queues, &shape.conf);
    }
    [[nodiscard]] int set_up_queues(const Shape &shape, rte_mempool *pool) const {
        rte_eth_dev_info info{};
        if (const int rc = rte_eth_dev_info_get(id_, &info); rc != 0)
            return rc;
        info.default_rxconf.rx_deferred_start = shape.deferred ? 1 : 0;
        info.default_txconf.tx_deferred_start = shape.deferred ? 1 : 0;
        info.default_rxconf.offloads = shape.conf.rxmode.offloads;
        info.default_txconf.offloads = shape.conf.txmode.offloads;
        for (std::uint16_t q = 0; q < shape.rx_queues; q++)
            if (const int rc = rte_eth_rx_queue_setup(id_, q, shape.descriptors, 0, &info.default_rxconf, pool);
                rc != 0)
                return rc;
        for (std::uint16_t q = 0; q < shape.tx_queues; q++)
            if (const int rc = rte_eth_tx_queue_setup(id_, q, shape.descriptors, 0, &info.default_txconf); rc != 0)
                return rc;
        return 0;
    }
    [[nodiscard]] int start() const { return rte_eth_dev_start(id_); }
    [[nodiscard]] int stop() const { return rte_eth_dev_stop(id_); }
    /// Configures, sets up all queues and starts.
    [[nodiscard]] int up(rte_mempool *pool, const Shape &shape = {}) const {
        if (const int rc = configure(shape); rc != 0)
            return rc;
        if (const int rc = set_up_queues(shape, pool); rc != 0)
            return rc;
        return start();
    }
    /// Stops (ethdev wants that) and closes.
    int close() {
        (void)rte_eth_dev_stop(id_);
        closed_ = true;
        return rte_eth_dev_close(id_);
    }
    /// Takes the device off the bus, closed before or not.
    int detach() {
        detached_ = closed_ = true;
        return rte_vdev_uninit(name_.c_str());
    }
    /// The test took it apart in its own way.
    void let_go() noexcept { detached_ = closed_ = true; }

    // ---- what telemetry shows, without its socket
    [[nodiscard]] VirtualPort::Info describe() const {
        VirtualPort::Info out;
        EXPECT_TRUE(HostThread::get().with(PortId{id_}, [&](VirtualPort &port) { out = port.describe(); })) << name_;
        return out;
    }
    [[nodiscard]] VirtualPort::SubInfo sub(std::size_t index) const { return describe().subs.at(index); }
    [[nodiscard]] std::string state(std::size_t sub_index) const { return sub(sub_index).state; }
    [[nodiscard]] int active() const {
        const SubIndex active = describe().active;
        return active.valid() ? active.raw() : -1;
    }
    [[nodiscard]] bool joined(std::size_t sub_index) const {
        const VirtualPort::SubInfo s = sub(sub_index);
        return s.joined && s.state == "started";
    }
    Status switch_to(std::uint8_t sub_index) const {
        return command([sub_index](VirtualPort &p) { return p.make_active(SubIndex{sub_index}); });
    }
    Status remove_by_hand(std::uint8_t sub_index) const {
        return command([sub_index](VirtualPort &p) { return p.remove_by_hand(SubIndex{sub_index}); });
    }
    Status plug_by_hand(std::uint8_t sub_index) const {
        return command([sub_index](VirtualPort &p) { return p.plug_by_hand(SubIndex{sub_index}); });
    }

    // ---- packets
    [[nodiscard]] std::uint16_t rx(rte_mbuf **packets, std::uint16_t n, std::uint16_t queue = 0) const {
        return rte_eth_rx_burst(id_, queue, packets, n);
    }
    [[nodiscard]] std::uint16_t tx(rte_mbuf **packets, std::uint16_t n, std::uint16_t queue = 0) const {
        return rte_eth_tx_burst(id_, queue, packets, n);
    }
    [[nodiscard]] rte_eth_link link() const {
        rte_eth_link link{};
        EXPECT_EQ(rte_eth_link_get_nowait(id_, &link), 0);
        return link;
    }
    [[nodiscard]] rte_eth_stats stats() const {
        rte_eth_stats stats{};
        EXPECT_EQ(rte_eth_stats_get(id_, &stats), 0);
        return stats;
    }
    [[nodiscard]] rte_ether_addr mac() const {
        rte_ether_addr mac{};
        EXPECT_EQ(rte_eth_macaddr_get(id_, &mac), 0);
        return mac;
    }

  private:
    template <class F> Status command(F f) const {
        Status status{-ENODEV, "find the port"};
        HostThread::get().with(PortId{id_}, [&](VirtualPort &port) { status = f(port); });
        return status;
    }

    const std::string name_;
    int rc_ = 0;
    std::uint16_t id_ = RTE_MAX_ETHPORTS;
    bool closed_ = false;
    bool detached_ = false;
};

inline std::string devargs_of(const std::vector<const Mayfly *> &mayflies,
                              const std::string &more = "hotplug_poll=20") {
    // Announcements are packets that the tests would count.
    std::string out =
        more.find("announce=") == std::string::npos ? more + (more.empty() ? "" : ",") + "announce=0" : more;
    for (const Mayfly *m : mayflies)
        out += (out.empty() ? "" : ",") + m->dev();
    return out;
}

/// A test with an mbuf pool and a watchdog. What the test made must be gone at its end: ports, owners, devices,
/// descriptors, mbufs; and no simulated NIC may have seen anybody inside a queue that was stopped.
class WithPorts : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        // What lives as long as the process (the host thread and its descriptors, ethdev's shared memory) comes with
        // the first port.
        Mayfly m;
        Vport port(m.dev());
        ASSERT_EQ(port.rc(), 0);
    }
    void SetUp() override {
        watchdog_ = std::make_unique<Watchdog>(kPatience);
        before_ = EalState::now();
        pool_ = rte_pktmbuf_pool_create("test", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
        ASSERT_NE(pool_, nullptr);
    }
    void TearDown() override {
        (void)eventually([&] { return EalState::now() == before_ && in_use() == 0; }, 5s);
        EXPECT_EQ(EalState::now(), before_);
        EXPECT_EQ(in_use(), 0U) << "mbufs";
        rte_mempool_free(pool_);
        watchdog_.reset();
    }

    [[nodiscard]] rte_mempool *pool() const noexcept { return pool_; }
    [[nodiscard]] unsigned in_use() const { return rte_mempool_in_use_count(pool_); }

    /// Fresh mbufs of 60 bytes; byte 20 is their number.
    [[nodiscard]] std::vector<rte_mbuf *> packets(std::size_t n) const {
        std::vector<rte_mbuf *> out(n);
        EXPECT_EQ(rte_pktmbuf_alloc_bulk(pool_, out.data(), static_cast<unsigned>(n)), 0);
        for (std::size_t i = 0; i < n; i++) {
            auto *data = reinterpret_cast<unsigned char *>(rte_pktmbuf_append(out[i], 60));
            std::fill_n(data, 60, static_cast<unsigned char>(0));
            data[20] = static_cast<unsigned char>(i);
        }
        return out;
    }
    static unsigned number_of(const rte_mbuf *m) { return rte_pktmbuf_mtod(m, const unsigned char *)[20]; }

    /// Sends n packets and frees what was not taken.
    std::uint16_t send(const Vport &port, std::uint16_t n = 1, std::uint16_t queue = 0) const {
        std::vector<rte_mbuf *> p = packets(n);
        const std::uint16_t sent = port.tx(p.data(), n, queue);
        rte_pktmbuf_free_bulk(p.data() + sent, n - sent);
        return sent;
    }
    /// Receives one burst and frees it; says how much it was.
    static std::uint16_t receive(const Vport &port, std::uint16_t n = 32, std::uint16_t queue = 0) {
        std::array<rte_mbuf *, 64> p{};
        const std::uint16_t got = port.rx(p.data(), n, queue);
        rte_pktmbuf_free_bulk(p.data(), got);
        return got;
    }
    static void expect_no_late_access(const std::vector<const Mayfly *> &mayflies) {
        for (const Mayfly *m : mayflies) {
            EXPECT_EQ(m->count(RTE_PMD_MAYFLY_TRESPASSES), 0) << m->name();
            EXPECT_EQ(m->count(RTE_PMD_MAYFLY_LATE_CALLS), 0) << m->name();
        }
    }

  private:
    static constexpr std::chrono::seconds kPatience{90};
    std::unique_ptr<Watchdog> watchdog_;
    EalState before_;
    rte_mempool *pool_ = nullptr;
};

} // namespace holdfast::test
