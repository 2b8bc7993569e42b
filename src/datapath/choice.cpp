// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/choice.h"

#include "base/policy.h"
#include "datapath/datapath.h"

#include <rte_ethdev.h>

namespace holdfast::datapath {
namespace {

eth_tx_burst_t balance(XmitPolicy policy) noexcept {
    switch (policy) {
    case XmitPolicy::kL23:
        return &tx_burst_balance<XmitPolicy::kL23>;
    case XmitPolicy::kL34:
        return &tx_burst_balance<XmitPolicy::kL34>;
    case XmitPolicy::kL2:
        break;
    }
    return &tx_burst_balance<XmitPolicy::kL2>;
}

} // namespace

Choice choose(const Policy &policy) noexcept {
    Choice out{.rx_burst = policy.rx == RxPolicy::kActive ? &rx_burst_active : &rx_burst,
               .tx_burst = &tx_burst,
               .tx_prepare = policy.tx == TxPolicy::kActive ? &tx_prepare : &tx_prepare_all};
    switch (policy.tx) {
    case TxPolicy::kBalance:
        out.tx_burst = balance(policy.xmit);
        break;
    case TxPolicy::kRoundRobin:
        out.tx_burst = &tx_burst_round_robin;
        break;
    case TxPolicy::kBroadcast:
        out.tx_burst = &tx_burst_broadcast;
        break;
    case TxPolicy::kActive:
        break;
    }
    return out;
}

} // namespace holdfast::datapath
