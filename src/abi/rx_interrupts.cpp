// SPDX-License-Identifier: BSD-3-Clause
// EAL exports these functions to drivers only, and its header wants to hear that from who includes it.
#ifndef ALLOW_INTERNAL_API
#define ALLOW_INTERNAL_API
#endif
#include "abi/rx_interrupts.h"

#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_interrupts.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace holdfast::abi {

Status RxInterrupts::open(rte_eth_dev &dev, std::span<const int> descriptors) noexcept {
    close();
    rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    if (handle == nullptr)
        return {-ENOMEM, "allocate an interrupt handle"};
    handle_ = handle;
    dev_ = &dev;
    const auto count = static_cast<int>(descriptors.size());
    bool set = rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV) == 0 &&
               rte_intr_efd_counter_size_set(handle, sizeof(std::uint64_t)) == 0 &&
               rte_intr_vec_list_alloc(handle, nullptr, count) == 0;
    for (int i = 0; set && i < count; i++)
        set = rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i) == 0 &&
              rte_intr_efds_index_set(handle, i, descriptors[static_cast<std::size_t>(i)]) == 0;
    if (!set || rte_intr_nb_efd_set(handle, count) != 0) {
        const int rc = rte_errno != 0 ? -rte_errno : -EIO;
        close();
        return {rc, "fill an interrupt handle"};
    }
    dev.intr_handle = handle;
    return {};
}

void RxInterrupts::close() noexcept {
    if (handle_ == nullptr)
        return;
    if (dev_->intr_handle == handle_)
        dev_->intr_handle = nullptr;
    rte_intr_free_epoll_fd(handle_); // epoll's events point into the handle
    rte_intr_vec_list_free(handle_);
    rte_intr_instance_free(handle_);
    handle_ = nullptr;
}

} // namespace holdfast::abi
