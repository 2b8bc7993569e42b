# SPDX-License-Identifier: BSD-3-Clause
# What the stress tests need beside a file each: lcores on CPUs of our choice, and a mutant of the guard inside the real data path.

# Two CPUs that we may use (on a machine with one CPU: the same twice).
execute_process(COMMAND ${HOLDFAST_PYTHON} -c
        "import os; cpus = sorted(os.sched_getaffinity(0)); print(cpus[0], cpus[-1], sep=';')"
    OUTPUT_VARIABLE stress_cpus OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET stress_cpus 0 first_cpu)
list(GET stress_cpus 1 last_cpu)
set(stress_eal "--no-huge -m 512 --no-pci --no-telemetry")
# The main lcore floats over both, the workers are pinned.
set(lcores_two "${stress_eal} --lcores=0@(${first_cpu},${last_cpu}),1@${first_cpu},2@${last_cpu}")
set(lcores_one "${stress_eal} --lcores=0@(${first_cpu},${last_cpu}),1@${last_cpu},2@${last_cpu}")

# holdfast_stress(NAME LCORES two|one COMMAND command...)
function(holdfast_stress name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LCORES" "COMMAND")
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    math(EXPR timeout "300 * ${time_factor}")
    set(environment ${test_environment})
    list(FILTER environment EXCLUDE REGEX "^HOLDFAST_EAL_ARGS=")
    set_tests_properties(${name} PROPERTIES
        LABELS stress TIMEOUT ${timeout} RUN_SERIAL ON
        ENVIRONMENT "${environment};HOLDFAST_EAL_ARGS=${lcores_${arg_LCORES}}" ${fail_when_skipped})
endfunction()

holdfast_test_executable(stress_replug SOURCES stress/replug.cpp $<TARGET_OBJECTS:test_eal_main>)
holdfast_stress(stress.replug_two_cores LCORES two COMMAND stress_replug)
holdfast_stress(stress.replug_one_core LCORES one COMMAND stress_replug)

holdfast_test_executable(stress_detach SOURCES stress/detach.cpp $<TARGET_OBJECTS:test_eal_main>)
holdfast_dpdk_driver(stress_detach net_ring)
holdfast_stress(stress.detach LCORES two COMMAND stress_detach)

holdfast_test_executable(stress_guard_drill SOURCES stress/guard_drill.cpp)
holdfast_stress(stress.guard_drill LCORES two COMMAND stress_guard_drill 1000)

# The same program over a burst.cpp that was compiled with a mutant of guard.h. All else has the true one: also mayfly, whose
# rings have guards of this kind, and which is the judge here.
if(HOLDFAST_PRESET STREQUAL "release")
    set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants/burst_no_second_look)
    set(mutate ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py)
    add_custom_command(OUTPUT ${tree}/base/guard.h
        COMMAND ${HOLDFAST_PYTHON} -B ${mutate} no_second_look ${CMAKE_SOURCE_DIR}/src ${tree}
        DEPENDS ${mutate} ${CMAKE_SOURCE_DIR}/src/base/guard.h
        VERBATIM)
    add_library(mutant_burst OBJECT ${CMAKE_SOURCE_DIR}/src/datapath/burst.cpp ${tree}/base/guard.h)
    set_target_properties(mutant_burst PROPERTIES CXX_EXTENSIONS OFF)
    target_include_directories(mutant_burst BEFORE PRIVATE ${tree})
    target_link_libraries(mutant_burst PRIVATE holdfast_warnings holdfast_options holdfast_base holdfast_dpdk_headers)

    file(GLOB true_datapath CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/datapath/*.cpp)
    list(REMOVE_ITEM true_datapath ${CMAKE_SOURCE_DIR}/src/datapath/burst.cpp)
    add_executable(mutant_guard_drill stress/guard_drill.cpp ${true_datapath} $<TARGET_OBJECTS:mutant_burst>
        ${support_objects})
    set_target_properties(mutant_guard_drill PROPERTIES
        CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
    set(true_layers ${all_layers})
    list(REMOVE_ITEM true_layers holdfast_datapath)
    target_link_libraries(mutant_guard_drill PRIVATE test_support ${true_layers})
    target_link_options(mutant_guard_drill PRIVATE LINKER:--as-needed)
    holdfast_stress(stress.guard_mutant LCORES two COMMAND
        ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/expect_killed.py
            run 60 $<TARGET_FILE:mutant_guard_drill> 1000)
endif()

# A mutant of a file of src/abi, compiled for the tests below.
function(holdfast_abi_mutant name)
    execute_process(COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py --file ${name}
        OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    add_custom_command(OUTPUT ${tree}/${file}
        COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py ${name} ${CMAKE_SOURCE_DIR}/src ${tree}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py ${CMAKE_SOURCE_DIR}/src/${file}
        VERBATIM)
    add_library(mutant_${name} OBJECT ${tree}/${file})
    set_target_properties(mutant_${name} PROPERTIES CXX_EXTENSIONS OFF)
    target_link_libraries(mutant_${name} PRIVATE test_support)
    set(mutant_${name}_file ${file} PARENT_SCOPE)
endfunction()

# holdfast_detach_mutant(NAME SOURCE file HOW how FILTER tests): a test of detaches with that mutant of src/abi in place of
# the file, which has to end as expect_killed.py's `how` says.
function(holdfast_detach_mutant name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;HOW;FILTER" "")
    cmake_path(GET arg_SOURCE STEM stem)
    string(REGEX REPLACE "_test$" "" stem ${stem})
    set(target mutant_${name}_${stem})
    add_executable(${target} ${arg_SOURCE} $<TARGET_OBJECTS:mutant_${name}> $<TARGET_OBJECTS:test_eal_main>
        ${support_objects} $<FILTER:$<TARGET_OBJECTS:holdfast_abi>,EXCLUDE,/${mutant_${name}_file}>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
    set(other_layers ${all_layers})
    list(REMOVE_ITEM other_layers holdfast_abi)
    target_link_libraries(${target} PRIVATE test_support ${other_layers})
    target_link_options(${target} PRIVATE LINKER:--as-needed)
    holdfast_dpdk_driver(${target} bus_pci)
    holdfast_stress(mutant.${name}_${stem} LCORES two COMMAND
        ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/expect_killed.py
            ${arg_HOW} 120 $<TARGET_FILE:${target}> --gtest_filter=${arg_FILTER})
endfunction()
if(HOLDFAST_PRESET STREQUAL "release")
    holdfast_abi_mutant(shadow_not_cast)
    # net_af_packet unmaps its rings first; a card of our own says who was inside.
    holdfast_detach_mutant(shadow_not_cast SOURCE stress/detach.cpp HOW crash FILTER */af_packet)
    holdfast_detach_mutant(shadow_not_cast SOURCE dpdk/detach_pci_test.cpp HOW says=g_trespasses FILTER *NobodyIsInside*)
endif()
