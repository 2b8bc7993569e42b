// SPDX-License-Identifier: BSD-3-Clause
// Sub-devices that a command or a descriptor names.
#include "base/ids.h"
#include "port/config.h"
#include "unit/devargs_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace holdfast::test;

TEST(Devargs, ACommandAndADescriptorAreSubDevicesLikeOthers) {
    const Config config = parsed("exec(echo 84:00.0),dev(net_ring0),fd(7),exec_timeout=1500,exec(/opt/find)");
    EXPECT_THAT(config.devices,
                ElementsAre(command("echo 84:00.0"), fixed("net_ring0"), descriptor(7), command("/opt/find")));
    EXPECT_EQ(config.exec_timeout, 1500ms);
    EXPECT_EQ(parsed("exec(true)").exec_timeout, 10s);
    std::string text = "fd(3)";
    for (int i = 1; i < kMaxSubDevices; i++)
        text += ",exec(true)";
    EXPECT_EQ(parsed(text).devices.size(), 16U) << "the same command may stand there twice";
    EXPECT_THAT(refused(text + ",exec(false)"), StartsWith(quote("exec(false)", text.size() + 2)));
    EXPECT_THAT(refused(text + ",fd(4)"), StartsWith(quote("fd(4)", text.size() + 2)));
}

// FAULTS F8.
TEST(Devargs, CommasInACommandAreBlanksUnlessABackslashSaysOtherwise) {
    const std::pair<const char *, const char *> cases[] = {
        {"echo,84:00.0", "echo 84:00.0"},
        {R"(echo net_tap0\,iface=x)", "echo net_tap0,iface=x"},
        {R"(printf 'net_tap0\,iface=x\n')", R"(printf 'net_tap0,iface=x\n')"},
        {"bash,-c,'echo,a'", "bash -c 'echo a'"}, // also inside quotes, as with net_failsafe
        {R"(echo \\,a)", R"(echo \\ a)"},         // that backslash is quoted itself
        {R"(echo \\\,a)", R"(echo \\,a)"},
        {R"(echo a\ b\"c)", R"(echo a\ b\"c)"},
        {"echo $HOME `id -u` a=b;c|d>e&f#g!h~i*j?k[l]{m}", "echo $HOME `id -u` a=b;c|d>e&f#g!h~i*j?k[l]{m}"},
        {"echo a\nb", "echo a\nb"},
        {" true ", " true "},
    };
    for (const auto &[written, meant] : cases)
        EXPECT_THAT(parsed("dev(net_null0),exec(" + std::string(written) + "),hotplug_poll=5").devices,
                    ElementsAre(fixed("net_null0"), command(meant)))
            << written;
}

// FAULTS F8.
TEST(Devargs, QuotedParenthesesDoNotEndACommand) {
    for (const char *text : {"echo 'net_null0)'", "echo ')('", "echo \")\"", R"(echo \))", R"x(echo "\")")x", "(true)",
                             "echo $(echo $(echo a))", R"(echo '\')", R"x(echo '"' ")" '"')x", "((true);(false))"})
        EXPECT_THAT(parsed("exec(" + std::string(text) + "),dev(net_null0)").devices,
                    ElementsAre(command(text), fixed("net_null0")))
            << text;
    // In the arguments of a device a quote is a character like others.
    EXPECT_THAT(parsed("dev(net_x0,a='),dev(net_x1,b=')").devices,
                ElementsAre(fixed("net_x0,a='"), fixed("net_x1,b='")));
}

