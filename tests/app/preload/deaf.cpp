// SPDX-License-Identifier: BSD-3-Clause
//
// For LD_PRELOAD: a process in which nobody can listen to the kernel's events, as in a sandbox that forbids it. Netlink
// sockets that only ask and are answered stay what they are.

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <linux/netlink.h>
#include <sys/socket.h>

extern "C" __attribute__((visibility("default"))) int bind(int fd, const sockaddr *address, socklen_t size) noexcept {
    sockaddr_nl wanted{};
    if (address != nullptr && address->sa_family == AF_NETLINK && size >= sizeof(wanted)) {
        std::memcpy(&wanted, address, sizeof(wanted));
        if (wanted.nl_groups != 0) {
            errno = EPERM;
            return -1;
        }
    }
    using Bind = int (*)(int, const sockaddr *, socklen_t);
    static const auto real = reinterpret_cast<Bind>(::dlsym(RTLD_NEXT, "bind"));
    return real(fd, address, size);
}
