// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <mutex>

/// Clang's thread-safety attributes; nothing under other compilers.
#if defined(__clang__)
#define HOLDFAST_TSA(x) __attribute__((x))
#else
#define HOLDFAST_TSA(x)
#endif

namespace holdfast {

/// std::timed_mutex that Clang can check: libstdc++'s own is not annotated.
class HOLDFAST_TSA(capability("mutex")) Mutex {
  public:
    void lock() HOLDFAST_TSA(acquire_capability()) { mutex_.lock(); }
    bool try_lock() HOLDFAST_TSA(try_acquire_capability(true)) { return mutex_.try_lock(); }
    bool try_lock_for(std::chrono::milliseconds limit) HOLDFAST_TSA(try_acquire_capability(true)) {
        return mutex_.try_lock_for(limit);
    }
    void unlock() HOLDFAST_TSA(release_capability()) { mutex_.unlock(); }

  private:
    std::timed_mutex mutex_;
};

/// Holds a Mutex for its scope. A `const Locked &` parameter says: call this with the port's mutex held.
class HOLDFAST_TSA(scoped_lockable) Locked {
  public:
    explicit Locked(Mutex &mutex) HOLDFAST_TSA(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
    /// Takes a mutex over that was locked by try_lock().
    Locked(Mutex &mutex, std::adopt_lock_t) HOLDFAST_TSA(requires_capability(mutex)) : mutex_(mutex) {}
    ~Locked() HOLDFAST_TSA(release_capability()) { mutex_.unlock(); }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;

  private:
    Mutex &mutex_;
};

} // namespace holdfast
