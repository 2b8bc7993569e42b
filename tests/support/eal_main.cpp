// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests that start an EAL. Each process has an EAL of its own: a file prefix with its process id, and the
// arguments of HOLDFAST_EAL_ARGS, then whatever googletest left of the command line.
#include <gmock/gmock.h>

#include <rte_eal.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

int main(int argc, char **argv) {
    testing::InitGoogleMock(&argc, argv);

    const char *given = std::getenv("HOLDFAST_EAL_ARGS");
    std::istringstream words(given != nullptr ? given : "--no-huge -m 512 --no-pci --no-telemetry");
    std::vector<std::string> args{argv[0], "--file-prefix=holdfast-test-" + std::to_string(getpid())};
    for (std::string word; words >> word;)
        args.push_back(word);
    args.insert(args.end(), argv + 1, argv + argc);
    std::vector<char *> pointers;
    for (std::string &arg : args)
        pointers.push_back(arg.data());

    if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) {
        std::fprintf(stderr, "cannot start an EAL\n");
        return 1;
    }
    const std::filesystem::path files = rte_eal_get_runtime_dir();
    const int rc = RUN_ALL_TESTS();
    const int cleanup = rte_eal_cleanup();
    std::error_code ignored; // EAL leaves its folder behind
    std::filesystem::remove_all(files, ignored);
    if (cleanup != 0)
        std::fprintf(stderr, "cannot end the EAL: %d\n", cleanup);
    return rc != 0 ? rc : cleanup != 0;
}
