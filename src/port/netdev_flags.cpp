// SPDX-License-Identifier: BSD-3-Clause
#include "port/netdev_flags.h"

#include <optional>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast {

std::optional<unsigned> netdev_flags(unsigned index) noexcept {
    ifreq request{};
    if (index == 0 || ::if_indextoname(index, request.ifr_name) == nullptr)
        return {};
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = fd >= 0 && ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    if (fd >= 0)
        ::close(fd);
    if (!known)
        return {};
    return static_cast<unsigned short>(request.ifr_flags);
}

} // namespace holdfast
