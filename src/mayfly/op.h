// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::mayfly {

/// Everything that DPDK can ask of a mayfly; each is counted and can be made to fail or to take long.
enum class Op : std::uint8_t {
    kProbe,
    kRemove,
    kConfigure,
    kStart,
    kStop,
    kSetLinkUp,
    kSetLinkDown,
    kClose,
    kReset,
    kLinkUpdate,
    kIsRemoved,
    kPromiscuousEnable,
    kPromiscuousDisable,
    kAllmulticastEnable,
    kAllmulticastDisable,
    kMacAddrRemove,
    kMacAddrAdd,
    kMacAddrSet,
    kSetMcAddrList,
    kMtuSet,
    kStatsGet,
    kStatsReset,
    kXstatsGet,
    kXstatsReset,
    kXstatsGetNames,
    kXstatsGetById,
    kXstatsGetNamesById,
    kInfosGet,
    kRxqInfoGet,
    kTxqInfoGet,
    kRxBurstModeGet,
    kTxBurstModeGet,
    kFwVersionGet,
    kSupportedPtypesGet,
    kPtypesSet,
    kVlanFilterSet,
    kVlanTpidSet,
    kVlanStripQueueSet,
    kVlanOffloadSet,
    kVlanPvidSet,
    kRxQueueStart,
    kRxQueueStop,
    kTxQueueStart,
    kTxQueueStop,
    kRxQueueSetup,
    kRxQueueRelease,
    kRxQueueIntrEnable,
    kRxQueueIntrDisable,
    kTxQueueSetup,
    kTxQueueRelease,
    kTxDoneCleanup,
    kFlowCtrlGet,
    kFlowCtrlSet,
    kRssHashUpdate,
    kRssHashConfGet,
    kRetaUpdate,
    kRetaQuery,
    kTimesyncEnable,
    kTimesyncDisable,
    kTimesyncReadRx,
    kTimesyncReadTx,
    kTimesyncAdjustTime,
    kTimesyncAdjustFreq,
    kTimesyncReadTime,
    kTimesyncWriteTime,
    kReadClock,
    kPrivDump,
    kRxBurst,
    kTxBurst,
    kTxPrepare,
    kRxQueueCount,
    kTxQueueCount,
    kRxDescriptorStatus,
    kTxDescriptorStatus,
};
inline constexpr std::size_t kOps = static_cast<std::size_t>(Op::kTxDescriptorStatus) + 1;

/// What is special about an operation.
struct OpTraits {
    std::string_view name;         ///< as the slot of eth_dev_ops
    bool fast = false;             ///< may run on an lcore
    bool without_hardware = false; ///< a dead device still does it
    bool must_exist = false;       ///< no_ops= may not take it away
    bool cannot_fail = false;      ///< a failure cannot be armed
};

[[nodiscard]] const OpTraits &traits(Op op) noexcept;
[[nodiscard]] std::optional<Op> find_op(std::string_view name) noexcept;

[[nodiscard]] constexpr std::size_t index(Op op) noexcept {
    return static_cast<std::size_t>(op);
}

/// Events and errnos by the names people use: "INTR_RMV", "EIO" (or a number).
[[nodiscard]] std::optional<int> find_event(std::string_view name) noexcept;
[[nodiscard]] std::optional<int> find_errno(std::string_view name) noexcept;
[[nodiscard]] bool is_event(int number) noexcept;

} // namespace holdfast::mayfly
