// SPDX-License-Identifier: BSD-3-Clause
// The operator's handle, through telemetry's real socket.
#include "support/virtual_port.h"

#include <gmock/gmock.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Before main(): this EAL has telemetry.
const bool g_with_telemetry = [] {
    const char *given = std::getenv("HOLDFAST_EAL_ARGS");
    std::string args = given != nullptr ? given : "--no-huge -m 512 --no-pci --no-telemetry";
    constexpr std::string_view off = "--no-telemetry";
    if (const auto at = args.find(off); at != std::string::npos)
        args.erase(at, off.size());
    return ::setenv("HOLDFAST_EAL_ARGS", args.c_str(), 1) == 0;
}();

/// One connection to telemetry.
class Client {
  public:
    Client() : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = std::string(rte_eal_get_runtime_dir()) + "/dpdk_telemetry.v2";
        std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0) << path;
        (void)read();
    }
    ~Client() { ::close(fd_); }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    std::string ask(const std::string &command) {
        EXPECT_EQ(::send(fd_, command.data(), command.size(), 0), static_cast<ssize_t>(command.size()));
        return read();
    }

  private:
    std::string read() {
        std::vector<char> buffer(65536);
        const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
        EXPECT_GT(n, 0);
        return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
    }
    int fd_;
};

class Telemetry : public WithPorts {
  protected:
    static std::string at(const Vport &port, int sub) { return std::to_string(port.id()) + "," + std::to_string(sub); }
};

TEST_F(Telemetry, ListsTheHoldfastPorts) {
    Client client;
    EXPECT_EQ(client.ask("/holdfast/list"), R"({"/holdfast/list":[]})");
    Mayfly a, b;
    Vport first(a.dev()), second(b.dev());
    EXPECT_EQ(client.ask("/holdfast/list"),
              "{\"/holdfast/list\":[" + std::to_string(first.id()) + "," + std::to_string(second.id()) + "]}");
}

TEST_F(Telemetry, ShowsAPortAndWhyASubDeviceIsNotThere) {
    Client client;
    Mayfly a, refused, away;
    refused.fail("dev_start", EIO);
    away.unplug();
    refused.unplug();
    Vport port(devargs_of({&a, &refused, &away}));
    ASSERT_EQ(port.up(pool()), 0);
    refused.plug();
    ASSERT_TRUE(eventually([&] { return refused.calls("dev_start") > 0 && !port.sub(1).reason.empty(); }));
    ASSERT_EQ(send(port, 5), 5);
    const std::string info = client.ask("/holdfast/info," + std::to_string(port.id()));
    EXPECT_THAT(info, HasSubstr("\"name\":\"" + port.name() + "\""));
    EXPECT_THAT(info, HasSubstr("\"active\":0"));
    EXPECT_THAT(info, HasSubstr("\"name\":\"" + a.name() + "\",\"state\":\"started\",\"wanted\":1,\"active\":1"));
    EXPECT_THAT(info, HasSubstr("\"tx_packets\":5"));
    EXPECT_THAT(info, HasSubstr("\"reason\":\"cannot start a sub-device: Input/output error\""));
    EXPECT_THAT(info, HasSubstr("\"name\":\"" + away.name() + "\",\"state\":\"absent\""));
}

TEST_F(Telemetry, SwitchesRemovesAndPlugs) {
    Client client;
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    EXPECT_THAT(client.ask("/holdfast/switch," + at(port, 1)), HasSubstr("\"status\":0"));
    EXPECT_EQ(port.active(), 1);
    EXPECT_THAT(client.ask("/holdfast/remove," + at(port, 1)), HasSubstr("\"status\":0"));
    EXPECT_EQ(port.state(1), "absent") << "done when it is answered";
    EXPECT_FALSE(b.there());
    EXPECT_EQ(port.active(), 0);
    EXPECT_THAT(client.ask("/holdfast/info," + std::to_string(port.id())), HasSubstr("\"reason\":\"removed by hand\""));
    EXPECT_THAT(client.ask("/holdfast/switch," + at(port, 1)), HasSubstr("\"status\":-11"));
    EXPECT_THAT(client.ask("/holdfast/plug," + at(port, 1)), HasSubstr("\"status\":0"));
    EXPECT_TRUE(port.joined(1));
    EXPECT_EQ(port.active(), 0);
}

