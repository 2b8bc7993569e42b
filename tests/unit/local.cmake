# SPDX-License-Identifier: BSD-3-Clause
# Mutants: for each ordering and rule of src/base a copy of the header without it, and a drill that must notice. (The drills of
# the true headers are unit tests.) Some faults show when the drill runs, some only to ThreadSanitizer, and on x86 some to
# neither: the orders of atomic read-modify-writes, which are full barriers there anyway.

set(mutate ${CMAKE_CURRENT_SOURCE_DIR}/support/mutate.py)
add_custom_target(mutants)

# holdfast_mutant(NAME HOW DRILL): HOW the DRILL must find it: "run", in the release preset, or "tsan", in that preset.
function(holdfast_mutant name how drill)
    if(how STREQUAL "tsan" AND NOT HOLDFAST_PRESET STREQUAL "tsan")
        return()
    elseif(how STREQUAL "run" AND HOLDFAST_PRESET STREQUAL "tsan")
        return() # its running is slower there and shows less
    endif()
    execute_process(COMMAND ${HOLDFAST_PYTHON} -B ${mutate} --file ${name}
        OUTPUT_VARIABLE header OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    add_custom_command(OUTPUT ${tree}/${header}
        COMMAND ${HOLDFAST_PYTHON} -B ${mutate} ${name} ${CMAKE_SOURCE_DIR}/src ${tree}
        DEPENDS ${mutate} ${CMAKE_SOURCE_DIR}/src/${header}
        VERBATIM)
    set(target mutant_${name})
    add_executable(${target} support/drill_main.cpp ${tree}/${header})
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
    # Before src: the mutated header is found first, everything else as always.
    target_include_directories(${target} BEFORE PRIVATE ${tree} ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE holdfast_options holdfast_base)
    add_dependencies(mutants ${target})
    # 500 ms a run, again until 40 s are over; a mark that stays behind is believed after 2 s.
    add_test(NAME mutant.${name}
        COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/expect_killed.py
            ${how} 40 ${launcher} $<TARGET_FILE:${target}> ${drill} 500 2000)
    set_tests_properties(mutant.${name} PROPERTIES LABELS mutant TIMEOUT 120 RUN_SERIAL ON)
endfunction()

# holdfast_datapath_mutant(NAME HOW run|tsan TEST stem FILTER tests): a mutant of a file of src/datapath; these tests of
# unit/<stem>_test.cpp must find it.
function(holdfast_datapath_mutant name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "HOW;TEST;FILTER" "")
    if((arg_HOW STREQUAL "tsan" AND NOT HOLDFAST_PRESET STREQUAL "tsan") OR
       (arg_HOW STREQUAL "run" AND HOLDFAST_PRESET STREQUAL "tsan"))
        return()
    endif()
    execute_process(COMMAND ${HOLDFAST_PYTHON} -B ${mutate} --file ${name}
        OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(tree ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    add_custom_command(OUTPUT ${tree}/${file}
        COMMAND ${HOLDFAST_PYTHON} -B ${mutate} ${name} ${CMAKE_SOURCE_DIR}/src ${tree}
        DEPENDS ${mutate} ${CMAKE_SOURCE_DIR}/src/${file}
        VERBATIM)
    set(tests mutant_tests_${arg_TEST}) # compiled once for all
    if(NOT TARGET ${tests})
        add_library(${tests} OBJECT unit/${arg_TEST}_test.cpp)
        set_target_properties(${tests} PROPERTIES CXX_EXTENSIONS OFF)
        target_link_libraries(${tests} PRIVATE test_support)
        target_compile_options(${tests} PRIVATE -g1)
    endif()
    set(target mutant_${name})
    add_executable(${target} ${tree}/${file} $<TARGET_OBJECTS:${tests}>
        $<FILTER:$<TARGET_OBJECTS:holdfast_datapath>,EXCLUDE,/${file}>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
    target_link_libraries(${target} PRIVATE test_support GTest::gmock_main)
    target_link_options(${target} PRIVATE LINKER:--as-needed)
    add_dependencies(mutants ${target})
    add_test(NAME mutant.${name}
        COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/expect_killed.py
            ${arg_HOW} 40 ${launcher} $<TARGET_FILE:${target}> --gtest_brief=1 --gtest_filter=${arg_FILTER})
    set_tests_properties(mutant.${name} PROPERTIES LABELS mutant TIMEOUT 120 RUN_SERIAL ON)
endfunction()

if(HOLDFAST_PRESET MATCHES "^(release|tsan)$")
    holdfast_datapath_mutant(balance_look_then_mark HOW tsan TEST spread_race FILTER *balance)
    holdfast_datapath_mutant(balance_forgets_the_tail HOW run TEST balance FILTER *EndOfTheArray*)
    holdfast_datapath_mutant(balance_turns_the_tail HOW run TEST balance FILTER *AgreesWithAModel*)
    holdfast_datapath_mutant(balance_overtakes HOW run TEST balance FILTER *NoneIsSentAfter*)
    holdfast_datapath_mutant(balance_takes_the_first_answer HOW run TEST balance FILTER *LostDuringTheBurst*)
    holdfast_datapath_mutant(balance_drops_on_the_way HOW run TEST balance FILTER *AClosedGate*)
    holdfast_datapath_mutant(flow_hash_counts_ports_of_fragments HOW run TEST flow_hash FILTER *AllFragments*)
    holdfast_datapath_mutant(flow_hash_counts_behind_fragments HOW run TEST flow_hash FILTER *AllFragments*)
    holdfast_datapath_mutant(flow_hash_reads_on HOW run TEST flow_hash FILTER *BehindItsReach*)
    holdfast_datapath_mutant(shares_all_move HOW run TEST shares FILTER *OnlyItsShares*)
    holdfast_datapath_mutant(rx_active_delivers_old HOW run TEST rx_active FILTER *WaitsAtASwitch*)
    holdfast_datapath_mutant(rx_active_drops_the_first HOW run TEST rx_active FILTER *BeforeTheFirstCall*)
    holdfast_datapath_mutant(rx_active_takes_little_for_empty HOW run TEST rx_active FILTER *LessThanItHas*)
    holdfast_datapath_mutant(round_robin_stays HOW run TEST spread FILTER *InTurn*)
    holdfast_datapath_mutant(broadcast_look_then_mark HOW tsan TEST spread_race FILTER *broadcast)
    holdfast_datapath_mutant(broadcast_keeps_references HOW run TEST spread FILTER *WhenOneTookIt*)
    holdfast_datapath_mutant(broadcast_owes HOW run TEST spread FILTER *WhenOneTookIt*)
    holdfast_datapath_mutant(broadcast_lends_the_array HOW run TEST spread FILTER *WhoeverTakesWhat*)
    holdfast_mutant(look_then_mark run hammer)
    holdfast_mutant(no_second_look run hammer)
    holdfast_mutant(weak_mark run litmus)
    holdfast_mutant(weak_close run litmus)
    holdfast_mutant(mark_left_behind run hammer)
    holdfast_mutant(barrier_without_mark run barrier_hammer)
    holdfast_mutant(barrier_left_out run barrier_litmus)
    holdfast_mutant(relaxed_leave tsan hammer)
    holdfast_mutant(relaxed_open tsan hammer)
    holdfast_mutant(relaxed_give_back tsan hammer)
    holdfast_mutant(relaxed_look tsan hammer)
    holdfast_mutant(relaxed_busy tsan hammer)
    holdfast_mutant(counted_look_then_mark run counted_hammer)
    holdfast_mutant(counted_first_to_leave_clears_all run counted_marks)
    holdfast_mutant(counted_refused_clears_all run counted_marks)
    holdfast_mutant(counted_relaxed_leave tsan counted_hammer)
    holdfast_mutant(counted_relaxed_busy tsan counted_hammer)
    holdfast_mutant(ring_relaxed_link tsan ring_walk)
    holdfast_mutant(ring_relaxed_step tsan ring_walk)
    holdfast_mutant(ring_forgets_old_cursors run ring_cursors)
    holdfast_mutant(ring_link_leaves_cursors_outside run ring_cursors)
    holdfast_mutant(ring_unlink_leaves_cursors_outside run ring_cursors)
    holdfast_mutant(published_not_looked_at_again run published_reads)
    holdfast_mutant(published_not_marked run published_reads)
    holdfast_mutant(selection_overwrites run selection_losses)

    # Each mutant of the script has a test, in one of the two presets.
    add_test(NAME mutants_complete COMMAND ${HOLDFAST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/support/mutants_complete.py
        ${mutate} ${CMAKE_CURRENT_LIST_FILE} ${CMAKE_CURRENT_SOURCE_DIR}/stress/local.cmake)
    set_tests_properties(mutants_complete PROPERTIES LABELS mutant)
endif()
