# SPDX-License-Identifier: BSD-3-Clause
# Flags as interface targets; nothing here is global.
#   holdfast::warnings   what our own code is held to
#   holdfast::options    language, visibility and the preset's instrumentation

add_library(holdfast_warnings INTERFACE)
add_library(holdfast::warnings ALIAS holdfast_warnings)
# A designated initialiser that leaves members out means it (DPDK's tables of operations); -Wextra would name each one.
target_compile_options(holdfast_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-missing-field-initializers
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
    $<$<BOOL:${HOLDFAST_WERROR}>:-Werror>)

add_library(holdfast_options INTERFACE)
add_library(holdfast::options ALIAS holdfast_options)
target_compile_features(holdfast_options INTERFACE cxx_std_20)
# -fno-gnu-unique: a unique symbol would be shared between the two modules, whatever the version script says.
# Run-time type information stays on: tests derive from our classes, and their objects need the type infos.
target_compile_options(holdfast_options INTERFACE
    -fvisibility=hidden
    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)

find_package(Threads REQUIRED)
target_link_libraries(holdfast_options INTERFACE Threads::Threads)

if(HOLDFAST_PRESET STREQUAL "asan")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HOLDFAST_PRESET STREQUAL "tsan")
    set(sanitize -fsanitize=thread)
else()
    set(sanitize)
endif()
if(sanitize)
    target_compile_options(holdfast_options INTERFACE ${sanitize} -O1 -g1 -fno-omit-frame-pointer)
    target_link_options(holdfast_options INTERFACE ${sanitize})
endif()
