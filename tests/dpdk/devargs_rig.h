// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/captured_log.h"
#include "support/wait.h"
#include <rte_pmd_mayfly.h>

#include <gtest/gtest.h>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

/// What the tests of devargs share: ports and devices by name, and probes that must fail.
namespace holdfast::test {

inline constexpr std::uint16_t kNone = RTE_MAX_ETHPORTS;

inline std::uint16_t port_of(const std::string &name) {
    std::uint16_t port = kNone;
    return rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0 ? port : kNone;
}

inline bool there(const std::string &name) {
    return port_of(name) != kNone;
}

inline std::string owner_of(const std::string &name) {
    rte_eth_dev_owner owner{};
    return there(name) && rte_eth_dev_owner_get(port_of(name), &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER
               ? owner.name
               : "";
}

inline std::string mac_of(const std::string &name) {
    rte_ether_addr mac{};
    if (!there(name) || rte_eth_macaddr_get(port_of(name), &mac) != 0)
        return "none";
    std::array<char, RTE_ETHER_ADDR_FMT_SIZE> text{};
    rte_ether_format_addr(text.data(), text.size(), &mac);
    return text.data();
}

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
        const CapturedLog log;
        const Port port("net_holdfast9", args);
        EXPECT_LT(port.rc(), 0) << args;
        EXPECT_FALSE(there("net_holdfast9")) << args;
        return log.text();
    }

    /// Configures and starts a port with one queue each way.
    void start(std::uint16_t port, const rte_eth_conf &conf = {}) {
        if (!pool_) {
            pool_.reset(rte_pktmbuf_pool_create("devargs_test", 2048, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
            ASSERT_NE(pool_, nullptr);
        }
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

} // namespace holdfast::test
