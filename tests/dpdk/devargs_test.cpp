// SPDX-License-Identifier: BSD-3-Clause
// Section 1 of the fault list, and what of the others devargs cause, with real probes.
#include <rte_pmd_mayfly.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint16_t kNone = RTE_MAX_ETHPORTS;

std::uint16_t port_of(const std::string &name) {
    std::uint16_t port = kNone;
    return rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0 ? port : kNone;
}

bool there(const std::string &name) {
    return port_of(name) != kNone;
}

std::string owner_of(const std::string &name) {
    rte_eth_dev_owner owner{};
    return there(name) && rte_eth_dev_owner_get(port_of(name), &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER
               ? owner.name
               : "";
}

std::string mac_of(const std::string &name) {
    rte_ether_addr mac{};
    if (!there(name) || rte_eth_macaddr_get(port_of(name), &mac) != 0)
        return "none";
    std::array<char, RTE_ETHER_ADDR_FMT_SIZE> text{};
    rte_ether_format_addr(text.data(), text.size(), &mac);
    return text.data();
}

/// Waits until something holds, long enough for a busy machine.
template <class F> bool in_time(F holds) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until)
            return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

/// All log lines from its making on, EAL's too.
class Log {
  public:
    Log() : file_(std::tmpfile()) { EXPECT_EQ(rte_openlog_stream(file_), 0); }
    ~Log() {
        EXPECT_EQ(rte_openlog_stream(nullptr), 0);
        std::fclose(file_);
    }
    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    [[nodiscard]] std::string text() const {
        std::string out;
        std::array<char, 4096> part{};
        for (ssize_t n = 0;
             (n = ::pread(::fileno(file_), part.data(), part.size(), static_cast<off_t>(out.size()))) > 0;)
            out.append(part.data(), static_cast<std::size_t>(n));
        return out;
    }
    /// How many lines hold both texts.
    [[nodiscard]] std::size_t lines_with(std::string_view a, std::string_view b) const {
        std::size_t count = 0;
        const std::string all = text();
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t end = std::min(all.find('\n', at), all.size());
            const std::string_view line = std::string_view(all).substr(at, end - at);
            count += line.find(a) != std::string_view::npos && line.find(b) != std::string_view::npos ? 1 : 0;
            at = end + 1;
        }
        return count;
    }

  private:
    std::FILE *file_;
};

/// Makes a virtual port; takes it and its sub-devices away again.
class Port {
  public:
    Port(std::string name, const std::string &args)
        : name_(std::move(name)), rc_(rte_vdev_init(name_.c_str(), args.c_str())) {}
    ~Port() { close(); }
    Port(const Port &) = delete;
    Port &operator=(const Port &) = delete;

    void close() {
        if (rc_ != 0 || closed_)
            return;
        closed_ = true;
        if (there(name_)) {
            EXPECT_EQ(rte_eth_dev_close(port_of(name_)), 0);
        }
        EXPECT_EQ(rte_vdev_uninit(name_.c_str()), 0);
    }
    [[nodiscard]] int rc() const noexcept { return rc_; }
    [[nodiscard]] std::uint16_t id() const { return port_of(name_); }

  private:
    std::string name_;
    int rc_;
    bool closed_ = false;
};

class DevargsProbe : public testing::Test {
  protected:
    void TearDown() override {
        for (std::uint16_t port = 0; port < RTE_MAX_ETHPORTS; port++) {
            std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
            if (rte_eth_dev_is_valid_port(port) != 0) {
                (void)rte_eth_dev_get_name_by_port(port, name.data());
                ADD_FAILURE() << name.data() << " was left behind";
            }
        }
    }

    /// The log of a probe that must fail, having left nothing.
    std::string refused(const std::string &args) {
        const Log log;
        const Port port("net_holdfast9", args);
        EXPECT_LT(port.rc(), 0) << args;
        EXPECT_FALSE(there("net_holdfast9")) << args;
        return log.text();
    }

