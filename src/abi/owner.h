// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

namespace holdfast::abi {

/// An id under which ports are owned, for as long as the object lives. ethdev counts its owners, and numbers them anew
/// once it has neither ports nor owners: an id that is deleted twice can be somebody else's the second time.
class Owner {
  public:
    Owner() noexcept : rc_(rte_eth_dev_owner_new(&id_)) {}
    ~Owner() {
        if (rc_ == 0)
            (void)rte_eth_dev_owner_delete(id_); // and with it what it still owns
    }
    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;

    /// 0, or why there is no id.
    [[nodiscard]] int rc() const noexcept { return rc_; }
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  private:
    std::uint64_t id_ = RTE_ETH_DEV_NO_OWNER;
    int rc_;
};

} // namespace holdfast::abi
