// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <span>

struct rte_eth_dev;
struct rte_intr_handle;

namespace holdfast::abi {

/// A port's interrupt handle whose Rx queues interrupt through descriptors that their driver makes: what
/// rte_eth_dev_rx_intr_ctl_q() hands to an lcore's epoll. Control side only; primary process only.
class RxInterrupts {
  public:
    RxInterrupts() noexcept = default;
    ~RxInterrupts() { close(); }
    RxInterrupts(const RxInterrupts &) = delete;
    RxInterrupts &operator=(const RxInterrupts &) = delete;

    /// One descriptor per Rx queue, of which 8 bytes are read at each wake-up (an eventfd, a timerfd). They stay the
    /// caller's and must live until close().
    Status open(rte_eth_dev &dev, std::span<const int> descriptors) noexcept;
    /// Takes the descriptors out of every epoll they are in. The port has no handle then.
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }

  private:
    rte_eth_dev *dev_ = nullptr;
    rte_intr_handle *handle_ = nullptr;
};

} // namespace holdfast::abi