    /// Configures and starts a port with one queue each way.
    void start(std::uint16_t port) {
        if (!pool_) {
            pool_.reset(rte_pktmbuf_pool_create("devargs_test", 2048, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
            ASSERT_NE(pool_, nullptr);
        }
        const rte_eth_conf conf{};
        ASSERT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), 0);
        ASSERT_EQ(rte_eth_rx_queue_setup(port, 0, 128, 0, nullptr, pool_.get()), 0);
        ASSERT_EQ(rte_eth_tx_queue_setup(port, 0, 128, 0, nullptr), 0);
        ASSERT_EQ(rte_eth_dev_start(port), 0);
    }

    struct FreePool {
        void operator()(rte_mempool *pool) const noexcept { rte_mempool_free(pool); }
    };
    std::unique_ptr<rte_mempool, FreePool> pool_;
};

// F2
TEST_F(DevargsProbe, TheMacOfOneInstanceIsNotTheOthers) {
    const Port first("net_holdfast0", "mac=02:11:22:33:44:55,dev(net_mayfly0,mac=02:00:00:00:00:10)");
    const Port second("net_holdfast1", "dev(net_mayfly1,mac=02:00:00:00:00:11)");
    ASSERT_EQ(first.rc(), 0);
    ASSERT_EQ(second.rc(), 0);
    EXPECT_EQ(mac_of("net_holdfast0"), "02:11:22:33:44:55");
    EXPECT_EQ(mac_of("net_holdfast1"), "02:00:00:00:00:11");
    start(first.id());
    start(second.id());
    EXPECT_EQ(mac_of("net_mayfly0"), "02:11:22:33:44:55");
    EXPECT_EQ(mac_of("net_mayfly1"), "02:00:00:00:00:11");
    EXPECT_EQ(rte_eth_dev_stop(first.id()), 0);
    EXPECT_EQ(rte_eth_dev_stop(second.id()), 0);
}

// F3
TEST_F(DevargsProbe, ThePollIntervalOfOneInstanceIsNotTheOthers) {
    for (const bool slow_one_first : {false, true}) {
        for (const char *name : {"net_mayfly0", "net_mayfly1"})
            ASSERT_EQ(rte_pmd_mayfly_unplug(name, RTE_PMD_MAYFLY_SYNC), 0);
        const std::string slow = "dev(net_mayfly0),hotplug_poll=600000";
        const std::string fast = "dev(net_mayfly1),hotplug_poll=10";
        const Port first("net_holdfast0", slow_one_first ? slow : fast);
        const Port second("net_holdfast1", slow_one_first ? fast : slow);
        ASSERT_EQ(first.rc(), 0);
        ASSERT_EQ(second.rc(), 0);
        for (const char *name : {"net_mayfly0", "net_mayfly1"})
            ASSERT_EQ(rte_pmd_mayfly_plug(name), 0);
        EXPECT_TRUE(in_time([] { return there("net_mayfly1"); }));
        std::this_thread::sleep_for(300ms);
        EXPECT_FALSE(there("net_mayfly0"));
    }
}

