// SPDX-License-Identifier: BSD-3-Clause
//
// holdfast_traffic: sends numbered, time-stamped frames into one interface and records where each of them comes out.
//
//   holdfast_traffic --source NETNS/IF --sink NETNS/IF [--sink NETNS/IF ...] --log FILE
//                    [--rate PPS] [--size BYTES] [--no-answers | --flood]
//
// The far side answers: each frame that arrives at a sink goes back out of the same interface under another EtherType
// and should arrive at the source. With --flood it does not; it sends numbered frames of its own under that type, each
// of them out of all sinks, as a network that leads to both of two links. Runs until its stdin closes (or SIGINT,
// SIGTERM). On stdout, one JSON object a line:
//   {"event":"ready",...}   {"event":"via","if":NAME,"seq":N,"t":NS}   {"event":"counts",...}   {"event":"end",...}
// The log has one line per fact, times in ns of CLOCK_MONOTONIC:
//   S seq sent        F seq sent arrived sink (a frame)        A seq sent arrived (an answer, or flooded)
//   I seq sent (flooded)
// "-" stands for the network namespace of the caller.

#include "wire.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <net/if.h>

namespace traffic {
namespace {

struct Place {
    std::string netns;
    std::string interface;
};

struct Options {
    Place source;
    std::vector<Place> sinks;
    std::string log;
    std::uint64_t rate = 2000;
    std::size_t size = 128;
    bool answers = true;
    bool flood = false;
};

struct Arrival {
    std::uint64_t seq;
    Ns sent;
    Ns arrived;
    std::uint32_t sink;
};

struct Departure {
    std::uint64_t seq;
    Ns sent;
};

struct Sink {
    std::string interface;
    std::atomic<std::uint64_t> received{0};
};

/// The far side: every sink of one namespace. Written by its own thread; counters may be read by others.
struct FarSide {
    std::string netns;
    std::vector<std::uint32_t> sinks;
    std::vector<std::pair<unsigned, std::uint32_t>>
        known; ///< interface index -> sink; an index is never given out twice
    std::vector<Arrival> arrivals;
    std::uint64_t dropped = 0;
    std::uint64_t unanswered = 0;
    std::thread thread;
};

class Traffic {
  public:
    explicit Traffic(Options options)
        : options_(std::move(options)), run_(static_cast<std::uint64_t>(now(CLOCK_REALTIME))),
          sinks_(options_.sinks.size()) {
        for (std::uint32_t i = 0; i < options_.sinks.size(); i++) {
            const Place &place = options_.sinks[i];
            sinks_[i].interface = place.interface;
            auto side =
                std::find_if(far_.begin(), far_.end(), [&](const FarSide &f) { return f.netns == place.netns; });
            if (side == far_.end())
                side = far_.insert(
                    far_.end(), FarSide{.netns = place.netns, .sinks = {}, .known = {}, .arrivals = {}, .thread = {}});
            side->sinks.push_back(i);
        }
    }

