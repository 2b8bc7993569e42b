# SPDX-License-Identifier: BSD-3-Clause
# Checks of the source tree and of the built modules, as tests with the label "check".

function(holdfast_check name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND")
    add_test(NAME check.${name} COMMAND ${arg_COMMAND})
    set_tests_properties(check.${name} PROPERTIES LABELS check TIMEOUT 900)
endfunction()

set(checks ${CMAKE_SOURCE_DIR}/scripts/checks)

holdfast_check(layers COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_layers.py ${CMAKE_SOURCE_DIR})
holdfast_check(layers_self_test COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_layers_test.py)

holdfast_check(configure COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_configure.py ${CMAKE_SOURCE_DIR})

# The tables of src/abi against the headers of this build, and whether a wrong header is found.
set(fields_table ${CMAKE_SOURCE_DIR}/src/abi/fields_${HOLDFAST_DPDK_ABI}.inc)
add_library(fields_dump OBJECT ${CMAKE_SOURCE_DIR}/src/abi/fields.cpp)
target_compile_options(fields_dump PRIVATE -O0 -gdwarf-5 -fno-eliminate-unused-debug-types)
target_link_libraries(fields_dump PRIVATE holdfast_abi)
holdfast_check(fields
    COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_fields.py
        $<TARGET_OBJECTS:fields_dump> ${CMAKE_SOURCE_DIR}/src/abi/dpdk ${fields_table})
if(NOT HOLDFAST_DPDK_HAS_DRIVER_HEADERS)
    holdfast_check(fields_self_test
        COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_fields_test.py
            ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${fields_table})
endif()

# Every header must compile as the first and only include of a file, with what its layer may see and no more.
set(alone_dir ${CMAKE_CURRENT_BINARY_DIR}/headers)
add_custom_target(self_contained_headers)
function(holdfast_headers_alone name language)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK;HEADERS")
    set(sources)
    foreach(header ${arg_HEADERS})
        string(MAKE_C_IDENTIFIER ${header} stem)
        set(source ${alone_dir}/${name}/${stem}.${language})
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
        list(APPEND sources ${source})
    endforeach()
    if(sources)
        add_library(headers_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
        set_target_properties(headers_${name} PROPERTIES
            CXX_EXTENSIONS OFF C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
        target_link_libraries(headers_${name} PRIVATE holdfast_warnings ${arg_LINK})
        target_compile_options(headers_${name} PRIVATE -O0 -g0)
        add_dependencies(self_contained_headers headers_${name})
    endif()
endfunction()
foreach(layer base abi datapath port hotplug driver mayfly)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/${layer}/*.h)
    if(layer STREQUAL "abi" AND NOT HOLDFAST_DPDK_HAS_DRIVER_HEADERS)
        file(GLOB shims CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src/abi/dpdk ${CMAKE_SOURCE_DIR}/src/abi/dpdk/*.h)
        list(APPEND headers ${shims})
    endif()
    holdfast_headers_alone(${layer} cpp LINK holdfast_${layer} HEADERS ${headers})
endforeach()
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/*.h)
holdfast_headers_alone(public_c c LINK holdfast_options holdfast_public_headers HEADERS ${headers})
holdfast_headers_alone(public_cpp cpp LINK holdfast_options holdfast_public_headers HEADERS ${headers})
holdfast_check(self_contained_headers
    COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target self_contained_headers)

# The built modules: what they need, what they export, what dpdk-pmdinfo.py reads from them.
foreach(name holdfast mayfly)
    if(TARGET rte_net_${name})
        set(header ${CMAKE_SOURCE_DIR}/include/rte_pmd_${name}.h)
        if(NOT EXISTS ${header})
            set(header none)
        endif()
        holdfast_check(module_${name}
            COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_module.py $<TARGET_FILE:rte_net_${name}>
                net_${name} rte_pmd_${name}_ ${header})
    endif()
endforeach()
if(TARGET rte_net_holdfast AND TARGET rte_net_mayfly)
    holdfast_check(install
        COMMAND ${HOLDFAST_PYTHON} -B ${checks}/check_install.py
            ${CMAKE_BINARY_DIR} ${HOLDFAST_DPDK_PMD_DIR} ${LIBDPDK_INCLUDEDIR} ${LIBDPDK_PREFIX})
endif()