// F4, F5, F20
TEST_F(DevargsProbe, ABadValueIsNamedBeforeAnythingIsProbed) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    for (const std::string value : {"10x", "0", "-1", "18446744073709551615", "abc"})
        EXPECT_THAT(refused("dev(net_mayfly0),hotplug_poll=" + value),
                    AllOf(HasSubstr("net_holdfast9: "), HasSubstr("hotplug_poll="), HasSubstr("\"" + value + "\""),
                          HasSubstr("at character 31")));
    EXPECT_THAT(refused("dev(net_mayfly0),mac=02:00:00:00:00:01,mac=02:00:00:00:00:02"),
                AllOf(HasSubstr("\"mac=02:00:00:00:00:02\""), HasSubstr("twice")));
    for (const std::string mac : {"ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "01:00:5e:00:00:01"})
        EXPECT_THAT(refused("dev(net_mayfly0),mac=" + mac), HasSubstr("\"" + mac + "\""));
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
    // And so the device is free for its next user.
    ASSERT_EQ(rte_vdev_init("net_mayfly0", ""), 0);
    EXPECT_EQ(owner_of("net_mayfly0"), "");
    EXPECT_EQ(rte_eth_dev_close(port_of("net_mayfly0")), 0);
    EXPECT_EQ(rte_vdev_uninit("net_mayfly0"), 0);
}

// F6
TEST_F(DevargsProbe, KeysCountInAnyOrder) {
    std::vector<std::string> items{"dev(net_mayfly0)", "mac=02:11:22:33:44:55", "hotplug_poll=10"};
    std::sort(items.begin(), items.end());
    do {
        const std::string args = items[0] + "," + items[1] + "," + items[2];
        SCOPED_TRACE(args);
        const Port port("net_holdfast0", args);
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(mac_of("net_holdfast0"), "02:11:22:33:44:55");
        EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
        const std::int64_t lives = rte_pmd_mayfly_count("net_mayfly0", RTE_PMD_MAYFLY_LIVES);
        EXPECT_EQ(rte_pmd_mayfly_unplug("net_mayfly0", RTE_PMD_MAYFLY_SYNC), 0);
        EXPECT_TRUE(in_time([] { return !there("net_mayfly0"); }));
        EXPECT_EQ(rte_pmd_mayfly_plug("net_mayfly0"), 0);
        EXPECT_TRUE(in_time([&] { return rte_pmd_mayfly_count("net_mayfly0", RTE_PMD_MAYFLY_LIVES) == lives + 1; }));
    } while (std::next_permutation(items.begin(), items.end()));
}

// F10
TEST_F(DevargsProbe, WithoutASubDeviceThereIsNoPort) {
    EXPECT_THAT(refused("dev()"), HasSubstr("\"dev()\" at character 1"));
    EXPECT_THAT(refused(""), HasSubstr("no sub-device"));
    EXPECT_THAT(refused("hotplug_poll=100"), HasSubstr("no sub-device"));
}

// F11
TEST_F(DevargsProbe, SixteenSubDevicesWorkAndSeventeenAreRefused) {
    std::string args;
    for (int i = 0; i < 16; i++)
        args += (i == 0 ? "dev(net_mayfly" : ",dev(net_mayfly") + std::to_string(i) + ")";
    EXPECT_THAT(refused(args + ",dev(net_mayfly16)"),
                AllOf(HasSubstr("\"dev(net_mayfly16)\""), HasSubstr("16, the most")));
    for (int i = 0; i <= 16; i++)
        EXPECT_FALSE(there("net_mayfly" + std::to_string(i)));
    const Port port("net_holdfast0", args);
    ASSERT_EQ(port.rc(), 0);
    for (int i = 0; i < 16; i++)
        EXPECT_EQ(owner_of("net_mayfly" + std::to_string(i)), "net_holdfast0") << i;
    start(port.id());
    for (int i = 0; i < 16; i++) {
        rte_pmd_mayfly_settings settings{};
        EXPECT_EQ(rte_pmd_mayfly_get_settings(("net_mayfly" + std::to_string(i)).c_str(), &settings), 0);
        EXPECT_EQ(settings.started, 1) << i;
    }
    EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
}

// F12
TEST_F(DevargsProbe, AProbeThatFailedLeavesNothingArmed) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    const Port other("net_holdfast0", "dev(net_mayfly1),hotplug_poll=10"); // so that the host thread runs
    ASSERT_EQ(other.rc(), 0);
    (void)refused("dev(net_mayfly0),hotplug_poll=10,mac=02:00:00:00:00:zz");
    {
        // Fails late, with the arguments read: the name has a port already.
        const Log log;
        EXPECT_LT(rte_vdev_init("net_holdfast0", "dev(net_mayfly0),hotplug_poll=10"), 0);
    }
    // The host thread has been round some times when it brought this one back.
    ASSERT_EQ(rte_pmd_mayfly_unplug("net_mayfly1", RTE_PMD_MAYFLY_SYNC), 0);
    ASSERT_TRUE(in_time([] { return !there("net_mayfly1"); }));
    ASSERT_EQ(rte_pmd_mayfly_plug("net_mayfly1"), 0);
    ASSERT_TRUE(in_time([] { return there("net_mayfly1"); }));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
    EXPECT_FALSE(there("net_mayfly0"));
}

