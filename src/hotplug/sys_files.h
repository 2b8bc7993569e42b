// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// The files of sysfs, by their paths from its root ("bus/pci/drivers"). Every int is 0 or a negative errno.
class SysFiles {
  public:
    SysFiles() = default;
    virtual ~SysFiles() = default;
    SysFiles(const SysFiles &) = delete;
    SysFiles &operator=(const SysFiles &) = delete;

    [[nodiscard]] virtual bool exists(const std::string &path) = 0;
    /// All of it, in one call: a file of sysfs takes each write for a whole command.
    [[nodiscard]] virtual int write(const std::string &path, std::string_view text) = 0;
    /// Without the newline at its end.
    [[nodiscard]] virtual int read(const std::string &path, std::string &out) = 0;
    /// Where a symbolic link points to, as it is written there.
    [[nodiscard]] virtual int read_link(const std::string &path, std::string &out) = 0;
    /// The names in a folder, sorted.
    [[nodiscard]] virtual int list(const std::string &path, std::vector<std::string> &out) = 0;
};

/// Those below a folder of the file system, and none outside of it, wherever links and dots may lead (-EXDEV). Makes no
/// file.
class SysFolder final : public SysFiles {
  public:
    explicit SysFolder(std::string root) : root_(std::move(root)) {}

    bool exists(const std::string &path) override;
    int write(const std::string &path, std::string_view text) override;
    int read(const std::string &path, std::string &out) override;
    int read_link(const std::string &path, std::string &out) override;
    int list(const std::string &path, std::vector<std::string> &out) override;

  private:
    /// The real path, if it is inside.
    [[nodiscard]] int find(const std::string &path, std::string &out) const;

    const std::string root_;
};

} // namespace holdfast