// FAULTS F8.
TEST(Devargs, QuotesWhatIsWrongWithACommand) {
    const struct {
        const char *text, *part;
        std::size_t at;
        const char *why;
    } cases[] = {
        {"exec(echo 'net_null0)", "'net_null0)", 11, "quote is not closed"},
        {"dev(net_null0),exec(echo \"a),mac=1", "\"a),mac=1", 26, "quote is not closed"},
        {"exec(echo net_null0),exec(echo 'a',(", "exec(echo 'a',(", 22, "parenthesis is not closed"},
        {R"(exec(echo a\))", R"(exec(echo a\))", 1, "parenthesis is not closed"},
        {"exec(", "exec(", 1, "parenthesis is not closed"},
        {"exec(echo net_null0))", "exec(echo net_null0))", 1, "not opened"},
        {"exec(echo a)b", "exec(echo a)b", 1, "is none of"},
        {"exec(a)exec(b)", "exec(a)exec(b)", 1, "is none of"},
        {"exec(a)'b", "exec(a)'b", 1, "is none of"},
        {"exec()", "exec()", 1, "names no command"},
        {"exec( ,\n)", "exec( ,?)", 1, "names no command"},
        {"exec", "exec", 1, "is none of"},
        {"exec (a)", "exec (a)", 1, "is none of"},
        {"execute(a)", "execute(a)", 1, "is none of"},
    };
    for (const auto &c : cases)
        EXPECT_THAT(refused(c.text), AllOf(StartsWith(quote(c.part, c.at)), HasSubstr(c.why))) << c.text;
    using namespace std::string_view_literals;
    EXPECT_THAT(refused("exec(echo a\0b)"sv), AllOf(StartsWith(quote("?", 12)), HasSubstr("NUL")));
}

// FAULTS F9.
TEST(Devargs, TakesOnlyAnExactNumberForADescriptor) {
    EXPECT_THAT(parsed("fd(3)").devices, ElementsAre(descriptor(3)));
    EXPECT_EQ(std::get<DescriptorSource>(parsed("dev(net_null0),fd(3)").devices[1]).at, 19U);
    EXPECT_THAT(parsed("fd(2147483647)").devices, ElementsAre(descriptor(2147483647)));
    for (const std::string number : {"", "-1", "abc", "3x", " 3", "3 ", "+3", "0x3", "03", "00", "2147483648",
                                     "99999999999999999999", "3.0", "(3)", "net_null0"})
        EXPECT_THAT(refused("dev(net_null0),fd(" + number + ")"),
                    AllOf(StartsWith(quote(number, 19)), HasSubstr("descriptor")))
            << number;
    for (const std::string more : {"", "forced", "Force", "force ", "force,force", "3"})
        EXPECT_THAT(refused("fd(3," + more + ")"), AllOf(StartsWith(quote(more, 6)), HasSubstr("\"force\""))) << more;
    EXPECT_THAT(refused("fd(5),dev(net_null0),fd(5)"), AllOf(StartsWith(quote("5", 25)), HasSubstr("twice")));
    EXPECT_THAT(refused("fd(5),fd(5,force)"), AllOf(StartsWith(quote("5", 10)), HasSubstr("twice")));
}

// FAULTS F9.
TEST(Devargs, TakesAStandardStreamOnlyWhenForced) {
    for (int fd = 0; fd <= 2; fd++) {
        const std::string number = std::to_string(fd);
        EXPECT_THAT(refused("fd(" + number + ")"),
                    AllOf(StartsWith(quote(number, 4)), HasSubstr("standard streams"), HasSubstr("fd(N,force)")));
        EXPECT_THAT(parsed("fd(" + number + ",force)").devices, ElementsAre(descriptor(fd, true)));
    }
    EXPECT_THAT(parsed("fd(3,force)").devices, ElementsAre(descriptor(3, true)));
}

TEST(Devargs, TakesOnlyAnExactNumberForTheTimeLimit) {
    EXPECT_EQ(parsed("exec(true),exec_timeout=1").exec_timeout, 1ms);
    EXPECT_EQ(parsed("exec(true),exec_timeout=600000").exec_timeout, 10min);
    for (const std::string value : {"", "0", "-1", "600001", "10x", "1.5", "18446744073709551616"})
        EXPECT_THAT(refused("exec(true),exec_timeout=" + value),
                    AllOf(StartsWith(quote(value, 25)), HasSubstr("exec_timeout= takes milliseconds")));
    EXPECT_THAT(refused("exec_timeout=5,exec(true),exec_timeout=5"), StartsWith(quote("exec_timeout=5", 27)));
}

} // namespace
} // namespace holdfast
