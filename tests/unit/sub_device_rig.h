// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/host.h"
#include "port/sub_device.h"
#include "support/fake_ethdev.h"

#include <gtest/gtest.h>

#include <rte_ether.h>

#include <atomic>
#include <cstring>

/// What the tests of a sub-device share.
namespace holdfast {

class CountingHost final : public Host {
  public:
    void wake() noexcept override { wakes.fetch_add(1, std::memory_order_relaxed); }
    void look() noexcept override { looks.fetch_add(1, std::memory_order_relaxed); }
    std::atomic<unsigned> wakes{0};
    std::atomic<unsigned> looks{0};
};

inline constexpr PortId kPort{5};
inline constexpr SubIndex kFirst{0};
inline constexpr SubIndex kSecond{1};

inline bool same(const rte_ether_addr &a, const rte_ether_addr &b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

class SubDeviceTest : public testing::Test {
  protected:
    fake::Nic &nic() { return ethdev_.nic(kPort); }

    void adopt(SubDevice &sub, PortId port = kPort) {
        const Status s = sub.adopt(ethdev_, port);
        ASSERT_TRUE(s.ok()) << s.what();
    }
    void start(SubDevice &sub) {
        adopt(sub);
        sub.move_to(State::kConfigured);
        sub.move_to(State::kStarted);
        sub.open();
    }

    fake::Ethdev ethdev_;
    Selection selection_;
    CountingHost host_;
    SubDevice sub_{kFirst, "net_null0,size=64", selection_, host_};
};

} // namespace holdfast
