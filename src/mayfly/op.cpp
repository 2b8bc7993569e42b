// SPDX-License-Identifier: BSD-3-Clause
#include "mayfly/op.h"

#include "mayfly/text.h"

#include <rte_ethdev.h>

#include <cerrno>
#include <limits>
#include <utility>

namespace holdfast::mayfly {
namespace {

constexpr std::array<OpTraits, kOps> kTraits{{
    {.name = "probe", .without_hardware = true, .must_exist = true},
    {.name = "remove", .without_hardware = true, .must_exist = true, .cannot_fail = true},
    {.name = "dev_configure", .must_exist = true},
    {.name = "dev_start", .must_exist = true},
    {.name = "dev_stop", .without_hardware = true, .must_exist = true},
    {.name = "dev_set_link_up"},
    {.name = "dev_set_link_down"},
    {.name = "dev_close", .without_hardware = true, .must_exist = true},
    {.name = "dev_reset"},
    {.name = "link_update"},
    {.name = "is_removed", .without_hardware = true},
    {.name = "promiscuous_enable"},
    {.name = "promiscuous_disable"},
    {.name = "allmulticast_enable"},
    {.name = "allmulticast_disable"},
    {.name = "mac_addr_remove"},
    {.name = "mac_addr_add"},
    {.name = "mac_addr_set"},
    {.name = "set_mc_addr_list"},
    {.name = "mtu_set"},
    {.name = "stats_get"},
    {.name = "stats_reset"},
    {.name = "xstats_get"},
    {.name = "xstats_reset"},
    {.name = "xstats_get_names"},
    {.name = "xstats_get_by_id"},
    {.name = "xstats_get_names_by_id"},
    {.name = "dev_infos_get", .without_hardware = true, .must_exist = true},
    {.name = "rxq_info_get", .without_hardware = true},
    {.name = "txq_info_get", .without_hardware = true},
    {.name = "rx_burst_mode_get", .without_hardware = true},
    {.name = "tx_burst_mode_get", .without_hardware = true},
    {.name = "fw_version_get"},
    {.name = "dev_supported_ptypes_get", .without_hardware = true},
    {.name = "dev_ptypes_set"},
    {.name = "vlan_filter_set"},
    {.name = "vlan_tpid_set"},
    {.name = "vlan_strip_queue_set"},
    {.name = "vlan_offload_set"},
    {.name = "vlan_pvid_set"},
    {.name = "rx_queue_start"},
    {.name = "rx_queue_stop", .without_hardware = true},
    {.name = "tx_queue_start"},
    {.name = "tx_queue_stop", .without_hardware = true},
    {.name = "rx_queue_setup", .must_exist = true},
    {.name = "rx_queue_release", .without_hardware = true, .must_exist = true, .cannot_fail = true},
    {.name = "rx_queue_intr_enable"},
    {.name = "rx_queue_intr_disable", .without_hardware = true},
    {.name = "tx_queue_setup", .must_exist = true},
    {.name = "tx_queue_release", .without_hardware = true, .must_exist = true, .cannot_fail = true},
    {.name = "tx_done_cleanup"},
    {.name = "flow_ctrl_get"},
    {.name = "flow_ctrl_set"},
    {.name = "rss_hash_update"},
    {.name = "rss_hash_conf_get"},
    {.name = "reta_update"},
    {.name = "reta_query"},
    {.name = "timesync_enable"},
    {.name = "timesync_disable"},
    {.name = "timesync_read_rx_timestamp"},
    {.name = "timesync_read_tx_timestamp"},
    {.name = "timesync_adjust_time"},
    {.name = "timesync_adjust_freq"},
    {.name = "timesync_read_time"},
    {.name = "timesync_write_time"},
    {.name = "read_clock"},
    {.name = "eth_dev_priv_dump", .without_hardware = true},
    {.name = "rx_burst", .fast = true, .must_exist = true},
    {.name = "tx_burst", .fast = true, .must_exist = true},
    {.name = "tx_prepare", .fast = true},
    {.name = "rx_queue_count", .fast = true},
    {.name = "tx_queue_count", .fast = true},
    {.name = "rx_descriptor_status", .fast = true},
    {.name = "tx_descriptor_status", .fast = true},
}};

constexpr std::pair<std::string_view, int> kEvents[] = {
    {"UNKNOWN", RTE_ETH_EVENT_UNKNOWN},
    {"INTR_LSC", RTE_ETH_EVENT_INTR_LSC},
    {"QUEUE_STATE", RTE_ETH_EVENT_QUEUE_STATE},
    {"INTR_RESET", RTE_ETH_EVENT_INTR_RESET},
    {"VF_MBOX", RTE_ETH_EVENT_VF_MBOX},
    {"MACSEC", RTE_ETH_EVENT_MACSEC},
    {"INTR_RMV", RTE_ETH_EVENT_INTR_RMV},
    {"NEW", RTE_ETH_EVENT_NEW},
    {"DESTROY", RTE_ETH_EVENT_DESTROY},
    {"IPSEC", RTE_ETH_EVENT_IPSEC},
    {"FLOW_AGED", RTE_ETH_EVENT_FLOW_AGED},
    {"RX_AVAIL_THRESH", RTE_ETH_EVENT_RX_AVAIL_THRESH},
    {"ERR_RECOVERING", RTE_ETH_EVENT_ERR_RECOVERING},
    {"RECOVERY_SUCCESS", RTE_ETH_EVENT_RECOVERY_SUCCESS},
    {"RECOVERY_FAILED", RTE_ETH_EVENT_RECOVERY_FAILED},
};

constexpr std::pair<std::string_view, int> kErrnos[] = {
    {"EPERM", EPERM},   {"ENOENT", ENOENT}, {"EINTR", EINTR},     {"EIO", EIO},       {"ENXIO", ENXIO},
    {"E2BIG", E2BIG},   {"EBADF", EBADF},   {"EAGAIN", EAGAIN},   {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
    {"EFAULT", EFAULT}, {"EBUSY", EBUSY},   {"EEXIST", EEXIST},   {"ENODEV", ENODEV}, {"EINVAL", EINVAL},
    {"ENOSPC", ENOSPC}, {"ERANGE", ERANGE}, {"ENOTSUP", ENOTSUP}, {"ENOSYS", ENOSYS}, {"ETIMEDOUT", ETIMEDOUT},
};

} // namespace

const OpTraits &traits(Op op) noexcept {
    return kTraits[index(op)];
}

std::optional<Op> find_op(std::string_view name) noexcept {
    for (std::size_t i = 0; i < kOps; i++)
        if (kTraits[i].name == name)
            return static_cast<Op>(i);
    return std::nullopt;
}

std::optional<int> find_event(std::string_view name) noexcept {
    for (const auto &[known, number] : kEvents)
        if (known == name)
            return number;
    return std::nullopt;
}

std::optional<int> find_errno(std::string_view name) noexcept {
    for (const auto &[known, number] : kErrnos)
        if (known == name)
            return number;
    if (const auto number = parse_number(name, 4095); number && *number > 0)
        return static_cast<int>(*number);
    return std::nullopt;
}

bool is_event(int number) noexcept {
    return number >= 0 && number < RTE_ETH_EVENT_MAX;
}

} // namespace holdfast::mayfly
