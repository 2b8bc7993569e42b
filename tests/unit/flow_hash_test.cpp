// SPDX-License-Identifier: BSD-3-Clause
// Which packets are one flow, and that nothing beyond a packet is looked at: the bytes of each lie at the end of a
// block of the heap, which AddressSanitizer watches.
#include "datapath/flow_hash.h"

#include "base/policy.h"
#include "datapath/shares.h"
#include "support/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace holdfast::datapath {
namespace {

using test::Frame;
using test::FrameSpec;
using enum XmitPolicy;

constexpr std::array kAll{kL2, kL23, kL34};

/// The first `size` bytes, with nothing behind them.
std::uint32_t hash(const std::vector<std::uint8_t> &bytes, std::size_t size, XmitPolicy policy) {
    const auto block = std::make_unique<std::uint8_t[]>(size);
    std::copy_n(bytes.begin(), size, block.get());
    const std::uint32_t full = flow_hash(block.get(), size, policy);
    std::uint32_t quick = full;
    const bool was_quick = policy == kL2    ? flow::quick<kL2>(block.get(), size, quick)
                           : policy == kL23 ? flow::quick<kL23>(block.get(), size, quick)
                                            : flow::quick<kL34>(block.get(), size, quick);
    EXPECT_EQ(quick, full) << "the quick way is another one, " << was_quick << ", size " << size;
    return full;
}
std::uint32_t hash(const FrameSpec &spec, XmitPolicy policy) {
    const Frame frame(spec);
    return hash(frame.bytes(), frame.bytes().size(), policy);
}
bool is_quick(const FrameSpec &spec, XmitPolicy policy) {
    const Frame frame(spec);
    std::uint32_t out = 0;
    const auto &b = frame.bytes();
    return policy == kL2    ? flow::quick<kL2>(b.data(), b.size(), out)
           : policy == kL23 ? flow::quick<kL23>(b.data(), b.size(), out)
                            : flow::quick<kL34>(b.data(), b.size(), out);
}

/// Which of the things that tell flows apart count?
struct Counts {
    bool mac, address, protocol, port;
    friend bool operator==(const Counts &, const Counts &) = default;
};
Counts what_counts(const FrameSpec &spec, XmitPolicy policy) {
    const auto differs = [&](auto change) {
        FrameSpec other = spec;
        change(other);
        return hash(other, policy) != hash(spec, policy);
    };
    const bool from = differs([](FrameSpec &s) { s.from++; });
    const bool to = differs([](FrameSpec &s) { s.to++; });
    const bool source = differs([](FrameSpec &s) { s.source++; });
    const bool sink = differs([](FrameSpec &s) { s.sink++; });
    const bool protocol = differs([](FrameSpec &s) { s.protocol = s.protocol == 6 ? 17 : 6; });
    const bool source_port = differs([](FrameSpec &s) { s.source_port++; });
    const bool sink_port = differs([](FrameSpec &s) { s.sink_port++; });
    EXPECT_EQ(from, to);
    EXPECT_EQ(source, sink);
    EXPECT_EQ(source_port, sink_port);
    return {from, source, protocol, source_port};
}
std::ostream &operator<<(std::ostream &out, const Counts &c) {
    return out << "mac " << c.mac << " address " << c.address << " protocol " << c.protocol << " port " << c.port;
}

TEST(FlowHash, EachPolicyCountsWhatItSays) {
    for (const int version : {4, 6}) {
        const FrameSpec spec{.version = version};
        EXPECT_EQ(what_counts(spec, kL2), (Counts{true, false, false, false})) << version;
        EXPECT_EQ(what_counts(spec, kL23), (Counts{true, true, false, false})) << version;
        EXPECT_EQ(what_counts(spec, kL34), (Counts{false, true, true, true})) << version;
        EXPECT_TRUE(is_quick(spec, kL2) && is_quick(spec, kL23) && is_quick(spec, kL34)) << version;
    }
}

TEST(FlowHash, TheTypeCountsForL2) {
    EXPECT_NE(hash({.type = 0x0806, .version = 0}, kL2), hash({.type = 0x88cc, .version = 0}, kL2));
}

TEST(FlowHash, WhatIsNoIpIsToldByItsMacAddresses) {
    for (const XmitPolicy policy : kAll)
        EXPECT_EQ(what_counts({.version = 0}, policy), (Counts{true, false, false, false}));
    // Not what its type says.
    for (const XmitPolicy policy : {kL23, kL34}) {
        EXPECT_EQ(what_counts({.type = 0x0800, .version = 6}, policy), (Counts{true, false, false, false}));
        EXPECT_EQ(what_counts({.type = 0x86dd, .version = 4}, policy), (Counts{true, false, false, false}));
    }
}

TEST(FlowHash, TagsAreStepsOverNotPartOfTheFlow) {
    for (const int version : {4, 6}) {
        const FrameSpec bare{.version = version};
        for (const auto &tags : {std::vector<std::uint16_t>{0x8100}, {0x88a8, 0x8100}, {0x9100, 0x8100}}) {
            FrameSpec tagged = bare;
            tagged.tags = tags;
            EXPECT_EQ(what_counts(tagged, kL23), (Counts{true, true, false, false})) << version;
            EXPECT_EQ(what_counts(tagged, kL34), (Counts{false, true, true, true})) << version;
            EXPECT_EQ(hash(tagged, kL34), hash(bare, kL34)) << version;
        }
        // A third one is more than is looked behind.
        EXPECT_EQ(what_counts({.tags = {0x88a8, 0x8100, 0x8100}, .version = version}, kL34),
                  (Counts{true, false, false, false}));
    }
}

TEST(FlowHash, PortsAreFoundBehindIpv4Options) {
    for (std::uint16_t options = 0; options <= 40; options = static_cast<std::uint16_t>(options + 4)) {
        EXPECT_EQ(what_counts({.options = options}, kL34), (Counts{false, true, true, true})) << options;
        EXPECT_EQ(hash({.options = options}, kL34), hash(FrameSpec{}, kL34)) << options;
    }
}

TEST(FlowHash, AnIpv4HeaderThatIsTooShortForItselfHasNoPorts) {
    for (std::uint8_t words = 0; words < 5; words++) {
        Frame frame(FrameSpec{});
        std::vector<std::uint8_t> bytes = frame.bytes();
        bytes[frame.ip()] = static_cast<std::uint8_t>(0x40 | words);
        const std::uint32_t before = hash(bytes, bytes.size(), kL34);
        for (std::size_t at = frame.ip() + 20; at < bytes.size(); at++)
            bytes[at] ^= 0xff;
        EXPECT_EQ(hash(bytes, bytes.size(), kL34), before) << unsigned{words};
    }
}

// F167
TEST(FlowHash, APureAckIsOfTheSameFlowAsItsData) {
    for (const int version : {4, 6})
        EXPECT_EQ(hash({.version = version, .protocol = 6, .payload = 16}, kL34),
                  hash({.version = version, .protocol = 6, .payload = 1400}, kL34));
}

TEST(FlowHash, AllFragmentsOfADatagramAreOneFlowWhateverTheyBeginWith) {
    const auto all_alike = [](FrameSpec spec) {
        std::set<std::uint32_t> seen;
        for (const std::uint16_t fragment : std::to_array<std::uint16_t>({0x2000, 0x2010, 0x0020, 0x1fff}))
            for (const std::uint16_t port : std::to_array<std::uint16_t>({1, 2, 3})) {
                // IPv6 has its offset in the upper 13 bits, and the flag in the lowest.
                spec.fragment = spec.version == 4 ? fragment
                                                  : static_cast<std::uint16_t>((fragment & 0x1fffU) << 3U |
                                                                               ((fragment & 0x2000U) != 0 ? 1U : 0U));
                spec.source_port = port;
                seen.insert(hash(spec, kL34));
            }
        return seen.size() == 1;
    };
    EXPECT_TRUE(all_alike({.version = 4}));
    EXPECT_TRUE(all_alike({.version = 6, .extensions = {44}}));
    EXPECT_TRUE(all_alike({.version = 6, .extensions = {0, 60, 44}}));
    EXPECT_EQ(what_counts({.version = 4, .fragment = 0x2000}, kL34), (Counts{false, true, true, false}));
    EXPECT_EQ(what_counts({.version = 6, .fragment = 1, .extensions = {44}}, kL34),
              (Counts{false, true, false, false}));
}

TEST(FlowHash, DontFragmentIsNoFragmentAndOneThatIsAloneIsNone) {
    EXPECT_EQ(hash({.fragment = 0x4000}, kL34), hash(FrameSpec{}, kL34));
    EXPECT_EQ(hash({.version = 6, .extensions = {44}}, kL34), hash({.version = 6}, kL34));
}

TEST(FlowHash, PortsAreFoundBehindIpv6Extensions) {
    const std::uint32_t plain = hash({.version = 6}, kL34);
    for (const auto &extensions : {std::vector<std::uint8_t>{0}, {60}, {43}, {0, 60, 43, 60}, {0, 0, 0, 0, 0, 0, 0, 0}})
        for (const std::uint8_t length : {std::uint8_t{0}, std::uint8_t{2}})
            EXPECT_EQ(hash({.version = 6, .extensions = extensions, .extension_length = length}, kL34), plain)
                << extensions.size() << " of " << unsigned{length};
    // Nine are one more than is looked behind, and one that says that it is 2048 bytes long leads nowhere.
    EXPECT_NE(hash({.version = 6, .extensions = {0, 0, 0, 0, 0, 0, 0, 0, 0}}, kL34), plain);
    EXPECT_EQ(what_counts({.version = 6, .extensions = {60}, .extension_length = 255}, kL34).port, false);
}

TEST(FlowHash, OnlyProtocolsThatHavePortsHavePorts) {
    for (const int version : {4, 6})
        for (unsigned protocol = 0; protocol < 256; protocol++) {
            if (version == 6 && (protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60))
                continue; // extensions
            FrameSpec spec{.version = version, .protocol = static_cast<std::uint8_t>(protocol)};
            const std::uint32_t before = hash(spec, kL34);
            spec.sink_port++;
            EXPECT_EQ(hash(spec, kL34) != before, protocol == 6 || protocol == 17 || protocol == 132)
                << protocol << " over version " << version;
        }
}

/// Frames of all kinds.
std::vector<std::vector<std::uint8_t>> zoo() {
    std::vector<std::vector<std::uint8_t>> out;
    for (const int version : {0, 4, 6})
        for (const auto &tags : {std::vector<std::uint16_t>{}, {0x8100}, {0x88a8, 0x8100}, {0x8100, 0x8100, 0x8100}})
            for (const std::uint8_t protocol : std::to_array<std::uint8_t>({1, 6, 17, 132}))
                for (const std::uint16_t fragment : std::to_array<std::uint16_t>({0, 0x2000, 0x0011})) {
                    FrameSpec spec{.tags = tags, .version = version, .protocol = protocol, .fragment = fragment};
                    out.push_back(Frame(spec).bytes());
                    spec.options = 40;
                    spec.extensions = {0, 60, 44, 43};
                    spec.extension_length = 1;
                    out.push_back(Frame(spec).bytes());
                }
    return out;
}

TEST(FlowHash, NothingIsReadBeyondAPacketOfWhateverLength) {
    for (const std::vector<std::uint8_t> &frame : zoo())
        for (std::size_t size = 0; size <= frame.size(); size++)
            for (const XmitPolicy policy : kAll)
                (void)hash(frame, size, policy);
}

TEST(FlowHash, NorWhenItSaysThatItIsLonger) {
    std::minstd_rand random(1);
    for (const std::vector<std::uint8_t> &frame : zoo())
        for (int i = 0; i < 300; i++) {
            std::vector<std::uint8_t> broken = frame;
            for (int k = 0; k < 3; k++) // length fields are among the first bytes behind the addresses
                broken[12 + random() % (broken.size() - 12)] =
                    static_cast<std::uint8_t>(random() % 2 != 0 ? 0xff : random());
            const std::size_t size = random() % (broken.size() + 1);
            for (const XmitPolicy policy : kAll)
                (void)hash(broken, size, policy);
        }
}

TEST(FlowHash, WhatIsBehindItsReachDoesNotCount) {
    std::vector<std::uint8_t> frame(2000);
    for (std::size_t at = 0; at < frame.size(); at++)
        frame[at] = static_cast<std::uint8_t>(at * 7);
    for (const std::uint8_t next : std::to_array<std::uint8_t>({0, 43, 60})) {
        // Extensions that lead just up to the limit, onto it, and beyond.
        for (std::uint8_t length = 20; length < 32; length++) {
            frame[12] = 0x86, frame[13] = 0xdd, frame[14] = 0x60, frame[20] = next, frame[54] = 17, frame[55] = length;
            for (const XmitPolicy policy : kAll)
                EXPECT_EQ(hash(frame, frame.size(), policy), hash(frame, kFlowReach, policy)) << unsigned{length};
        }
    }
}

TEST(FlowHash, FlowsThatDifferALittleFallIntoAllShares) {
    const auto spread = [](XmitPolicy policy, auto change) {
        std::array<unsigned, kShares> count{};
        constexpr unsigned kFlows = 16 * kShares;
        for (unsigned i = 0; i < kFlows; i++) {
            FrameSpec spec;
            change(spec, i);
            count[share_of(hash(spec, policy))]++;
        }
        const auto [least, most] = std::minmax_element(count.begin(), count.end());
        EXPECT_GT(*least, 0U);
        EXPECT_LT(*most, 64U) << "16 are the mean";
    };
    spread(kL2, [](FrameSpec &s, unsigned i) {
        s.from = static_cast<std::uint8_t>(i), s.to = static_cast<std::uint8_t>(i >> 8U);
    });
    spread(kL23, [](FrameSpec &s, unsigned i) {
        s.source = static_cast<std::uint8_t>(i), s.sink = static_cast<std::uint8_t>(i >> 8U);
    });
    spread(kL34, [](FrameSpec &s, unsigned i) { s.source_port = static_cast<std::uint16_t>(i); });
    spread(kL34, [](FrameSpec &s, unsigned i) { s.sink_port = static_cast<std::uint16_t>(32768 + i); });
    spread(kL34, [](FrameSpec &s, unsigned i) {
        s.version = 6;
        s.source = static_cast<std::uint8_t>(i);
        s.sink_port = static_cast<std::uint16_t>(i >> 8U);
    });
}

} // namespace
} // namespace holdfast::datapath
