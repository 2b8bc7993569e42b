// SPDX-License-Identifier: BSD-3-Clause
// A secondary process that looks at the primary's virtual port through DPDK's public functions, for
// tests/app/secondary_test.py: onlooker [--gtest_filter=...] -- EAL ARGUMENTS. The primary is a testpmd that forwards
// over net_holdfast0 with one Rx and one Tx queue, in its usual mbuf pool.
#include <gtest/gtest.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_pdump.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

template <class F> bool eventually(F condition) {
    for (const auto until = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < until;) {
        if (condition())
            return true;
        std::this_thread::sleep_for(2ms);
    }
    return false;
}

std::uint16_t port_of(const char *name) {
    std::uint16_t port = RTE_MAX_ETHPORTS;
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &port), 0) << name;
    return port;
}

rte_eth_stats stats_of(std::uint16_t port) {
    rte_eth_stats stats{};
    EXPECT_EQ(rte_eth_stats_get(port, &stats), 0);
    return stats;
}

std::map<std::string, std::uint64_t> xstats_of(std::uint16_t port) {
    std::map<std::string, std::uint64_t> out;
    const int n = rte_eth_xstats_get_names(port, nullptr, 0);
    EXPECT_GT(n, 0);
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(std::max(n, 0)));
    std::vector<rte_eth_xstat> values(names.size());
    EXPECT_EQ(rte_eth_xstats_get_names(port, names.data(), static_cast<unsigned>(n)), n);
    EXPECT_EQ(rte_eth_xstats_get(port, values.data(), static_cast<unsigned>(n)), n);
    for (const rte_eth_xstat &v : values)
        out[names.at(v.id).name] = v.value;
    EXPECT_EQ(out.size(), values.size()) << "a name is there twice";
    return out;
}

class Onlooker : public testing::Test {
  protected:
    const std::uint16_t port_ = port_of("net_holdfast0");
};

