# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets: each *_fuzz.cpp becomes an executable of libFuzzer's, made by clang whatever the main compiler is, from
# pure code only (no DPDK). Its corpus is corpus/<stem>. Under ctest it runs a fixed number of executions from a fixed
# seed; by hand, as long as you like:
#
#   build/trixie-release/tests/fuzz/devargs_fuzz -max_total_time=600 NEW_CORPUS tests/fuzz/corpus/devargs
#
# What it finds there goes into the corpus, if it is worth keeping: run with -merge=1 KEPT NEW_CORPUS.

find_program(HOLDFAST_CLANGXX clang++)
mark_as_advanced(HOLDFAST_CLANGXX)
if(NOT HOLDFAST_CLANGXX)
    if(HOLDFAST_NO_SKIP)
        message(FATAL_ERROR "The fuzz targets need clang++")
    endif()
    message(WARNING "There is no clang++, so the fuzz targets are not built")
    return()
endif()

set(fuzzed_sources
    ${CMAKE_SOURCE_DIR}/src/datapath/flow_hash.cpp
    ${CMAKE_SOURCE_DIR}/src/driver/devargs.cpp
    ${CMAKE_SOURCE_DIR}/src/driver/devargs_keys.cpp
    ${CMAKE_SOURCE_DIR}/src/driver/devargs_udev.cpp
    ${CMAKE_SOURCE_DIR}/src/hotplug/match.cpp
    ${CMAKE_SOURCE_DIR}/src/port/answer.cpp
    ${CMAKE_SOURCE_DIR}/src/port/device_text.cpp)

# holdfast_fuzz_test(STEM RUNS LONGEST): LONGEST is the most bytes that an input may have.
function(holdfast_fuzz_test stem runs longest)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${stem}_fuzz.cpp)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/fuzz/${stem}_fuzz)
    set(objects)
    foreach(part ${source} ${fuzzed_sources})
        cmake_path(GET part STEM part_stem)
        set(object ${program}.dir/${part_stem}.o)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.dir
            COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${HOLDFAST_CLANGXX} -std=c++20 -O1 -g -Wall -Wextra -Werror
                -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
                -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${object}.d -c ${part} -o ${object}
            DEPENDS ${part}
            DEPFILE ${object}.d
            VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    add_custom_command(OUTPUT ${program}
        COMMAND ${HOLDFAST_CLANGXX} -fsanitize=fuzzer,address,undefined ${objects} -o ${program}
        DEPENDS ${objects}
        VERBATIM)
    add_custom_target(fuzz_${stem} ALL DEPENDS ${program})
    add_test(NAME fuzz.${stem}
        COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run.py
            ${program} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${stem} ${runs} ${longest})
    set_tests_properties(fuzz.${stem} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

holdfast_fuzz_test(devargs 200000 512)
holdfast_fuzz_test(answer 100000 5000)
holdfast_fuzz_test(match 200000 1024)
holdfast_fuzz_test(flow_hash 1000000 320)
