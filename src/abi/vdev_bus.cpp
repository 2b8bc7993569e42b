// SPDX-License-Identifier: BSD-3-Clause
#include "abi/vdev_bus.h"

#include "base/result.h"

#include <bus_vdev_driver.h>
#include <rte_bus_vdev.h>

#include <cerrno>

// The bus keeps its lock to itself; but it holds it while it probes a device. So there is a driver that does nothing
// but call back, and refuses its device, which the bus then forgets before it gives the lock away: nobody sees it.

namespace holdfast::abi {
namespace {

constexpr const char *kKey = "holdfast_key";

struct Work {
    void (*call)(void *);
    void *arg;
    bool done = false;
};

/// What this thread wants to do under the lock.
thread_local Work *t_work = nullptr;

int probe(rte_vdev_device *) noexcept {
    if (t_work == nullptr)
        return -EINVAL; // somebody else's device of this name
    t_work->done = true;
    t_work->call(t_work->arg);
    return -ECANCELED;
}

int remove(rte_vdev_device *) noexcept {
    return 0;
}

rte_vdev_driver g_key = [] {
    rte_vdev_driver driver{};
    driver.driver.name = kKey;
    driver.probe = probe;
    driver.remove = remove;
    return driver;
}();

} // namespace

void register_vdev_key() noexcept {
    rte_vdev_register(&g_key);
}

Status detail::under_vdev_lock(void (*call)(void *), void *arg) noexcept {
    if (t_work != nullptr) { // this thread has the lock already, and the key is in it
        call(arg);
        return {};
    }
    Work work{call, arg};
    t_work = &work;
    const int rc = rte_vdev_init(kKey, "");
    t_work = nullptr;
    return work.done ? Status{} : Status{rc < 0 ? rc : -ENODEV, "get the lock of the virtual bus"};
}

} // namespace holdfast::abi
