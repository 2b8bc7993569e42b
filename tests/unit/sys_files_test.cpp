// SPDX-License-Identifier: BSD-3-Clause
#include "hotplug/sys_files.h"

#include "hotplug/binding.h"
#include "hotplug/netdev_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// <folder>/sys is the root; <folder>/outside is not in it.
class SysFolderTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = fs::temp_directory_path() / "holdfast-sys-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        fs::create_directories(sys() / "bus/pci/devices");
        fs::create_directories(folder_ / "outside");
        put(folder_ / "outside/file", "outside");
        files_ = std::make_unique<SysFolder>(sys());
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] fs::path sys() const { return folder_ / "sys"; }
    static void put(const fs::path &path, const std::string &text) { std::ofstream(path) << text; }
    static std::string text_of(const fs::path &path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string out_;
    std::vector<std::string> names_;
    fs::path folder_;
    std::unique_ptr<SysFolder> files_;
};

TEST_F(SysFolderTest, ReadsWithoutTheNewlineAtTheEnd) {
    put(sys() / "a", "eins\nzwei\n");
    ASSERT_EQ(files_->read("a", out_), 0);
    EXPECT_EQ(out_, "eins\nzwei");
    put(sys() / "a", "drei");
    ASSERT_EQ(files_->read("a", out_), 0);
    EXPECT_EQ(out_, "drei");
    put(sys() / "a", "");
    ASSERT_EQ(files_->read("a", out_), 0);
    EXPECT_EQ(out_, "");
    EXPECT_EQ(files_->read("b", out_), -ENOENT);
    EXPECT_EQ(files_->read("bus", out_), -EISDIR);
    EXPECT_EQ(files_->read("a/b", out_), -ENOTDIR);
}

TEST_F(SysFolderTest, WritesInPlaceOfWhatWasThereAndMakesNoFile) {
    put(sys() / "a", "a longer text");
    EXPECT_EQ(files_->write("a", "new"), 0);
    EXPECT_EQ(text_of(sys() / "a"), "new");
    EXPECT_EQ(files_->write("b", "new"), -ENOENT);
    EXPECT_FALSE(fs::exists(sys() / "b"));
    EXPECT_EQ(files_->write("bus", "new"), -EISDIR);
}

