// SPDX-License-Identifier: BSD-3-Clause
//
// What holdfast_traffic and holdfast_frames share: what they put on the wire, how it gets there and back, how they end.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace traffic {

using Ns = std::int64_t;

// The two EtherTypes that IEEE 802 sets aside for local experiments. Two of them, so that a sink never takes an answer
// for a frame.
inline constexpr std::uint16_t kFrameType = 0x88b5;
inline constexpr std::uint16_t kAnswerType = 0x88b6;
inline constexpr std::uint64_t kMagic = 0x686f6c6466617374; // "holdfast"
inline constexpr std::size_t kBatch = 32;
inline constexpr Ns kMilli = 1'000'000;

struct Payload {
    std::uint64_t magic;
    std::uint64_t run;
    std::uint64_t seq;
    Ns sent;
};

struct Header {
    std::array<std::uint8_t, 6> to;
    std::array<std::uint8_t, 6> from;
    std::uint16_t type;
};
static_assert(sizeof(Header) == 14);

inline constexpr std::size_t kMinSize = sizeof(Header) + sizeof(Payload);
inline constexpr std::size_t kMaxSize = 1514;

inline Ns now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Was the program told to end, by a signal or else?
inline std::atomic<bool> stop_wanted{false}; // alone, so relaxed

inline void stop() {
    stop_wanted.store(true, std::memory_order_relaxed);
}

inline bool stopping() {
    return stop_wanted.load(std::memory_order_relaxed);
}

/// SIGINT and SIGTERM end it in order.
inline void stop_on_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) { stop(); };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

/// False: it is no number, or out of its range.
inline bool read_number(const std::string &text, std::uint64_t least, std::uint64_t most, std::uint64_t &out) {
    char *end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != '\0' || value < least || value > most)
        return false;
    out = value;
    return true;
}

[[noreturn]] inline void die(const std::string &what) {
    std::fprintf(stderr, "holdfast_traffic: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(2);
}

/// Moves the calling thread, and so the sockets it opens from now on, into a network namespace.
inline void enter_netns(const std::string &name) {
    if (name == "-")
        return;
    const std::string path = "/run/netns/" + name;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        die("cannot enter the network namespace " + path);
    close(fd);
}

/// Opens a raw socket for one EtherType on *all* interfaces of the namespace: so it outlives each of them.
inline int open_socket(std::uint16_t type) {
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(type));
    if (fd < 0)
        die("cannot open a packet socket");
    const int bytes = 16 << 20;
    const int on = 1;
    // Without the larger buffer a pause of this process would look like loss in the driver; "dropped" tells whether it
    // was enough.
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) != 0)
        die("cannot set up a packet socket");
    return fd;
}

inline void fill_frame(std::array<std::uint8_t, kMaxSize> &frame, std::uint16_t type, const Payload &payload) {
    const Header header{.to = {0x02, 0x48, 0x46, 0, 0, 2}, .from = {0x02, 0x48, 0x46, 0, 0, 1}, .type = htons(type)};
    std::memcpy(frame.data(), &header, sizeof(header));
    std::memcpy(frame.data() + sizeof(header), &payload, sizeof(payload));
}

inline bool send_frame(int fd, unsigned if_index, std::uint16_t type, const std::uint8_t *frame, std::size_t size) {
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(type);
    to.sll_ifindex = static_cast<int>(if_index);
    to.sll_halen = 6;
    std::memcpy(to.sll_addr, frame, 6);
    return sendto(fd, frame, size, MSG_DONTWAIT, reinterpret_cast<const sockaddr *>(&to), sizeof(to)) >= 0;
}

/// One receiving thread's view of a received frame.
struct Received {
    Payload payload;
    Ns arrived;
    unsigned if_index;
    std::uint8_t *frame;
    std::size_t size;
};

/// Receives frames of one EtherType in one namespace. Arrival is the kernel's stamp, so that a late wake-up of this
/// process does not show.
class Receiver {
  public:
    Receiver(std::uint16_t type, std::uint64_t run) : type_(type), run_(run) {}

    void open() { fd_ = open_socket(type_); }
    int fd() const { return fd_; }

    /// Waits up to 20 ms, then hands each frame of this run to `take`.
    template <class Take> void receive(Take take) {
        pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, 20) <= 0)
            return;
        for (std::size_t i = 0; i < kBatch; i++) {
            parts_[i] = {.iov_base = frames_[i].data(), .iov_len = frames_[i].size()};
            messages_[i] = {};
            messages_[i].msg_hdr.msg_iov = &parts_[i];
            messages_[i].msg_hdr.msg_iovlen = 1;
            messages_[i].msg_hdr.msg_name = &from_[i];
            messages_[i].msg_hdr.msg_namelen = sizeof(from_[i]);
            messages_[i].msg_hdr.msg_control = control_[i].data();
            messages_[i].msg_hdr.msg_controllen = control_[i].size();
        }
        const int got = recvmmsg(fd_, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
        const Ns to_monotonic = now() - now(CLOCK_REALTIME);
        for (std::size_t i = 0; got > 0 && i < static_cast<std::size_t>(got); i++) {
            Received r{.payload = {},
                       .arrived = stamp(messages_[i].msg_hdr) + to_monotonic,
                       .if_index = static_cast<unsigned>(from_[i].sll_ifindex),
                       .frame = frames_[i].data(),
                       .size = messages_[i].msg_len};
            if (r.size < kMinSize || from_[i].sll_pkttype == PACKET_OUTGOING)
                continue;
            std::memcpy(&r.payload, r.frame + sizeof(Header), sizeof(r.payload));
            if (r.payload.magic == kMagic && r.payload.run == run_)
                take(r);
        }
    }

    /// Frames that the kernel threw away because this process was too slow.
    std::uint64_t dropped() {
        tpacket_stats stats{};
        socklen_t length = sizeof(stats);
        if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0)
            dropped_ += stats.tp_drops;
        return dropped_;
    }

  private:
    static Ns stamp(msghdr &message) {
        for (cmsghdr *c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
                timespec t{};
                std::memcpy(&t, CMSG_DATA(c), sizeof(t));
                return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
            }
        }
        return now(CLOCK_REALTIME);
    }

    std::uint16_t type_;
    std::uint64_t run_;
    int fd_ = -1;
    std::uint64_t dropped_ = 0;
    std::array<std::array<std::uint8_t, kMaxSize>, kBatch> frames_{};
    std::array<std::array<std::uint8_t, 128>, kBatch> control_{};
    std::array<sockaddr_ll, kBatch> from_{};
    std::array<iovec, kBatch> parts_{};
    std::array<mmsghdr, kBatch> messages_{};
};

} // namespace traffic
