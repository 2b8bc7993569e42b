# SPDX-License-Identifier: BSD-3-Clause
# Instructions of a burst, counted by callgrind: a guard on speed that no busy machine disturbs. In a process without an EAL, and
# with the objects of the module: what is counted is what an application runs.

add_executable(burst_count bench/burst_count.cpp)
set_target_properties(burst_count PROPERTIES CXX_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
target_include_directories(burst_count PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(burst_count PRIVATE
    holdfast_warnings holdfast_options holdfast_base holdfast_datapath holdfast_dpdk)
target_link_options(burst_count PRIVATE LINKER:--as-needed)

string(REGEX MATCH "^[0-9]+" compiler_major ${CMAKE_CXX_COMPILER_VERSION})
string(REGEX MATCH "^[0-9]+\\.[0-9]+" dpdk_release ${LIBDPDK_VERSION})
set(count_command ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/bench/burst_count_test.py)
set(count_arguments $<TARGET_FILE:burst_count> ${CMAKE_CURRENT_SOURCE_DIR}/bench/burst_count.json
    "${CMAKE_CXX_COMPILER_ID} ${compiler_major}, DPDK ${dpdk_release}, ${CMAKE_SYSTEM_PROCESSOR}")
holdfast_script_test(bench.burst_count LABEL bench TIMEOUT 300 COMMAND ${count_command} ${count_arguments})
add_custom_target(burst_count_renew
    COMMAND ${count_command} --renew ${count_arguments}
    DEPENDS burst_count USES_TERMINAL VERBATIM)