TEST_F(Telemetry, BadParametersAreAnsweredAndChangeNothing) {
    Client client;
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    ASSERT_TRUE(eventually([&] { return port.joined(1); }));
    const std::string id = std::to_string(port.id());
    const std::string below = std::to_string(a.port().raw());
    for (const std::string command : {"switch", "remove", "plug"}) {
        for (const std::string &params : std::initializer_list<std::string>{
                 "", "," + id, "," + id + ",", "," + id + ",x", "," + id + ",-1", "," + id + ",1,1", "," + id + ",1x",
                 "," + id + ",2", "," + id + ",256", ",,", ",x,1", "," + id + " ,1", "," + below + ",0", ",999,0",
                 ",65535,0", ",70000,0"}) {
            const std::string answer = client.ask("/holdfast/" + command + params);
            EXPECT_THAT(answer, HasSubstr("\"status\":-")) << command << params;
            EXPECT_THAT(answer, HasSubstr("\"message\":\"cannot ")) << command << params;
        }
    }
    for (const std::string &params :
         std::initializer_list<std::string>{"", ",", ",x", "," + below, ",65535", "," + id + ",0"}) {
        EXPECT_THAT(client.ask("/holdfast/info" + params), HasSubstr("\"status\":-")) << params;
    }
    EXPECT_TRUE(port.joined(0) && port.joined(1));
    EXPECT_EQ(port.active(), 0);
    EXPECT_EQ(port.sub(1).removals, 0U);
}

// The answer is bounded also when the sub-device cannot come.
TEST_F(Telemetry, PluggingADeviceThatIsNotThereIsAnsweredAsGoingOn) {
    Client client;
    Mayfly a, b;
    Vport port(devargs_of({&a, &b}));
    ASSERT_EQ(port.up(pool()), 0);
    EXPECT_THAT(client.ask("/holdfast/remove," + at(port, 1)), HasSubstr("\"status\":0"));
    b.unplug();
    EXPECT_THAT(client.ask("/holdfast/plug," + at(port, 1)), HasSubstr("\"status\":-115")); // EINPROGRESS
    b.plug();
    EXPECT_TRUE(eventually([&] { return port.joined(1); }));
}

// F61, F159
TEST_F(Telemetry, QuestionsDuringPlugCyclesAreAnswered) {
    Mayfly a("mode=generate"), b;
    Vport port(devargs_of({&a, &b}, "hotplug_poll=1"));
    const std::string id = std::to_string(port.id());
    std::atomic<bool> stop{false};
    std::atomic<int> answers{0};
    std::thread asker([&] {
        Client client;
        while (!stop.load()) {
            for (const std::string &q :
                 {"/ethdev/xstats," + id, "/ethdev/stats," + id, "/ethdev/info," + id, "/ethdev/link_status," + id,
                  "/holdfast/info," + id, std::string("/holdfast/list"), std::string("/ethdev/list")})
                EXPECT_THAT(client.ask(q), HasSubstr(q.substr(0, q.find(','))));
            answers++;
        }
    });
    for (int i = 0; i < 15; i++) {
        ASSERT_EQ(port.up(pool()), 0);
        for (const std::uint8_t sub : std::to_array<std::uint8_t>({0, 1})) {
            const Mayfly &m = sub == 0 ? a : b;
            m.unplug();
            EXPECT_TRUE(eventually([&] { return port.state(sub) == "absent"; }));
            m.plug();
            EXPECT_TRUE(eventually([&] { return port.joined(sub); }));
        }
        (void)receive(port);
        ASSERT_EQ(port.stop(), 0);
    }
    stop.store(true);
    asker.join();
    EXPECT_GT(answers.load(), 0);
}

} // namespace
} // namespace holdfast::test
