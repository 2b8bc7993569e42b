# SPDX-License-Identifier: BSD-3-Clause
# What a preset decides for the whole tree. The top level has no room for CMakePresets.json, so it is a cache option.

if(NOT HOLDFAST_PRESET MATCHES "^(release|asan|tsan)$")
    message(FATAL_ERROR "HOLDFAST_PRESET is '${HOLDFAST_PRESET}'; it must be release, asan or tsan")
endif()

# The sanitizer presets keep assert() and bring their own optimisation level (Options.cmake).
if(NOT CMAKE_BUILD_TYPE)
    if(HOLDFAST_PRESET STREQUAL "release")
        set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
    else()
        set(CMAKE_BUILD_TYPE Debug CACHE STRING "Build type" FORCE)
    endif()
endif()

find_program(HOLDFAST_CCACHE ccache)
mark_as_advanced(HOLDFAST_CCACHE)
if(HOLDFAST_CCACHE)
    foreach(language C CXX)
        if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
            # So that checkouts side by side share what is the same in them.
            set(CMAKE_${language}_COMPILER_LAUNCHER
                ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${HOLDFAST_CCACHE})
        endif()
    endforeach()
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