TEST_F(Onlooker, SeesTheDevice) {
    ASSERT_EQ(rte_eal_process_type(), RTE_PROC_SECONDARY);
    rte_eth_dev_info info{};
    ASSERT_EQ(rte_eth_dev_info_get(port_, &info), 0);
    EXPECT_STREQ(info.driver_name, "net_holdfast");
    EXPECT_STREQ(rte_dev_name(info.device), "net_holdfast0");
    EXPECT_EQ(info.nb_rx_queues, 1);
    EXPECT_EQ(info.nb_tx_queues, 1);
    EXPECT_GE(info.max_rx_queues, 1);
    EXPECT_EQ(info.max_mac_addrs, 128U);
    EXPECT_GT(info.max_mtu, 1500);
    EXPECT_NE(*info.dev_flags & RTE_ETH_DEV_INTR_LSC, 0U);
    EXPECT_EQ(info.switch_info.name, nullptr);

    rte_eth_link link{};
    ASSERT_EQ(rte_eth_link_get_nowait(port_, &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_10G);
    ASSERT_EQ(rte_eth_link_get(port_, &link), 0);
    rte_ether_addr mac{};
    ASSERT_EQ(rte_eth_macaddr_get(port_, &mac), 0);
    EXPECT_NE(rte_is_valid_assigned_ether_addr(&mac), 0);
    std::uint16_t mtu = 0;
    ASSERT_EQ(rte_eth_dev_get_mtu(port_, &mtu), 0);
    EXPECT_EQ(mtu, 1500);
    EXPECT_EQ(rte_eth_promiscuous_get(port_), 1);
    EXPECT_EQ(rte_eth_allmulticast_get(port_), 0);
    EXPECT_EQ(rte_eth_dev_socket_id(port_), SOCKET_ID_ANY);
    rte_eth_conf conf{};
    EXPECT_EQ(rte_eth_dev_conf_get(port_, &conf), 0);
}

TEST_F(Onlooker, SeesTheQueues) {
    rte_eth_rxq_info rx{};
    ASSERT_EQ(rte_eth_rx_queue_info_get(port_, 0, &rx), 0);
    EXPECT_GT(rx.nb_desc, 0);
    ASSERT_NE(rx.mp, nullptr);
    EXPECT_TRUE(std::string_view(rx.mp->name).starts_with("mb_pool")) << rx.mp->name; // the pool is at the same address
    EXPECT_EQ(rx.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
    EXPECT_EQ(rx.conf.rx_seg, nullptr);
    rte_eth_txq_info tx{};
    ASSERT_EQ(rte_eth_tx_queue_info_get(port_, 0, &tx), 0);
    EXPECT_GT(tx.nb_desc, 0);
    EXPECT_EQ(tx.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
    EXPECT_EQ(rte_eth_rx_queue_info_get(port_, 1, &rx), -EINVAL);
}

TEST_F(Onlooker, SeesCountersGrow) {
    const rte_eth_stats before = stats_of(port_);
    EXPECT_GT(before.ipackets, 0U);
    EXPECT_TRUE(eventually([&] {
        const rte_eth_stats now = stats_of(port_);
        return now.ipackets > before.ipackets && now.opackets > before.opackets && now.ibytes > before.ibytes;
    }));
    rte_eth_stats last = stats_of(port_);
    for (int i = 0; i < 200; i++) {
        const rte_eth_stats now = stats_of(port_);
        ASSERT_GE(now.ipackets, last.ipackets);
        ASSERT_GE(now.opackets, last.opackets);
        last = now;
    }
}

TEST_F(Onlooker, SeesTheExtendedStatistics) {
    const std::map<std::string, std::uint64_t> first = xstats_of(port_);
    for (const char *name : {"rx_good_packets", "rx_q0_packets", "switches", "tx_refused_bursts", "sub0_rx_packets",
                             "sub0_plugins", "sub2_removals"})
        EXPECT_TRUE(first.contains(name)) << name;
    EXPECT_GE(first.at("sub0_plugins"), 1U);
    EXPECT_GT(first.at("sub0_rx_packets"), 0U);
    EXPECT_TRUE(eventually([&] { return xstats_of(port_).at("sub0_rx_packets") > first.at("sub0_rx_packets"); }));
    std::uint64_t id = 0;
    ASSERT_EQ(rte_eth_xstats_get_id_by_name(port_, "sub1_plugins", &id), 0);
    std::uint64_t value = 0;
    ASSERT_EQ(rte_eth_xstats_get_by_id(port_, &id, &value, 1), 1);
    EXPECT_GE(value, 1U);
}

TEST_F(Onlooker, PacketTypes) {
    std::array<std::uint32_t, 64> types{};
    EXPECT_GE(rte_eth_dev_get_supported_ptypes(port_, RTE_PTYPE_ALL_MASK, types.data(), 64), 0);
}

// F143, F149
TEST_F(Onlooker, BurstsDoNothing) {
    rte_eth_rxq_info rx{};
    ASSERT_EQ(rte_eth_rx_queue_info_get(port_, 0, &rx), 0);
    ASSERT_NE(rx.mp, nullptr);
    std::array<rte_mbuf *, 32> packets{};
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(rx.mp, packets.data(), 32), 0);
    const std::array<rte_mbuf *, 32> same = packets;
    std::array<rte_mbuf *, 32> got{};
    for (int i = 0; i < 100'000; i++) {
        ASSERT_EQ(rte_eth_rx_burst(port_, 0, got.data(), 32), 0);
        ASSERT_EQ(rte_eth_tx_burst(port_, 0, packets.data(), 32), 0); // they stay the caller's
        ASSERT_EQ(rte_eth_tx_prepare(port_, 0, packets.data(), 32), 32);
    }
    EXPECT_EQ(packets, same);
    for (rte_mbuf *m : packets)
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
    rte_pktmbuf_free_bulk(packets.data(), 32);
    EXPECT_EQ(rte_eth_rx_queue_count(port_, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_rx_descriptor_status(port_, 0, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_tx_descriptor_status(port_, 0, 0), -ENOTSUP);
    EXPECT_EQ(rte_eth_tx_done_cleanup(port_, 0, 0), -ENOTSUP);
    rte_eth_recycle_rxq_info recycle{};
    EXPECT_LT(rte_eth_recycle_rx_queue_info_get(port_, 0, &recycle), 0);
}

TEST_F(Onlooker, ChangesNothing) {
    rte_eth_conf conf{};
    rte_ether_addr other{{0x02, 0, 0, 0, 0, 0x77}};
    rte_eth_rss_conf rss{};
    std::array<rte_eth_rss_reta_entry64, 2> reta{};
    rte_eth_fc_conf flow_control{};
    rte_flow_attr attr{.ingress = 1};
    const std::array<rte_flow_item, 1> pattern{{{.type = RTE_FLOW_ITEM_TYPE_END}}};
    const std::array<rte_flow_action, 1> actions{{{.type = RTE_FLOW_ACTION_TYPE_END}}};
    rte_flow_error error{};
    std::array<rte_flow_op_result, 4> results{};

    const auto look = [&] {
        rte_ether_addr mac{};
        std::uint16_t mtu = 0;
        rte_eth_link link{};
        EXPECT_EQ(rte_eth_macaddr_get(port_, &mac), 0);
        EXPECT_EQ(rte_eth_dev_get_mtu(port_, &mtu), 0);
        EXPECT_EQ(rte_eth_link_get_nowait(port_, &link), 0);
        rte_eth_dev_info info{};
        EXPECT_EQ(rte_eth_dev_info_get(port_, &info), 0);
        std::string out(reinterpret_cast<const char *>(mac.addr_bytes), sizeof mac.addr_bytes);
        for (const int number :
             {int{mtu}, int{link.link_status}, rte_eth_promiscuous_get(port_), rte_eth_allmulticast_get(port_),
              int{info.nb_rx_queues}, int{info.nb_tx_queues}, rte_eth_dev_get_vlan_offload(port_)})
            out += " " + std::to_string(number);
        return out;
    };
    const std::string before = look();
    const std::uint64_t packets = stats_of(port_).ipackets;

    const std::vector<std::pair<const char *, std::function<int()>>> changes{
        {"configure", [&] { return rte_eth_dev_configure(port_, 2, 2, &conf); }},
        {"rx_queue_setup", [&] { return rte_eth_rx_queue_setup(port_, 0, 256, 0, nullptr, nullptr); }},
        {"tx_queue_setup", [&] { return rte_eth_tx_queue_setup(port_, 0, 256, 0, nullptr); }},
        {"start", [&] { return rte_eth_dev_start(port_); }},
        {"stop", [&] { return rte_eth_dev_stop(port_); }},
        {"reset", [&] { return rte_eth_dev_reset(port_); }},
        {"set_link_up", [&] { return rte_eth_dev_set_link_up(port_); }},
        {"set_link_down", [&] { return rte_eth_dev_set_link_down(port_); }},
        {"promiscuous_disable", [&] { return rte_eth_promiscuous_disable(port_); }},
        {"allmulticast_enable", [&] { return rte_eth_allmulticast_enable(port_); }},
        {"mac_addr_add", [&] { return rte_eth_dev_mac_addr_add(port_, &other, 0); }},
        {"default_mac", [&] { return rte_eth_dev_default_mac_addr_set(port_, &other); }},
        {"mc_list", [&] { return rte_eth_dev_set_mc_addr_list(port_, &other, 1); }},
        {"mtu", [&] { return rte_eth_dev_set_mtu(port_, 1400); }},
        {"vlan_filter", [&] { return rte_eth_dev_vlan_filter(port_, 7, 1); }},
        {"vlan_offload", [&] { return rte_eth_dev_set_vlan_offload(port_, RTE_ETH_VLAN_FILTER_OFFLOAD); }},
        {"stats_reset", [&] { return rte_eth_stats_reset(port_); }},
        {"xstats_reset", [&] { return rte_eth_xstats_reset(port_); }},
        {"rx_queue_stop", [&] { return rte_eth_dev_rx_queue_stop(port_, 0); }},
        {"tx_queue_stop", [&] { return rte_eth_dev_tx_queue_stop(port_, 0); }},
        {"rss_hash_update", [&] { return rte_eth_dev_rss_hash_update(port_, &rss); }},
        {"rss_hash_conf", [&] { return rte_eth_dev_rss_hash_conf_get(port_, &rss); }},
        {"reta_update", [&] { return rte_eth_dev_rss_reta_update(port_, reta.data(), 64); }},
        {"flow_control", [&] { return rte_eth_dev_flow_ctrl_set(port_, &flow_control); }},
        {"rx_intr", [&] { return rte_eth_dev_rx_intr_enable(port_, 0); }},
        {"led", [&] { return rte_eth_led_on(port_); }},
        {"flow_validate", [&] { return rte_flow_validate(port_, &attr, pattern.data(), actions.data(), &error); }},
        {"flow_flush", [&] { return rte_flow_flush(port_, &error); }},
        {"flow_isolate", [&] { return rte_flow_isolate(port_, 1, &error); }},
        {"flow_push", [&] { return rte_flow_push(port_, 0, &error); }},
        {"flow_pull", [&] { return rte_flow_pull(port_, 0, results.data(), 4, &error); }},
    };
    for (const auto &[name, change] : changes) {
        const int rc = change();
        EXPECT_LT(rc, 0) << name;
        EXPECT_GT(rc, -200) << name; // an errno
        EXPECT_EQ(look(), before) << name;
    }
    EXPECT_EQ(rte_flow_create(port_, &attr, pattern.data(), actions.data(), &error), nullptr);
    EXPECT_TRUE(eventually([&] { return stats_of(port_).ipackets > packets; })) << "the primary's traffic ended";
}

// F150
TEST_F(Onlooker, ClosesForItselfOnlyAndWithoutAStop) {
    EXPECT_EQ(rte_eth_dev_close(port_), 0);
    EXPECT_EQ(rte_eth_dev_is_valid_port(port_), 0);
    rte_eth_stats stats{};
    EXPECT_EQ(rte_eth_stats_get(port_, &stats), -ENODEV);
    std::array<rte_mbuf *, 4> packets{};
    EXPECT_EQ(rte_eth_rx_burst(port_, 0, packets.data(), 4), 0);
}

// ---- not tests: what secondary_test.py has a secondary do

/// Takes back what a capture tool that was killed has left in the primary: its callbacks.
TEST(Tool, EndsCaptures) {
    const char *names = std::getenv("HOLDFAST_CAPTURES");
    ASSERT_NE(names, nullptr);
    const std::string list = names;
    for (std::size_t at = 0; at < list.size();) {
        std::string name = list.substr(at, list.find(',', at) - at);
        at += name.size() + 1;
        for (const std::uint32_t way : {RTE_PDUMP_FLAG_RX, RTE_PDUMP_FLAG_TX})
            (void)rte_pdump_disable_by_deviceid(name.data(), 0, way); // fails where nothing was left
    }
}

/// The ports that this process may use, as an application keeps them: by events, which come from another thread.
class Ports {
  public:
    Ports() {
        for (const rte_eth_event_type type : {RTE_ETH_EVENT_NEW, RTE_ETH_EVENT_DESTROY})
            EXPECT_EQ(rte_eth_dev_callback_register(RTE_ETH_ALL, type, &Ports::on_event, this), 0);
        for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
            usable_.at(p) = rte_eth_dev_is_valid_port(p) != 0;
    }
    ~Ports() {
        for (const rte_eth_event_type type : {RTE_ETH_EVENT_NEW, RTE_ETH_EVENT_DESTROY})
            EXPECT_EQ(rte_eth_dev_callback_unregister(RTE_ETH_ALL, type, &Ports::on_event, this), 0);
    }
    Ports(const Ports &) = delete;
    Ports &operator=(const Ports &) = delete;

    /// Calls f(port) for each, which cannot go meanwhile.
    template <class F> void each(F f) {
        for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++) {
            const std::lock_guard held(mutex_);
            if (usable_.at(p))
                f(p);
        }
    }
    [[nodiscard]] int came() {
        const std::lock_guard held(mutex_);
        return came_;
    }
    [[nodiscard]] int went() {
        const std::lock_guard held(mutex_);
        return went_;
    }

  private:
    static int on_event(std::uint16_t port, rte_eth_event_type type, void *self, void * /*param*/) {
        auto *ports = static_cast<Ports *>(self);
        const std::lock_guard held(ports->mutex_);
        ports->usable_.at(port) = type == RTE_ETH_EVENT_NEW;
        (type == RTE_ETH_EVENT_NEW ? ports->came_ : ports->went_)++;
        return 0;
    }
    std::mutex mutex_;
    std::array<bool, RTE_MAX_ETHPORTS> usable_{};
    int came_ = 0;
    int went_ = 0;
};

/// Looks at all ports, over and over, while the primary plugs and unplugs, until its standard input ends. At first it
/// looks at the virtual port alone, until it has been told of a sub-device that went and of one that came.
TEST(Tool, LooksOn) {
    const std::uint16_t port = port_of("net_holdfast0");
    std::array<rte_mbuf *, 32> packets{};
    rte_eth_stats last{};
    pollfd end{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    std::uint64_t rounds = 0;
    {
        Ports ports;
        bool told = false;
        std::printf("looking on\n");
        std::fflush(stdout);
        while (::poll(&end, 1, 0) == 0) {
            rte_eth_stats now{};
            ASSERT_EQ(rte_eth_stats_get(port, &now), 0);
            ASSERT_GE(now.ipackets, last.ipackets);
            ASSERT_GE(now.opackets, last.opackets);
            last = now;
            ASSERT_EQ(rte_eth_rx_burst(port, 0, packets.data(), 32), 0);
            ASSERT_EQ(rte_eth_tx_burst(port, 0, packets.data(), 0), 0);
            (void)xstats_of(port);
            if (told) {
                ports.each([](std::uint16_t p) {
                    rte_eth_dev_info info{};
                    rte_eth_link link{};
                    std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
                    EXPECT_EQ(rte_eth_dev_get_name_by_port(p, name.data()), 0) << p;
                    EXPECT_EQ(rte_eth_dev_info_get(p, &info), 0) << name.data();
                    EXPECT_EQ(rte_eth_link_get_nowait(p, &link), 0) << name.data();
                });
                rounds++;
            } else if (ports.came() > 0 && ports.went() > 0) {
                told = true;
                std::printf("told\n");
                std::fflush(stdout);
            }
        }
        EXPECT_GT(rounds, 0U);
        EXPECT_GE(ports.came(), 10);
        EXPECT_GE(ports.went(), 10);
        for (const char *name : {"net_mayfly0", "net_null0", "net_mayfly1"}) {
            EXPECT_TRUE(eventually([&] {
                std::uint16_t sub = RTE_MAX_ETHPORTS;
                return rte_eth_dev_get_port_by_name(name, &sub) == 0 && rte_eth_dev_is_valid_port(sub) != 0;
            })) << name;
        }
        std::printf("looked %llu times, %d came, %d went\n", static_cast<unsigned long long>(rounds), ports.came(),
                    ports.went());
    }
}

} // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    if (rte_eal_init(argc, argv) < 0) {
        std::fprintf(stderr, "cannot start an EAL: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    const int rc = RUN_ALL_TESTS();
    const int cleanup = rte_eal_cleanup();
    return rc != 0 ? rc : cleanup != 0 ? 2 : 0;
}
