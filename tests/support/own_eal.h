// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_eal.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace holdfast::test {

/// An EAL of this process's own: its file prefix ends with the process id, its arguments are those of
/// HOLDFAST_EAL_ARGS, then `more`.
class OwnEal {
  public:
    OwnEal(const char *program, const std::string &prefix, std::vector<std::string> more = {}) {
        const char *given = std::getenv("HOLDFAST_EAL_ARGS");
        std::istringstream words(given != nullptr ? given : "--no-huge -m 512 --no-pci --no-telemetry");
        args_ = {program, "--file-prefix=" + prefix + "-" + std::to_string(::getpid())};
        for (std::string word; words >> word;)
            args_.push_back(word);
        for (std::string &arg : more)
            args_.push_back(std::move(arg));
        std::vector<char *> pointers; // EAL shuffles them
        for (std::string &arg : args_)
            pointers.push_back(arg.data());
        started_ = rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) >= 0;
        if (started_)
            files_ = rte_eal_get_runtime_dir();
    }
    OwnEal(const OwnEal &) = delete;
    OwnEal &operator=(const OwnEal &) = delete;

    [[nodiscard]] bool started() const noexcept { return started_; }

    /// EAL leaves its folder behind.
    void remove_files() const {
        std::error_code ignored;
        std::filesystem::remove_all(files_, ignored);
    }

  private:
    std::vector<std::string> args_; // EAL keeps pointers to some
    bool started_ = false;
    std::filesystem::path files_;
};

} // namespace holdfast::test
