// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/sys_files.h"

#include "base/descriptor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace holdfast {
namespace {

int real_path(const std::string &path, std::string &out) {
    std::array<char, PATH_MAX> buffer;
    if (::realpath(path.c_str(), buffer.data()) == nullptr)
        return -errno;
    out = buffer.data();
    return 0;
}

/// Never one of the standard streams' numbers: what another thread prints must not get into such a file.
Descriptor open_file(const std::string &real, int how) noexcept {
    // With O_NONBLOCK for the case that it is no file of sysfs but a pipe: then nobody has to come to its other end.
    return Descriptor::aside(Descriptor(::open(real.c_str(), how | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK)));
}

} // namespace

int SysFolder::find(const std::string &path, std::string &out) const {
    std::string top, real;
    if (const int rc = real_path(root_, top); rc != 0)
        return rc;
    if (const int rc = real_path(top + "/" + path, real); rc != 0)
        return rc;
    if (!top.ends_with('/'))
        top += '/';
    if (!(real + "/").starts_with(top))
        return -EXDEV;
    out = std::move(real);
    return 0;
}

bool SysFolder::exists(const std::string &path) {
    std::string real;
    return find(path, real) == 0;
}

int SysFolder::write(const std::string &path, std::string_view text) {
    std::string real;
    if (const int rc = find(path, real); rc != 0)
        return rc;
    const Descriptor file = open_file(real, O_WRONLY | O_TRUNC);
    if (!file.open())
        return -errno;
    ssize_t n;
    do {
        n = ::write(file.get(), text.data(), text.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return static_cast<std::size_t>(n) == text.size() ? 0 : -EIO;
}

int SysFolder::read(const std::string &path, std::string &out) {
    std::string real;
    if (const int rc = find(path, real); rc != 0)
        return rc;
    const Descriptor file = open_file(real, O_RDONLY);
    if (!file.open())
        return -errno;
    std::array<char, 4096> page; // more than that no attribute can say
    ssize_t n;
    do {
        n = ::read(file.get(), page.data(), page.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    out.assign(page.data(), static_cast<std::size_t>(n));
    if (out.ends_with('\n'))
        out.pop_back();
    return 0;
}

int SysFolder::read_link(const std::string &path, std::string &out) {
    // The link itself is read, not followed; the folder that it is in has to be inside.
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    std::string folder;
    if (const int rc = find(slash == std::string::npos ? "" : path.substr(0, slash), folder); rc != 0)
        return rc;
    std::array<char, PATH_MAX> target;
    const ssize_t n = ::readlink((folder + "/" + name).c_str(), target.data(), target.size());
    if (n < 0)
        return -errno;
    out.assign(target.data(), static_cast<std::size_t>(n));
    return 0;
}

int SysFolder::list(const std::string &path, std::vector<std::string> &out) {
    std::string real;
    if (const int rc = find(path, real); rc != 0)
        return rc;
    DIR *folder = ::opendir(real.c_str());
    if (folder == nullptr)
        return -errno;
    out.clear();
    int error = 0;
    for (;;) {
        errno = 0;
        const dirent *entry = ::readdir(folder); // NOLINT(concurrency-mt-unsafe): of a stream of our own
        if (entry == nullptr) {
            error = errno;
            break;
        }
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            out.emplace_back(name);
    }
    ::closedir(folder);
    std::sort(out.begin(), out.end());
    return -error;
}

} // namespace holdfast
