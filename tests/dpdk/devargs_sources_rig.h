// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/ids.h"
#include "devargs_rig.h"
#include "hotplug/host_thread.h"
#include "port/virtual_port.h"
#include "support/process.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>

/// What the tests of commands and descriptors share.
namespace holdfast::test {

/// A folder for what commands read and write.
class Folder {
  public:
    Folder() : path_("/tmp/holdfast-sources-XXXXXX") { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    [[nodiscard]] std::string file(const std::string &name) const { return path_ + "/" + name; }
    /// In one step, so that no command sees half of it.
    void write(const std::string &name, const std::string &text) const {
        std::ofstream(file(name + ".new")) << text;
        std::filesystem::rename(file(name + ".new"), file(name));
    }
    void remove(const std::string &name) const { std::filesystem::remove(file(name)); }
    [[nodiscard]] bool has(const std::string &name) const { return std::filesystem::exists(file(name)); }
    [[nodiscard]] std::uintmax_t size(const std::string &name) const {
        return has(name) ? std::filesystem::file_size(file(name)) : 0;
    }

  private:
    std::string path_;
};

inline VirtualPort::SubInfo about(const Port &port, std::size_t sub = 0) {
    VirtualPort::SubInfo out;
    EXPECT_TRUE(HostThread::get().with(PortId{port.id()}, [&](VirtualPort &p) { out = p.describe().subs.at(sub); }));
    return out;
}

inline bool joined(const Port &port, std::size_t sub = 0) {
    return about(port, sub).joined;
}

inline void unplug(const std::string &name) {
    EXPECT_EQ(rte_pmd_mayfly_unplug(name.c_str(), RTE_PMD_MAYFLY_SYNC), 0);
    EXPECT_TRUE(eventually([&] { return !there(name); }));
}

inline bool no_child() {
    return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

class DevargsSources : public DevargsProbe {
  protected:
    void SetUp() override {
        // Starts the threads, whose descriptors stay.
        const Port port("net_holdfast0", "dev(net_mayfly0)");
        descriptors_ = open_descriptors();
    }
    void TearDown() override {
        DevargsProbe::TearDown();
        for (const char *name : {"net_mayfly0", "net_mayfly1"})
            (void)rte_pmd_mayfly_plug(name);
        EXPECT_TRUE(no_child());
        EXPECT_EQ(open_descriptors(), descriptors_);
    }
    std::size_t descriptors_ = 0;
};

} // namespace holdfast::test
