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

    add_executable(mutant_guard_drill stress/guard_drill.cpp ${CMAKE_SOURCE_DIR}/src/datapath/queue_info.cpp
        $<TARGET_OBJECTS:mutant_burst> ${support_objects})
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

# The test of detaches over drivers' own code with a file of src/abi replaced by a mutant: the process has to die.
function(holdfast_detach_mutant name)
    execute_process(COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py --file ${name}
        OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    add_custom_command(OUTPUT ${tree}/${file}
        COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py ${name} ${CMAKE_SOURCE_DIR}/src ${tree}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py ${CMAKE_SOURCE_DIR}/src/${file}
        VERBATIM)
    set(target mutant_${name})
    add_executable(${target} stress/detach.cpp ${tree}/${file} $<TARGET_OBJECTS:test_eal_main> ${support_objects}
        $<FILTER:$<TARGET_OBJECTS:holdfast_abi>,EXCLUDE,/${file}>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
    set(other_layers ${all_layers})
    list(REMOVE_ITEM other_layers holdfast_abi)
    target_link_libraries(${target} PRIVATE test_support ${other_layers})
    target_link_options(${target} PRIVATE LINKER:--as-needed)
    holdfast_stress(mutant.${name} LCORES two COMMAND
        ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/expect_killed.py
            crash 120 $<TARGET_FILE:${target}> --gtest_filter=*/af_packet)
endfunction()
if(HOLDFAST_PRESET STREQUAL "release")
    holdfast_detach_mutant(shadow_not_cast)
endif()
