// SPDX-License-Identifier: BSD-3-Clause
//
// holdfast_frames: the network that a VM of scripts/vm.d is plugged into. Sends numbered, time-stamped frames over
// qemu's datagram netdevs and records where each of them comes back.
//
//   holdfast_frames --link NAME=OWN,PEER[,PEER...] [--link ...] --to MAC --log FILE [--rate PPS]
//
// OWN and PEER are the paths of unix sockets. A frame goes out on every link, as a switch floods it; on each link to
// the peer that was heard last, as a switch learns where a MAC address sits; to all of them as long as none was heard.
// Runs until its stdin closes (or SIGINT, SIGTERM). What it prints and logs is what holdfast_traffic does; an F line
// ends with the link that the frame was sent on. Further lines of the log: L time link peer (a peer was learned).

#include "app/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/un.h>

namespace traffic {
namespace {

constexpr std::size_t kSize = 128;
constexpr Ns kReportEvery = 50 * kMilli;
constexpr Ns kDrain = 300 * kMilli;     // what is under way when the sender ends must not count as lost
constexpr Ns kMostBehind = 20 * kMilli; // after a longer pause the missed frames are skipped: they would test buffers

sockaddr_un address_of(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        die("too long for a socket: " + path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

struct Link {
    std::string name, own;
    std::vector<std::string> peers;
    std::vector<sockaddr_un> addresses;
    std::size_t heard = SIZE_MAX; ///< the peer that was heard last
    int fd = -1;
    std::uint64_t received = 0;
};

struct Options {
    std::vector<Link> links;
    std::array<std::uint8_t, 6> to{};
    std::string log;
    std::uint64_t rate = 1000;
};

/// A frame says on which link it was sent: the last byte of the MAC address that it came from, in the guest's eyes.
constexpr std::uint8_t kFirstLink = 0x10;

struct Arrival {
    std::uint64_t seq;
    Ns sent, arrived;
    std::size_t over, sent_on;
};

struct Learned {
    Ns when;
    std::size_t link, peer;
};

class Frames {
  public:
    explicit Frames(Options options)
        : options_(std::move(options)), run_(static_cast<std::uint64_t>(now(CLOCK_REALTIME))) {}

    void run() {
        for (Link &link : options_.links)
            open(link);
        sent_.reserve(options_.rate * 120);
        arrivals_.reserve(options_.rate * 240);
        std::printf("{\"event\":\"ready\",\"t\":%lld}\n", static_cast<long long>(now()));
        std::fflush(stdout);
        const Ns interval = 1'000'000'000 / static_cast<Ns>(options_.rate);
        Ns due = now(), report_due = due;
        while (!stopping()) {
            const Ns t = now();
            if (t >= due) {
                due = std::max(due + interval, t - kMostBehind);
                send(t);
            }
            if (t >= report_due) {
                report_due = t + kReportEvery;
                report("counts");
            }
            wait(due);
        }
        for (const Ns until = now() + kDrain; now() < until;)
            wait(until);
        write_log();
        report("end");
        for (const Link &link : options_.links)
            ::unlink(link.own.c_str());
    }

  private:
    static void open(Link &link) {
        link.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ::unlink(link.own.c_str());
        const sockaddr_un own = address_of(link.own);
        if (link.fd < 0 || bind(link.fd, reinterpret_cast<const sockaddr *>(&own), sizeof(own)) != 0)
            die("cannot open the socket " + link.own);
        for (const std::string &peer : link.peers)
            link.addresses.push_back(address_of(peer));
    }

    void send(Ns t) {
        std::array<std::uint8_t, kMaxSize> frame{};
        fill_frame(frame, kFrameType, {.magic = kMagic, .run = run_, .seq = sent_.size(), .sent = t});
        std::memcpy(frame.data(), options_.to.data(), options_.to.size());
        for (std::size_t i = 0; i < options_.links.size(); i++) {
            frame[offsetof(Header, from) + 5] = static_cast<std::uint8_t>(kFirstLink + i);
            const Link &link = options_.links[i];
            for (std::size_t peer = 0; peer < link.addresses.size(); peer++) {
                if (link.heard < link.addresses.size() && peer != link.heard)
                    continue;
                const auto *to = reinterpret_cast<const sockaddr *>(&link.addresses[peer]);
                if (sendto(link.fd, frame.data(), kSize, MSG_DONTWAIT, to, sizeof(sockaddr_un)) < 0)
                    refused_++; // no such qemu yet, or it does not read: a cable that leads nowhere
            }
        }
        sent_.push_back(t);
    }

    /// Receives until `until`, or until something else is to be done.
    void wait(Ns until) {
        std::array<pollfd, 17> fds{};
        std::size_t count = 0;
        for (const Link &link : options_.links)
            fds[count++] = {.fd = link.fd, .events = POLLIN, .revents = 0};
        if (!stopping())
            fds[count++] = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        const Ns left = std::max<Ns>(until - now(), 0);
        const timespec patience{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
        if (ppoll(fds.data(), count, &patience, nullptr) <= 0)
            return;
        for (std::size_t i = 0; i < options_.links.size(); i++)
            if ((fds[i].revents & POLLIN) != 0)
                receive(i);
        char c = 0;
        if (!stopping() && fds[count - 1].revents != 0 && read(STDIN_FILENO, &c, 1) <= 0)
            stop();
    }

    void receive(std::size_t index) {
        Link &link = options_.links[index];
        std::array<std::uint8_t, 4096> frame{};
        for (std::size_t i = 0; i < kBatch; i++) {
            sockaddr_un from{};
            socklen_t length = sizeof(from);
            const ssize_t got = recvfrom(link.fd, frame.data(), frame.size(), MSG_DONTWAIT,
                                         reinterpret_cast<sockaddr *>(&from), &length);
            if (got < static_cast<ssize_t>(sizeof(Header)))
                return;
            const Ns t = now();
            learn(index, from.sun_path, t);
            Payload payload{};
            if (got < static_cast<ssize_t>(kMinSize))
                continue;
            std::memcpy(&payload, frame.data() + sizeof(Header), sizeof(payload));
            const std::size_t sent_on = std::size_t{frame[5]} - kFirstLink; // the guest swapped the MAC addresses
            if (payload.magic != kMagic || payload.run != run_ || sent_on >= options_.links.size())
                continue;
            arrivals_.push_back(
                {.seq = payload.seq, .sent = payload.sent, .arrived = t, .over = index, .sent_on = sent_on});
            link.received++;
            if (std::exchange(via_, index) == index)
                continue;
            std::printf("{\"event\":\"via\",\"if\":\"%s\",\"seq\":%llu,\"t\":%lld}\n", link.name.c_str(),
                        static_cast<unsigned long long>(payload.seq), static_cast<long long>(t));
            std::fflush(stdout);
        }
    }

    void learn(std::size_t index, const char *from, Ns t) {
        Link &link = options_.links[index];
        const auto found = std::find(link.peers.begin(), link.peers.end(), from);
        const auto peer = static_cast<std::size_t>(found - link.peers.begin());
        if (found == link.peers.end() || peer == link.heard)
            return;
        link.heard = peer;
        learned_.push_back({.when = t, .link = index, .peer = peer});
    }

    void report(const char *event) const {
        std::string line = "{\"event\":\"" + std::string(event) + "\",\"t\":" + std::to_string(now()) +
                           ",\"sent\":" + std::to_string(sent_.size()) + ",\"refused\":" + std::to_string(refused_) +
                           ",\"received\":{";
        for (const Link &link : options_.links)
            line += (line.back() == '{' ? "\"" : ",\"") + link.name + "\":" + std::to_string(link.received);
        std::printf("%s}}\n", line.c_str());
        std::fflush(stdout);
    }

    void write_log() const {
        std::FILE *file = std::fopen(options_.log.c_str(), "w");
        if (file == nullptr)
            die("cannot write " + options_.log);
        for (std::size_t seq = 0; seq < sent_.size(); seq++)
            std::fprintf(file, "S %zu %lld\n", seq, static_cast<long long>(sent_[seq]));
        for (const Arrival &a : arrivals_)
            std::fprintf(file, "F %llu %lld %lld %s %s\n", static_cast<unsigned long long>(a.seq),
                         static_cast<long long>(a.sent), static_cast<long long>(a.arrived),
                         options_.links[a.over].name.c_str(), options_.links[a.sent_on].name.c_str());
        for (const Learned &l : learned_)
            std::fprintf(file, "L %lld %s %s\n", static_cast<long long>(l.when), options_.links[l.link].name.c_str(),
                         options_.links[l.link].peers[l.peer].c_str());
        if (std::fclose(file) != 0)
            die("cannot write " + options_.log);
    }

    Options options_;
    const std::uint64_t run_;
    std::vector<Ns> sent_;
    std::vector<Arrival> arrivals_;
    std::vector<Learned> learned_;
    std::uint64_t refused_ = 0;
    std::size_t via_ = SIZE_MAX;
};

[[noreturn]] void usage(const std::string &what) {
    std::fprintf(stderr,
                 "holdfast_frames: %s\nusage: holdfast_frames --link NAME=OWN,PEER[,PEER...] [--link ...] --to MAC "
                 "--log FILE [--rate PPS (1..20000)]\n",
                 what.c_str());
    std::exit(2);
}

Link link_of(const std::string &text) {
    Link link;
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
        usage("\"" + text + "\" is not NAME=OWN,PEER");
    link.name = text.substr(0, equals);
    for (std::size_t at = equals + 1; at <= text.size();) {
        const auto end = std::min(text.find(',', at), text.size());
        const std::string path = text.substr(at, end - at);
        if (path.empty())
            usage("an empty path in \"" + text + "\"");
        if (link.own.empty())
            link.own = path;
        else
            link.peers.push_back(path);
        at = end + 1;
    }
    if (link.peers.empty())
        usage("no peer in \"" + text + "\"");
    return link;
}

Options parse(const std::vector<std::string> &arguments) {
    Options options;
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
        const std::string &name = arguments[i], &value = arguments[i + 1];
        if (name == "--link") {
            options.links.push_back(link_of(value));
        } else if (name == "--to") {
            std::array<unsigned, 6> mac{};
            if (std::sscanf(value.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
                            &mac[5]) != 6)
                usage("\"" + value + "\" is not a MAC address");
            std::transform(mac.begin(), mac.end(), options.to.begin(),
                           [](unsigned byte) { return static_cast<std::uint8_t>(byte); });
        } else if (name == "--log") {
            options.log = value;
        } else if (name == "--rate") {
            if (!read_number(value, 1, 20'000, options.rate))
                usage("\"" + value + "\" is not a number from 1 to 20000");
        } else {
            usage("\"" + name + "\" is unknown");
        }
    }
    if (arguments.size() % 2 != 0 || options.links.empty() || options.links.size() > 16 || options.log.empty() ||
        options.to == std::array<std::uint8_t, 6>{})
        usage("something is missing, or out of its range");
    return options;
}

} // namespace
} // namespace traffic

int main(int argc, char **argv) {
    using namespace traffic;
    const Options options = parse({argv + 1, argv + argc});
    stop_on_signals();
    // It measures others, so it must not wait for its turn behind them. It sleeps most of the time.
    const sched_param first{.sched_priority = 1};
    (void)sched_setscheduler(0, SCHED_FIFO, &first);
    Frames(options).run();
    return 0;
}
