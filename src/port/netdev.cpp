// SPDX-License-Identifier: BSD-3-Clause
#include "port/netdev.h"

#include <optional>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {
namespace {

/// One question or order to the kernel about an interface.
class Request {
  public:
    explicit Request(unsigned index) noexcept
        : known_(index != 0 && ::if_indextoname(index, ifreq_.ifr_name) != nullptr),
          fd_(known_ ? ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1) {}
    ~Request() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;

    bool make(unsigned long what) noexcept { return fd_ >= 0 && ::ioctl(fd_, what, &ifreq_) == 0; }
    ifreq *operator->() noexcept { return &ifreq_; }
    [[nodiscard]] unsigned flags() const noexcept { return static_cast<unsigned short>(ifreq_.ifr_flags); }

  private:
    ifreq ifreq_{};
    const bool known_;
    const int fd_;
};

} // namespace

std::optional<unsigned> netdev_flags(unsigned index) noexcept {
    Request request(index);
    return request.make(SIOCGIFFLAGS) ? std::optional(request.flags()) : std::nullopt;
}

bool set_netdev_flags(unsigned index, unsigned mask, unsigned flags) noexcept {
    Request request(index);
    if (!request.make(SIOCGIFFLAGS))
        return false;
    const unsigned wanted = (request.flags() & ~mask) | (flags & mask);
    if (wanted == request.flags())
        return true;
    request->ifr_flags = static_cast<short>(wanted);
    return request.make(SIOCSIFFLAGS);
}

std::optional<bool> netdev_carrier(unsigned index) noexcept {
    Request request(index);
    ethtool_value answer{.cmd = ETHTOOL_GLINK, .data = 0};
    request->ifr_data = reinterpret_cast<char *>(&answer);
    return request.make(SIOCETHTOOL) ? std::optional(answer.data != 0) : std::nullopt;
}

std::optional<int> netdev_mtu(unsigned index) noexcept {
    Request request(index);
    return request.make(SIOCGIFMTU) ? std::optional(request->ifr_mtu) : std::nullopt;
}

bool set_netdev_mtu(unsigned index, int mtu) noexcept {
    Request request(index);
    request->ifr_mtu = mtu;
    return request.make(SIOCSIFMTU);
}

} // namespace holdfast