    void run() {
        for (FarSide &side : far_)
            side.thread = std::thread([this, &side] { serve(side); });
        std::thread answers([this] { collect_answers(); });
        // pairs: traffic-opened (Traffic::serve, Traffic::collect_answers): no frame may be sent before every socket is
        // open.
        while (opened_.load(std::memory_order_acquire) < far_.size() + 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::printf("{\"event\":\"ready\",\"t\":%lld}\n", static_cast<long long>(now()));
        std::fflush(stdout);
        std::thread sender([this] { send(); });
        std::thread flooder([this] {
            if (options_.flood)
                flood();
        });
        report_until_stopped();
        sender.join();
        flooder.join();
        // What is still under way when the sender ends must not count as lost.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        drained_.store(true, std::memory_order_relaxed);
        for (FarSide &side : far_)
            side.thread.join();
        answers.join();
        write_log();
        report("end");
    }

  private:
    void send() {
        enter_netns(options_.source.netns);
        const unsigned if_index = if_nametoindex(options_.source.interface.c_str());
        if (if_index == 0)
            die("no interface " + options_.source.interface);
        const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        if (fd < 0)
            die("cannot open a packet socket");
        std::array<std::uint8_t, kMaxSize> frame{};
        std::uint64_t seq = 0;
        departures_.reserve(options_.rate * 60);
        at_rate([&](Ns t) {
            fill_frame(frame, kFrameType, {.magic = kMagic, .run = run_, .seq = seq, .sent = t});
            if (!send_frame(fd, if_index, kFrameType, frame.data(), options_.size)) {
                refused_.fetch_add(1, std::memory_order_relaxed);
                return;
            }
            departures_.push_back({.seq = seq, .sent = t});
            sent_.store(++seq, std::memory_order_relaxed);
        });
        close(fd);
    }

    void flood() {
        enter_netns(options_.sinks.front().netns);
        const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        if (fd < 0)
            die("cannot open a packet socket");
        std::array<std::uint8_t, kMaxSize> frame{};
        flooded_.reserve(options_.rate * 60);
        at_rate([&](Ns t) {
            fill_frame(frame, kAnswerType, {.magic = kMagic, .run = run_, .seq = flooded_.size(), .sent = t});
            bool left = false;
            for (const Place &sink : options_.sinks) // which may be another interface of that name each time
                if (const unsigned if_index = if_nametoindex(sink.interface.c_str()); if_index != 0)
                    left = send_frame(fd, if_index, kAnswerType, frame.data(), options_.size) || left;
            if (left)
                flooded_.push_back({.seq = flooded_.size(), .sent = t});
        });
        close(fd);
    }

    template <class F> void at_rate(F act) const {
        const Ns interval = 1'000'000'000 / static_cast<Ns>(options_.rate);
        // So that a busy machine does not delay what it measures. If that is refused, it does.
        const sched_param first{.sched_priority = 1};
        (void)sched_setscheduler(0, SCHED_FIFO, &first); // of this thread
        // After a pause longer than this the missed frames are skipped: sending them all at once would be a test of
        // buffers.
        const Ns most_behind = 20 * kMilli;
        Ns due = now();
        while (!stopping()) {
            const Ns t = now();
            if (t < due) {
                std::this_thread::sleep_for(std::chrono::nanoseconds(std::max(due - t, kMilli / 2)));
                continue;
            }
            due = std::max(due + interval, t - most_behind);
            act(t);
        }
    }

    void serve(FarSide &side) {
        enter_netns(side.netns);
        Receiver receiver(kFrameType, run_);
        receiver.open();
        side.arrivals.reserve(options_.rate * 60);
        opened_.fetch_add(1, std::memory_order_release); // pairs: traffic-opened (Traffic::run)
        while (!drained_.load(std::memory_order_relaxed)) {
            receiver.receive([&](Received &r) {
                const auto sink = find_sink(side, r.if_index);
                if (sink >= sinks_.size())
                    return;
                side.arrivals.push_back(
                    {.seq = r.payload.seq, .sent = r.payload.sent, .arrived = r.arrived, .sink = sink});
                sinks_[sink].received.fetch_add(1, std::memory_order_relaxed);
                if (via_.exchange(sink, std::memory_order_relaxed) != sink) {
                    std::printf("{\"event\":\"via\",\"if\":\"%s\",\"seq\":%llu,\"t\":%lld}\n",
                                sinks_[sink].interface.c_str(), static_cast<unsigned long long>(r.payload.seq),
                                static_cast<long long>(r.arrived));
                    std::fflush(stdout);
                }
                if (!options_.answers || options_.flood)
                    return;
                const std::uint16_t type = htons(kAnswerType);
                std::memcpy(r.frame + offsetof(Header, type), &type, sizeof(type));
                if (!send_frame(receiver.fd(), r.if_index, kAnswerType, r.frame, r.size))
                    side.unanswered++;
            });
        }
        side.dropped = receiver.dropped();
        close(receiver.fd());
    }

    /// Names are looked up once per index: an interface that is made anew under its old name has a new index.
    std::uint32_t find_sink(FarSide &side, unsigned if_index) {
        for (const auto &[index, sink] : side.known)
            if (index == if_index)
                return sink;
        std::array<char, IF_NAMESIZE> name{};
        if (if_indextoname(if_index, name.data()) == nullptr)
            return UINT32_MAX;
        std::uint32_t found = UINT32_MAX;
        for (const std::uint32_t sink : side.sinks)
            if (sinks_[sink].interface == name.data())
                found = sink;
        side.known.emplace_back(if_index, found);
        return found;
    }

    void collect_answers() {
        enter_netns(options_.source.netns);
        const unsigned if_index = if_nametoindex(options_.source.interface.c_str());
        Receiver receiver(kAnswerType, run_);
        receiver.open();
        answers_.reserve(options_.rate * 60);
        opened_.fetch_add(1, std::memory_order_release); // pairs: traffic-opened (Traffic::run)
        while (!drained_.load(std::memory_order_relaxed)) {
            receiver.receive([&](const Received &r) {
                if (r.if_index != if_index)
                    return;
                answers_.push_back({.seq = r.payload.seq, .sent = r.payload.sent, .arrived = r.arrived, .sink = 0});
                answered_.fetch_add(1, std::memory_order_relaxed);
            });
        }
        answers_dropped_ = receiver.dropped();
        close(receiver.fd());
    }

    void report_until_stopped() {
        pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        while (!stopping()) {
            if (poll(&input, 1, 50) > 0) {
                char c = 0;
                if (read(STDIN_FILENO, &c, 1) <= 0)
                    stop();
            }
            report("counts");
        }
    }

    void report(const char *event) {
        std::string line = "{\"event\":\"" + std::string(event) + "\",\"t\":" + std::to_string(now()) +
                           ",\"sent\":" + std::to_string(sent_.load(std::memory_order_relaxed)) +
                           ",\"refused\":" + std::to_string(refused_.load(std::memory_order_relaxed)) +
                           ",\"answers\":" + std::to_string(answered_.load(std::memory_order_relaxed)) +
                           ",\"received\":{";
        for (std::size_t i = 0; i < sinks_.size(); i++)
            line += (i == 0 ? "\"" : ",\"") + sinks_[i].interface +
                    "\":" + std::to_string(sinks_[i].received.load(std::memory_order_relaxed));
        line += "}";
        if (std::string_view(event) == "end") {
            std::uint64_t dropped = answers_dropped_;
            std::uint64_t unanswered = 0;
            for (const FarSide &side : far_) {
                dropped += side.dropped;
                unanswered += side.unanswered;
            }
            line += ",\"dropped\":" + std::to_string(dropped) + ",\"unanswered\":" + std::to_string(unanswered);
        }
        std::printf("%s}\n", line.c_str());
        std::fflush(stdout);
    }

    void write_log() {
        std::FILE *file = std::fopen(options_.log.c_str(), "w");
        if (file == nullptr)
            die("cannot write " + options_.log);
        for (const Departure &d : departures_)
            std::fprintf(file, "S %llu %lld\n", static_cast<unsigned long long>(d.seq), static_cast<long long>(d.sent));
        for (const FarSide &side : far_)
            for (const Arrival &a : side.arrivals)
                std::fprintf(file, "F %llu %lld %lld %s\n", static_cast<unsigned long long>(a.seq),
                             static_cast<long long>(a.sent), static_cast<long long>(a.arrived),
                             sinks_[a.sink].interface.c_str());
        for (const Arrival &a : answers_)
            std::fprintf(file, "A %llu %lld %lld\n", static_cast<unsigned long long>(a.seq),
                         static_cast<long long>(a.sent), static_cast<long long>(a.arrived));
        for (const Departure &d : flooded_)
            std::fprintf(file, "I %llu %lld\n", static_cast<unsigned long long>(d.seq), static_cast<long long>(d.sent));
        if (std::fclose(file) != 0)
            die("cannot write " + options_.log);
    }

    Options options_;
    std::uint64_t run_;
    std::vector<Sink> sinks_;
    std::vector<FarSide> far_;
    std::vector<Departure> departures_;
    std::vector<Departure> flooded_;
    std::vector<Arrival> answers_;
    std::uint64_t answers_dropped_ = 0;
    std::atomic<std::size_t> opened_{0};
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> answered_{0};
    std::atomic<std::uint32_t> via_{UINT32_MAX};
    std::atomic<bool> drained_{false};
};

[[noreturn]] void usage(const std::string &what) {
    std::fprintf(
        stderr,
        "holdfast_traffic: %s\nusage: holdfast_traffic --source NETNS/IF --sink NETNS/IF [--sink NETNS/IF "
        "...] --log FILE\n"
        "                        [--rate PPS (1..100000)] [--size BYTES (%zu..%zu)] [--no-answers | --flood]\n",
        what.c_str(), kMinSize, kMaxSize);
    std::exit(2);
}

Place place_of(const std::string &text) {
    const auto slash = text.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == text.size())
        usage("\"" + text + "\" is not NETNS/IF");
    return {.netns = text.substr(0, slash), .interface = text.substr(slash + 1)};
}

std::uint64_t number_of(const std::string &text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    if (!read_number(text, least, most, value))
        usage("\"" + text + "\" is not a number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

Options parse(const std::vector<std::string> &arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); i++) {
        const std::string &name = arguments[i];
        if (name == "--no-answers") {
            options.answers = false;
            continue;
        }
        if (name == "--flood") {
            options.flood = true;
            continue;
        }
        if (i + 1 == arguments.size())
            usage("\"" + name + "\" is unknown or lacks its value");
        const std::string &value = arguments[++i];
        if (name == "--source")
            options.source = place_of(value);
        else if (name == "--sink")
            options.sinks.push_back(place_of(value));
        else if (name == "--log")
            options.log = value;
        else if (name == "--rate")
            options.rate = number_of(value, 1, 100'000);
        else if (name == "--size")
            options.size = number_of(value, kMinSize, kMaxSize);
        else
            usage("\"" + name + "\" is unknown");
    }
    if (options.source.interface.empty() || options.sinks.empty() || options.log.empty())
        usage("--source, --sink and --log are needed");
    if (options.flood && std::any_of(options.sinks.begin(), options.sinks.end(),
                                     [&](const Place &p) { return p.netns != options.sinks.front().netns; }))
        usage("--flood needs all sinks in one network namespace");
    return options;
}

} // namespace
} // namespace traffic

int main(int argc, char **argv) {
    using namespace traffic;
    const Options options = parse({argv + 1, argv + argc});
    stop_on_signals();
    Traffic(options).run();
    return 0;
}
