# SPDX-License-Identifier: BSD-3-Clause

# holdfast_layer(NAME [LINK target...])
#
# Makes the object library holdfast_NAME from src/NAME/*.cpp. Sources are found by folder: a new file needs no edit here.
# LINK names what the layer may see; that is passed on to those who link it. A layer that has only headers (or nothing
# yet) becomes an interface library, so that the names always exist.
function(holdfast_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
    set(target holdfast_${name})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
    if(sources)
        add_library(${target} OBJECT ${sources})
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
        # Not the fast path: its instructions are counted, and users' builds have its files apart.
        if(HOLDFAST_UNITY AND NOT name STREQUAL "datapath")
            set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
        endif()
        target_link_libraries(${target} PRIVATE holdfast_warnings PUBLIC holdfast_options ${arg_LINK})
    else()
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE holdfast_options ${arg_LINK})
    endif()
endfunction()

# holdfast_module(NAME LAYERS layer... MAP file)
#
# Makes the loadable driver librte_net_NAME.so in the top of the build tree. MAP is its version script.
function(holdfast_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAP" "LAYERS")
    if(HOLDFAST_COMPILE_ONLY)
        return()
    endif()
    set(target rte_net_${name})
    add_library(${target} MODULE)
    set_target_properties(${target} PROPERTIES
        PREFIX lib
        LINKER_LANGUAGE CXX
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
        SKIP_BUILD_RPATH ON # the program that loads it has found its DPDK
        LINK_DEPENDS ${arg_MAP})
    foreach(layer ${arg_LAYERS})
        target_link_libraries(${target} PRIVATE holdfast_${layer})
    endforeach()
    target_link_libraries(${target} PRIVATE holdfast_dpdk)
    target_link_options(${target} PRIVATE LINKER:--as-needed LINKER:-z,defs LINKER:--version-script=${arg_MAP})
    install(TARGETS ${target} LIBRARY DESTINATION ${HOLDFAST_PMD_INSTALL_DIR})
endfunction()