TEST_F(SysFolderTest, DoesNotWaitForTheOtherEndOfAPipe) {
    ASSERT_EQ(::mkfifo((sys() / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(files_->write("pipe", "x"), -ENXIO);
    EXPECT_EQ(files_->read("pipe", out_), 0);
    EXPECT_EQ(out_, "");
}

TEST_F(SysFolderTest, SaysHowAWriteFailed) {
    SysFolder devices("/dev");
    EXPECT_EQ(devices.write("full", "x"), -ENOSPC);
}

TEST_F(SysFolderTest, ListsAFolderSorted) {
    put(sys() / "bus/b", "");
    put(sys() / "bus/.a", "");
    ASSERT_EQ(files_->list("bus", names_), 0);
    EXPECT_THAT(names_, ElementsAre(".a", "b", "pci"));
    EXPECT_EQ(files_->list("none", names_), -ENOENT);
    EXPECT_EQ(files_->list("bus/b", names_), -ENOTDIR);
    EXPECT_EQ(files_->list("bus/b/net", names_), -ENOTDIR);
}

TEST_F(SysFolderTest, ReadsLinksWithoutFollowingThem) {
    fs::create_symlink("../nowhere/drivers/igb", sys() / "bus/driver");
    ASSERT_EQ(files_->read_link("bus/driver", out_), 0);
    EXPECT_EQ(out_, "../nowhere/drivers/igb");
    fs::create_symlink("bus", sys() / "top");
    ASSERT_EQ(files_->read_link("top", out_), 0);
    EXPECT_EQ(out_, "bus");
    EXPECT_EQ(files_->read_link("bus/none", out_), -ENOENT);
    EXPECT_EQ(files_->read_link("bus/pci", out_), -EINVAL);
    EXPECT_EQ(files_->read_link("none/driver", out_), -ENOENT);
}

TEST_F(SysFolderTest, KnowsWhatExists) {
    EXPECT_TRUE(files_->exists("bus/pci"));
    EXPECT_TRUE(files_->exists(""));
    EXPECT_FALSE(files_->exists("bus/none"));
    EXPECT_FALSE(SysFolder(folder_ / "none").exists(""));
    EXPECT_EQ(SysFolder(folder_ / "none").read("a", out_), -ENOENT);
}

TEST_F(SysFolderTest, FollowsLinksInside) {
    fs::create_directories(sys() / "devices/0000:01:00.0");
    put(sys() / "devices/0000:01:00.0/driver_override", "(null)\n");
    fs::create_symlink("../../../devices/0000:01:00.0", sys() / "bus/pci/devices/0000:01:00.0");
    ASSERT_EQ(files_->read("bus/pci/devices/0000:01:00.0/driver_override", out_), 0);
    EXPECT_EQ(out_, "(null)");
    EXPECT_EQ(files_->write("bus/pci/devices/0000:01:00.0/driver_override", "\n"), 0);
    EXPECT_EQ(text_of(sys() / "devices/0000:01:00.0/driver_override"), "\n");
}

TEST_F(SysFolderTest, NothingLeadsOutside) {
    // Also a folder whose name begins like the root's.
    fs::create_directories(folder_ / "sysother");
    put(folder_ / "sysother/file", "outside");
    fs::create_symlink("../outside", sys() / "folder");
    fs::create_symlink("../outside/file", sys() / "file");
    fs::create_symlink(folder_ / "outside/file", sys() / "absolute");
    fs::create_symlink("../sysother", sys() / "other");
    for (const char *path :
         {"folder/file", "file", "absolute", "other/file", "../outside/file", "bus/../../outside/file"}) {
        EXPECT_EQ(files_->read(path, out_), -EXDEV) << path;
        EXPECT_EQ(files_->write(path, "x"), -EXDEV) << path;
        EXPECT_FALSE(files_->exists(path)) << path;
    }
    for (const char *path : {"folder", "other", "..", "../outside"})
        EXPECT_EQ(files_->list(path, names_), -EXDEV) << path;
    fs::create_symlink("secret", folder_ / "outside/link");
    EXPECT_EQ(files_->read_link("folder/link", out_), -EXDEV);
    EXPECT_EQ(files_->read_link("../outside/link", out_), -EXDEV);
    EXPECT_EQ(text_of(folder_ / "outside/file"), "outside");
    EXPECT_EQ(text_of(folder_ / "sysother/file"), "outside");
}

TEST_F(SysFolderTest, MayBeAllOfTheFileSystem) {
    SysFolder all("/");
    EXPECT_TRUE(all.exists((folder_ / "outside/file").string().substr(1)));
}

/// Holds the numbers of the standard streams free, as in a daemon that has closed them.
TEST_F(SysFolderTest, NeverUsesTheNumberOfAStandardStream) {
    const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    ::close(STDIN_FILENO);
    put(sys() / "a", "text");
    const int read = files_->read("a", out_), written = files_->write("a", "new");
    if (kept >= 0) {
        ::dup2(kept, STDIN_FILENO);
        ::close(kept);
    }
    EXPECT_EQ(read, 0);
    EXPECT_EQ(written, 0);
    EXPECT_EQ(out_, "text");
    EXPECT_EQ(text_of(sys() / "a"), "new");
}

// ---- a binding over such a folder, in which nobody answers

TEST_F(SysFolderTest, ABindingWritesToPlainFilesAndSeesThatNothingCameOfIt) {
    const fs::path device = sys() / "bus/pci/devices/0000:01:00.0";
    fs::create_directories(device);
    put(device / "driver_override", "(null)\n");
    put(device / "class", "0x020000\n");
    for (const char *driver : {"igb", "vfio-pci"}) {
        fs::create_directories(sys() / "bus/pci/drivers" / driver);
        put(sys() / "bus/pci/drivers" / driver / "bind", "");
        put(sys() / "bus/pci/drivers" / driver / "unbind", "");
    }
    Binding binding(sys());
    std::string reason;
    EXPECT_EQ(binding.bind("0000:01:00.0", "vfio-pci", false, reason).code(), -EIO);
    EXPECT_EQ(text_of(sys() / "bus/pci/drivers/vfio-pci/bind"), "0000:01:00.0");
    EXPECT_EQ(text_of(device / "driver_override"), "\n");
    EXPECT_THAT(reason, testing::StartsWith("vfio-pci did not take 0000:01:00.0, for it is in no IOMMU group"));
    EXPECT_FALSE(binding.holds());

    // With a driver, whose link leads to a folder of drivers as in sysfs.
    fs::create_symlink("../../drivers/igb", device / "driver");
    put(device / "driver_override", "(null)\n");
    EXPECT_EQ(binding.bind("0000:01:00.0", "vfio-pci", false, reason).code(), -EIO);
    EXPECT_EQ(text_of(sys() / "bus/pci/drivers/igb/unbind"), "0000:01:00.0");
    EXPECT_EQ(text_of(device / "driver_override"), "\n");
    EXPECT_EQ(reason, "0000:01:00.0 cannot be unbound from igb: Input/output error");
}

} // namespace
} // namespace holdfast
