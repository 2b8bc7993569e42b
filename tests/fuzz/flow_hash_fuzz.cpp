// SPDX-License-Identifier: BSD-3-Clause
// A packet of any bytes: nothing beyond it is read (it ends where its block of the heap ends), the quick way gives the
// same number as the full one, and what is no part of a flow does not count. The first byte is a policy.
#include "base/policy.h"
#include "datapath/flow_hash.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using holdfast::XmitPolicy;
using namespace holdfast::datapath;

void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "fault: %s\n", what);
    std::abort();
}

template <XmitPolicy P> std::uint32_t number_of(const std::uint8_t *from, std::size_t size) {
    const auto block = std::make_unique<std::uint8_t[]>(size);
    std::copy_n(from, size, block.get());
    const std::uint32_t full = flow_hash(block.get(), size, P);
    std::uint32_t quick = 0;
    require(!flow::quick<P>(block.get(), size, quick) || quick == full, "the quick way is another one");
    return full;
}

template <XmitPolicy P> void check(const std::uint8_t *from, std::size_t size) {
    const std::uint32_t number = number_of<P>(from, size);
    require(size <= kFlowReach || number_of<P>(from, kFlowReach) == number, "something beyond the reach counts");
    if (size < flow::kEthernet) {
        require(number == 0, "half a header counts");
        return;
    }
    std::vector<std::uint8_t> other(from, from + size);
    if (P == XmitPolicy::kL2) { // nothing behind the type counts
        std::fill(other.begin() + flow::kEthernet, other.end(), std::uint8_t{0xa5});
        require(number_of<P>(other.data(), size) == number, "l2: what is behind the header counts");
    }
    // An untagged IPv4 fragment: nothing behind its addresses counts.
    const std::uint8_t *const ip = from + flow::kEthernet;
    if (P == XmitPolicy::kL34 && size >= flow::kEthernet + flow::kIpv4 &&
        flow::load<std::uint16_t>(from + 12) == flow::kTypeIpv4 && ip[0] >> 4U == 4 &&
        (flow::load<std::uint16_t>(ip + 6) & flow::kFragment) != 0) {
        std::fill(other.begin() + flow::kEthernet + flow::kIpv4, other.end(), std::uint8_t{0xa5});
        require(number_of<P>(other.data(), size) == number, "l34: what is in a fragment counts");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        check<XmitPolicy::kL2>(data + 1, size - 1);
        break;
    case 1:
        check<XmitPolicy::kL23>(data + 1, size - 1);
        break;
    default:
        check<XmitPolicy::kL34>(data + 1, size - 1);
        break;
    }
    return 0;
}