// F13: on this machine without hugepages there can be no secondary process, so they go through whole.
TEST_F(DevargsProbe, LongArgumentsOfASubDeviceArriveWhole) {
    const std::string args =
        "net_mayfly0,mode=sink,size=128,queues=16,max_mtu=2000,max_macs=3,min_desc=64,max_desc=1024,"
        "desc_align=32,reta_size=512,hash_key_size=52,dead_tx=refuse,mac=02:00:00:00:00:2a";
    ASSERT_GT(args.size(), 128U + 30U) << "the last argument is beyond what a secondary process would get";
    const Port port("net_holdfast0", "dev(" + args + ")");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(mac_of("net_mayfly0"), "02:00:00:00:00:2A");
    EXPECT_EQ(mac_of("net_holdfast0"), "02:00:00:00:00:2A");
}

// F14
TEST_F(DevargsProbe, OtherArgumentsOfADeviceThatIsThereAlreadyAreSaidToBeUnused) {
    for (const bool same : {false, true}) {
        ASSERT_EQ(rte_vdev_init("net_null0", "size=64"), 0);
        const Log log;
        const Port port("net_holdfast0", same ? "dev(net_null0,size=64)" : "dev(net_null0,size=512)");
        ASSERT_EQ(port.rc(), 0);
        EXPECT_EQ(owner_of("net_null0"), "net_holdfast0") << "it is taken over all the same";
        EXPECT_EQ(log.lines_with("\"size=64\"", "\"size=512\" is not used"), same ? 0U : 1U) << log.text();
        EXPECT_EQ(log.lines_with("net_null0", "not used"), same ? 0U : 1U) << log.text();
    }
}

TEST_F(DevargsProbe, ADeviceThatIsThereAlreadyWithoutArgumentsIsTakenOver) {
    ASSERT_EQ(rte_vdev_init("net_null0", nullptr), 0);
    const Log log;
    const Port port("net_holdfast0", "dev(net_null0,size=512)");
    ASSERT_EQ(port.rc(), 0);
    EXPECT_EQ(owner_of("net_null0"), "net_holdfast0");
    EXPECT_EQ(log.lines_with("\"size=512\"", "not used"), 1U) << log.text();
}

// F15
TEST_F(DevargsProbe, TheSameSubDeviceByTwoNamesIsRefused) {
    EXPECT_THAT(refused("dev(net_mayfly0),dev(vdev:net_mayfly0)"),
                AllOf(HasSubstr("\"vdev:net_mayfly0\""), HasSubstr("twice")));
    EXPECT_THAT(refused("dev(0000:00:04.0),dev(00:04.0)"), HasSubstr("twice"));
    EXPECT_THAT(refused("dev(net_mayfly0),dev(bus=vdev,name=net_mayfly0)"), HasSubstr("\"bus=vdev,name=net_mayfly0\""));
}

