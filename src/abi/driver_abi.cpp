// SPDX-License-Identifier: BSD-3-Clause
#include "abi/driver_abi.h"

#include <rte_version.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

// One block per ABI. Another DPDK is another block here, its declarations in dpdk/, where both stand side by side, and
// its table in fields.cpp.
#if RTE_VER_YEAR == 24 && RTE_VER_MONTH == 11
namespace {
constexpr holdfast::abi::Version kBuiltFor{24, 11};
static_assert(offsetof(eth_dev_ops, tm_ops_get) == 696);
} // namespace
#elif RTE_VER_YEAR == 25 && RTE_VER_MONTH == 11
namespace {
constexpr holdfast::abi::Version kBuiltFor{25, 11};
static_assert(offsetof(eth_dev_ops, tm_ops_get) == 696 + 3 * sizeof(void *));
} // namespace
#else
#error "src/abi has no block for this DPDK release. Build with DPDK 24.11 or 25.11, or add a block for it."
#endif

namespace holdfast::abi {
namespace {

/// The head of a list and the link of an element begin with the same two words. So the element before this one can be
/// found without the head, which the bus keeps to itself: one step back there is a word that points two steps back.
struct Link {
    const rte_vdev_driver *next;
    const Link *previous;
};
static_assert(offsetof(rte_vdev_driver, next) == 0 && sizeof(rte_vdev_driver::next) == sizeof(Link));

Link link_of(const void *where) noexcept {
    Link link;
    std::memcpy(&link, where, sizeof link);
    return link;
}

/// The driver registered before this one, or null.
const rte_vdev_driver *before(const rte_vdev_driver &driver) noexcept {
    const Link mine = link_of(&driver);
    if (mine.previous == nullptr)
        return nullptr; // not registered
    return link_of(link_of(mine.previous).previous).next;
}

const rte_vdev_driver *after(const rte_vdev_driver &driver) noexcept {
    return link_of(&driver).next;
}

bool one_begins_with_the_other(const char *a, const char *b) noexcept {
    if (a == nullptr || b == nullptr)
        return false;
    const std::string_view x(a);
    const std::string_view y(b);
    return x.starts_with(y) || y.starts_with(x);
}

bool clash(const rte_driver &a, const rte_driver &b) noexcept {
    for (const char *x : {a.name, a.alias})
        for (const char *y : {b.name, b.alias})
            if (one_begins_with_the_other(x, y))
                return true;
    return false;
}

} // namespace

Version built_for() noexcept {
    return kBuiltFor;
}

Version running() noexcept {
    return {static_cast<unsigned>(rte_version_year()), static_cast<unsigned>(rte_version_month())};
}

Status check_version(Version built, Version running) noexcept {
    if (built.year == running.year && built.month == running.month)
        return {};
    return {-ENOTSUP,
            "run with this DPDK: it is another release than the one this driver was built for; build the driver again "
            "with the headers of the installed DPDK, or install the DPDK that it was built for"};
}

Status check_version() noexcept {
    return check_version(built_for(), running());
}

const rte_vdev_driver *clashing_driver(const rte_vdev_driver &driver) noexcept {
    for (const rte_vdev_driver *other = before(driver); other != nullptr; other = before(*other))
        if (clash(driver.driver, other->driver))
            return other;
    for (const rte_vdev_driver *other = after(driver); other != nullptr; other = after(*other))
        if (clash(driver.driver, other->driver))
            return other;
    return nullptr;
}

bool registered_twice(const rte_vdev_driver &driver) noexcept {
    return clashing_driver(driver) != nullptr;
}

namespace {

struct FastField {
    Field field;
    /// What ethdev has copied: a function, an array, or the address of an array inside rte_eth_dev.
    std::uintptr_t (*copied)(const struct rte_eth_fp_ops &ops);
    bool is_address = false;
};

#define HOLDFAST_FAST_FIELD(owner, type, member, copy, is_address)                                                     \
    FastField {                                                                                                        \
        {#type "." #member, Field::Owner::owner, offsetof(type, member)},                                              \
            [](const struct rte_eth_fp_ops &ops) { return reinterpret_cast<std::uintptr_t>(ops.copy); }, is_address    \
    }
constexpr std::array kFastFields{
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, rx_pkt_burst, rx_pkt_burst, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, tx_pkt_burst, tx_pkt_burst, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, tx_pkt_prepare, tx_pkt_prepare, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, rx_queue_count, rx_queue_count, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, rx_descriptor_status, rx_descriptor_status, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, tx_queue_count, tx_queue_count, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, tx_descriptor_status, tx_descriptor_status, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, recycle_tx_mbufs_reuse, recycle_tx_mbufs_reuse, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, recycle_rx_descriptors_refill, recycle_rx_descriptors_refill, false),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, post_rx_burst_cbs, rxq.clbk, true),
    HOLDFAST_FAST_FIELD(kDevice, rte_eth_dev, pre_tx_burst_cbs, txq.clbk, true),
    HOLDFAST_FAST_FIELD(kData, rte_eth_dev_data, rx_queues, rxq.data, false),
    HOLDFAST_FAST_FIELD(kData, rte_eth_dev_data, tx_queues, txq.data, false),
};
#undef HOLDFAST_FAST_FIELD

constexpr auto kFastList = [] {
    std::array<Field, kFastFields.size()> list{};
    for (std::size_t i = 0; i < list.size(); i++)
        list[i] = kFastFields[i].field;
    return list;
}();

} // namespace

std::span<const Field> fast_path_fields() noexcept {
    return kFastList;
}

Status check_fast_path(const rte_eth_dev &dev, std::span<const Field> fields) noexcept {
    if (fields.size() != kFastFields.size())
        return {-EINVAL, "use a list of fast-path fields of another length"};
    const struct rte_eth_fp_ops &ops = rte_eth_fp_ops[dev.data->port_id];
    for (std::size_t i = 0; i < fields.size(); i++) {
        const FastField &known = kFastFields[i];
        const bool in_device = known.field.owner == Field::Owner::kDevice;
        const std::size_t size = in_device ? sizeof(rte_eth_dev) : sizeof(rte_eth_dev_data);
        const std::size_t offset = fields[i].offset;
        const auto *base =
            in_device ? reinterpret_cast<const std::byte *>(&dev) : reinterpret_cast<const std::byte *>(dev.data);
        std::uintptr_t ours = 0;
        bool holds = offset <= size - sizeof ours && offset % alignof(void *) == 0;
        if (holds) {
            if (known.is_address)
                ours = reinterpret_cast<std::uintptr_t>(base + offset);
            else
                std::memcpy(&ours, base + offset, sizeof ours);
            holds = ours == known.copied(ops);
        }
        if (!holds)
            return {-ENOTSUP, known.field.name};
    }
    return {};
}

} // namespace holdfast::abi
