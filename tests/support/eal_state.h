// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace holdfast::test {

/// What a test must leave as it found it.
struct EalState {
    std::vector<std::string> ports;   ///< all, owned ones too
    std::vector<std::string> devices; ///< on the virtual bus
    std::size_t descriptors = 0;      ///< open files of the process

    [[nodiscard]] static EalState now() {
        EalState out;
        for (std::uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++) {
            std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
            rte_eth_dev_owner owner{};
            if (rte_eth_dev_is_valid_port(p) == 0 || rte_eth_dev_get_name_by_port(p, name.data()) != 0)
                continue;
            (void)rte_eth_dev_owner_get(p, &owner);
            out.ports.push_back(std::string(name.data()) +
                                (owner.id == RTE_ETH_DEV_NO_OWNER ? "" : " owned by " + std::string(owner.name)));
        }
        rte_dev_iterator it{};
        rte_device *dev = nullptr;
        RTE_DEV_FOREACH(dev, "bus=vdev", &it)
        out.devices.emplace_back(rte_dev_name(dev));
        std::error_code ignored;
        for ([[maybe_unused]] const auto &fd : std::filesystem::directory_iterator("/proc/self/fd", ignored))
            out.descriptors++;
        return out;
    }
    friend bool operator==(const EalState &, const EalState &) = default;
    friend std::ostream &operator<<(std::ostream &out, const EalState &s) {
        out << "ports:";
        for (const std::string &p : s.ports)
            out << " [" << p << "]";
        out << " devices:";
        for (const std::string &d : s.devices)
            out << " " << d;
        return out << " descriptors: " << s.descriptors;
    }
};

/// A device on the virtual bus, or null.
[[nodiscard]] inline rte_device *find_vdev(const std::string &name) {
    rte_dev_iterator it{};
    rte_device *dev = nullptr;
    RTE_DEV_FOREACH(dev, "bus=vdev", &it)
    if (name == rte_dev_name(dev))
        break;
    return dev;
}

/// Bytes in use in DPDK's heaps.
[[nodiscard]] inline std::size_t heap_in_use() {
    std::size_t used = 0;
    for (unsigned i = 0; i < rte_socket_count(); i++) {
        rte_malloc_socket_stats stats{};
        if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
            used += stats.heap_allocsz_bytes;
    }
    return used;
}

/// Ends the process when a test hangs, for its scope: a thread that waits for a lock cannot be got out of it. One at a
/// time.
class Watchdog {
  public:
    explicit Watchdog(std::chrono::seconds limit) {
        const char *preset = std::getenv("HOLDFAST_PRESET");
        const unsigned factor = preset != nullptr && std::strcmp(preset, "release") != 0 ? 2 : 1;
        std::snprintf(text().data(), text().size(), "\n%s.%s hangs; giving up\n",
                      testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                      testing::UnitTest::GetInstance()->current_test_info()->name());
        (void)std::signal(SIGALRM, [](int) {
            (void)!::write(STDERR_FILENO, text().data(), std::strlen(text().data()));
            std::_Exit(124);
        });
        ::alarm(static_cast<unsigned>(limit.count()) * factor);
    }
    ~Watchdog() { ::alarm(0); }
    Watchdog(const Watchdog &) = delete;
    Watchdog &operator=(const Watchdog &) = delete;

  private:
    static std::array<char, 256> &text() noexcept {
        static std::array<char, 256> buffer;
        return buffer;
    }
};

} // namespace holdfast::test