// F16
TEST_F(DevargsProbe, MalformedArgumentsAreRefusedWithoutAnyTrace) {
    const std::int64_t before = rte_pmd_mayfly_calls("net_mayfly0", "probe");
    const std::vector<std::string> malformed{",",
                                             ",,",
                                             "(",
                                             ")",
                                             "()",
                                             "dev",
                                             "dev(",
                                             "dev)",
                                             "dev()",
                                             "dev(()",
                                             "dev(net_mayfly0",
                                             "dev(net_mayfly0))",
                                             "dev(net_mayfly0)x",
                                             "dev(net_mayfly0)(",
                                             "dev(net_mayfly0)(x)",
                                             "dev(net_mayfly0),",
                                             ",dev(net_mayfly0)",
                                             "dev(net_mayfly0),,dev(net_mayfly1)",
                                             "dev(net_mayfly0)dev(net_mayfly1)",
                                             "dev(net_mayfly0) ,dev(net_mayfly1)",
                                             "dev(net_mayfly0),dev(net_mayfly0)",
                                             "dev( net_mayfly0)",
                                             "DEV(net_mayfly0)",
                                             "dev[net_mayfly0]",
                                             "dev=net_mayfly0",
                                             "dev(net_mayfly0),mac",
                                             "dev(net_mayfly0),mac=",
                                             "dev(net_mayfly0),mac=1",
                                             "dev(net_mayfly0),mac=02:00:00:00:00:01:02",
                                             "dev(net_mayfly0),=1",
                                             "dev(net_mayfly0),hotplug_poll",
                                             "dev(net_mayfly0),hotplug_poll=",
                                             "dev(net_mayfly0),hotplug_poll=1=2",
                                             "dev(net_mayfly0),hotplug_poll=5,hotplug_poll=5",
                                             "dev(net_mayfly0),colour=red",
                                             "dev(net_mayfly0),exec(",
                                             "dev(net_mayfly0),exec()",
                                             "dev(net_mayfly0),fd(0)",
                                             "dev(net_mayfly0),mac=%s%s%s%n",
                                             "dev(net_mayfly0),%n",
                                             "dev(net_mayfly0)\n",
                                             "dev(net_mayfly0,x\x01)",
                                             "\xff\xfe",
                                             "dev(" + std::string(70, 'n') + ")",
                                             std::string(5000, '('),
                                             std::string(5000, 'x'),
                                             "dev(net_mayfly0)," + std::string(5000, ','),
                                             "dev(vdev:)" + std::string(1, ')')};
    ASSERT_GE(malformed.size(), 40U);
    for (const std::string &args : malformed)
        EXPECT_THAT(refused(args), HasSubstr("net_holdfast9: cannot read the arguments: ")) << args;
    EXPECT_EQ(rte_pmd_mayfly_calls("net_mayfly0", "probe"), before);
}

// F16: a socket of -1, or one that does not exist, is a wish that cannot be met and no index.
TEST_F(DevargsProbe, AnySocketMayBeNamed) {
    const Port port("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(port.rc(), 0);
    start(port.id());
    ASSERT_EQ(rte_eth_dev_stop(port.id()), 0);
    for (const int socket : {SOCKET_ID_ANY, 7}) {
        EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 128, static_cast<unsigned>(socket), nullptr, pool_.get()), 0)
            << socket;
        EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 128, static_cast<unsigned>(socket), nullptr), 0) << socket;
        EXPECT_EQ(rte_eth_dev_start(port.id()), 0);
        EXPECT_EQ(rte_eth_dev_stop(port.id()), 0);
    }
}

// F153
TEST_F(DevargsProbe, ASubDeviceOfAnotherInstanceIsWaitedForWithOneLine) {
    auto first = std::make_unique<Port>("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(first->rc(), 0);
    const Log log;
    const Port second("net_holdfast1", "dev(net_mayfly0),dev(net_mayfly1),hotplug_poll=5");
    ASSERT_EQ(second.rc(), 0);
    EXPECT_EQ(owner_of("net_mayfly0"), "net_holdfast0");
    EXPECT_EQ(owner_of("net_mayfly1"), "net_holdfast1") << "it comes up with the rest";
    std::this_thread::sleep_for(300ms); // many attempts
    EXPECT_EQ(log.lines_with("net_holdfast1", "net_mayfly0"), 1U) << log.text();
    EXPECT_EQ(log.lines_with("net_mayfly0", "another port owns"), 1U) << log.text();
    first.reset();
    EXPECT_TRUE(in_time([] { return owner_of("net_mayfly0") == "net_holdfast1"; })) << "free now, and so it is taken";
}

// F156
TEST_F(DevargsProbe, LoopsAreRefused) {
    EXPECT_THAT(refused("dev(net_holdfast9)"),
                AllOf(HasSubstr("\"net_holdfast9\""), HasSubstr("cannot be a sub-device")));
    const Port port("net_holdfast0", "dev(net_mayfly0)");
    ASSERT_EQ(port.rc(), 0);
    for (const char *name :
         {"net_holdfast0", "vdev:net_holdfast0", "vdev_net_holdfast0", "bus=vdev,name=net_holdfast0"})
        (void)refused(std::string("dev(") + name + ")");
    EXPECT_EQ(owner_of("net_holdfast0"), "");
}

} // namespace
} // namespace holdfast
