// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests that start an EAL. Each process has one of its own, with what googletest left of the command
// line.
#include "support/own_eal.h"

#include <gmock/gmock.h>

#include <rte_eal.h>

#include <cstdio>

int main(int argc, char **argv) {
    testing::InitGoogleMock(&argc, argv);
    const holdfast::test::OwnEal eal(argv[0], "holdfast-test", {argv + 1, argv + argc});
    if (!eal.started()) {
        std::fprintf(stderr, "cannot start an EAL\n");
        return 1;
    }
    const int rc = RUN_ALL_TESTS();
    const int cleanup = rte_eal_cleanup();
    eal.remove_files();
    if (cleanup != 0)
        std::fprintf(stderr, "cannot end the EAL: %d\n", cleanup);
    return rc != 0 ? rc : cleanup != 0;
}
