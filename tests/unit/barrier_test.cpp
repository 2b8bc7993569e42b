// SPDX-License-Identifier: BSD-3-Clause
#include "base/barrier.h"

#include "base/guard.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace holdfast {
namespace {

/// From now on the kernel answers this process as one without membarrier(2) does.
bool without_membarrier() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// In a process of its own each, started anew: what is asked once must not have been asked yet.
class ProcessBarrierDeathTest : public testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(ProcessBarrier, IsThereSoThatTheseTestsTestWhatRuns) {
    EXPECT_TRUE(ProcessBarrier::available());
    EXPECT_TRUE(ProcessBarrier::pass());
    EXPECT_EQ(Gate(Marking::kBarrier).marking(), Marking::kBarrier);
    EXPECT_EQ(Gate().marking(), Marking::kExchange);
    EXPECT_EQ(Door().gate.marking(), Marking::kBarrier);
}

TEST_F(ProcessBarrierDeathTest, WithoutItTheGateMakesLcoresExchange) {
    const auto check = [] {
        if (!without_membarrier())
            std::_Exit(2);
        Gate gate(Marking::kBarrier);
        gate.open();
        gate.close();
        std::_Exit(!ProcessBarrier::available() && gate.marking() == Marking::kExchange && gate.settle() ? 0 : 1);
    };
    EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST_F(ProcessBarrierDeathTest, ARefusalLaterIsNotTakenForABarrier) {
    const auto check = [] {
        Gate gate(Marking::kBarrier);
        gate.open();
        if (gate.marking() != Marking::kBarrier || !without_membarrier())
            std::_Exit(2);
        gate.close();
        std::_Exit(!gate.settle() ? 0 : 1);
    };
    EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace holdfast
