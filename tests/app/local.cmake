# SPDX-License-Identifier: BSD-3-Clause
# A secondary process of its own for secondary_test.py: it loads the modules as any tool does, so none of our layers is in it.
add_executable(holdfast_onlooker secondary/onlooker.cpp)
set_target_properties(holdfast_onlooker PROPERTIES CXX_EXTENSIONS OFF)
target_compile_definitions(holdfast_onlooker PRIVATE ALLOW_EXPERIMENTAL_API)
target_link_libraries(holdfast_onlooker PRIVATE holdfast_warnings holdfast_options holdfast_dpdk GTest::gtest)
holdfast_dpdk_driver(holdfast_onlooker pdump)
target_link_options(holdfast_onlooker PRIVATE LINKER:--as-needed)
# What scripts/demo --measure takes testpmd's hearing with.
add_library(holdfast_deaf MODULE app/preload/deaf.cpp)
set_target_properties(holdfast_deaf PROPERTIES CXX_EXTENSIONS OFF)
target_link_libraries(holdfast_deaf PRIVATE holdfast_warnings holdfast_options)
# Some sixty processes one after another, each with an EAL.
set_tests_properties(app.secondary PROPERTIES TIMEOUT 900)
