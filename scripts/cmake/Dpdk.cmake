# SPDX-License-Identifier: BSD-3-Clause
# Finds DPDK and gives:
#   holdfast::dpdk_headers  include paths (as SYSTEM) and compile flags, no library
#   holdfast::dpdk          the same, and exactly the libraries that the modules call
#   HOLDFAST_DPDK_ABI       its release, as src/abi/fields_*.inc name it
#   HOLDFAST_DPDK_HAS_DRIVER_HEADERS   this DPDK was built with -Denable_driver_sdk=true
#   HOLDFAST_DPDK_PMD_DIR   the folder that this DPDK's EAL loads drivers from by itself
#   HOLDFAST_PMD_INSTALL_DIR, HOLDFAST_HEADER_INSTALL_DIR   both relative to the installation prefix

find_package(PkgConfig REQUIRED)
# Asked again at every configuration: a build tree must not keep the version of a DPDK that was replaced meanwhile.
unset(__pkg_config_checked_LIBDPDK CACHE)
pkg_check_modules(LIBDPDK IMPORTED_TARGET libdpdk)
if(NOT LIBDPDK_FOUND)
    message(FATAL_ERROR "DPDK (libdpdk, from Debian's libdpdk-dev) was not found by pkg-config. "
        "Run scripts/setup once and build with scripts/build.")
endif()

# src/abi declares DPDK's unpublished driver structs, one block per ABI, so a version without a block must not build.
if(NOT LIBDPDK_VERSION MATCHES "^2[45]\\.11(\\.|$)")
    message(FATAL_ERROR
        "DPDK ${LIBDPDK_VERSION} was found, but src/abi has driver interface blocks for 24.11.x and 25.11.x only. "
        "Either build in a Debian 13 root, which has 24.11 (HOLDFAST_ENV=root scripts/build --suite trixie), "
        "or point PKG_CONFIG_PATH at an installation of DPDK 24.11 or 25.11, "
        "or add a block for ${LIBDPDK_VERSION} to src/abi and its version to scripts/cmake/Dpdk.cmake.")
endif()
message(STATUS "DPDK ${LIBDPDK_VERSION}")
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "\\1_\\2" HOLDFAST_DPDK_ABI ${LIBDPDK_VERSION})

# Never cached: the headers of a DPDK that was replaced meanwhile decide nothing.
unset(HOLDFAST_ETHDEV_DRIVER_H)
find_file(HOLDFAST_ETHDEV_DRIVER_H ethdev_driver.h PATHS ${LIBDPDK_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
set(HOLDFAST_DPDK_HAS_DRIVER_HEADERS OFF)
if(HOLDFAST_ETHDEV_DRIVER_H)
    set(HOLDFAST_DPDK_HAS_DRIVER_HEADERS ON)
    message(STATUS "It has driver headers, so src/abi/dpdk is not used")
endif()

pkg_get_variable(LIBDPDK_PREFIX libdpdk prefix)
pkg_get_variable(LIBDPDK_INCLUDEDIR libdpdk includedir)
pkg_get_variable(LIBDPDK_LIBDIR libdpdk libdir)

add_library(holdfast_dpdk_headers INTERFACE)
add_library(holdfast::dpdk_headers ALIAS holdfast_dpdk_headers)
target_include_directories(holdfast_dpdk_headers SYSTEM INTERFACE ${LIBDPDK_INCLUDE_DIRS})
# "-include rte_config.h" comes as two list items, which CMake's de-duplication would tear apart.
string(REPLACE "-include;" "SHELL:-include " dpdk_flags "${LIBDPDK_CFLAGS_OTHER}")
target_compile_options(holdfast_dpdk_headers INTERFACE ${dpdk_flags})

# pkg-config names all of DPDK and leaves the drivers out; a module that is loaded into a foreign program needs the
# opposite: few libraries, the vdev bus among them. --as-needed turns the list into what is really called, and
# "-z defs" makes a missing one an error when linking and not when a program loads the module.
add_library(holdfast_dpdk INTERFACE)
add_library(holdfast::dpdk ALIAS holdfast_dpdk)
target_link_libraries(holdfast_dpdk INTERFACE holdfast_dpdk_headers)
set(libraries eal ethdev mbuf mempool ring kvargs telemetry log net bus_vdev)
if(HOLDFAST_COMPILE_ONLY)
    set(libraries)
endif()
foreach(library ${libraries})
    find_library(HOLDFAST_RTE_${library} NAMES librte_${library}.so
        HINTS ${LIBDPDK_LIBDIR} ${LIBDPDK_LIBRARY_DIRS} REQUIRED)
    mark_as_advanced(HOLDFAST_RTE_${library})
    target_link_libraries(holdfast_dpdk INTERFACE ${HOLDFAST_RTE_${library}})
endforeach()
# Tests link drivers that have functions of their own for programs (net_ring, for one).
function(holdfast_dpdk_driver target)
    foreach(library ${ARGN})
        find_library(HOLDFAST_RTE_${library} NAMES librte_${library}.so
            HINTS ${LIBDPDK_LIBDIR} ${LIBDPDK_LIBRARY_DIRS} REQUIRED)
        mark_as_advanced(HOLDFAST_RTE_${library})
        target_link_libraries(${target} PRIVATE ${HOLDFAST_RTE_${library}})
    endforeach()
endfunction()

# EAL's search path is compiled into it and published in a header; no pkg-config variable has it.
find_file(HOLDFAST_RTE_BUILD_CONFIG rte_build_config.h PATHS ${LIBDPDK_INCLUDE_DIRS} REQUIRED NO_DEFAULT_PATH)
mark_as_advanced(HOLDFAST_RTE_BUILD_CONFIG)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HOLDFAST_RTE_BUILD_CONFIG})
file(STRINGS ${HOLDFAST_RTE_BUILD_CONFIG} pmd_path_line REGEX "^#define RTE_EAL_PMD_PATH ")
string(REGEX REPLACE "^#define RTE_EAL_PMD_PATH \"(.*)\".*$" "\\1" HOLDFAST_DPDK_PMD_DIR "${pmd_path_line}")
if(NOT IS_ABSOLUTE "${HOLDFAST_DPDK_PMD_DIR}")
    message(FATAL_ERROR "No usable RTE_EAL_PMD_PATH in ${HOLDFAST_RTE_BUILD_CONFIG}: '${pmd_path_line}'")
endif()

# Installation. EAL looks in that one folder, so DPDK's own prefix is the default: "cmake --install" alone makes every
# DPDK program find the drivers. With --prefix (or -DCMAKE_INSTALL_PREFIX) the same tree arises below that prefix, and
# programs need "-d"; DESTDIR is for packages.
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
    set_property(CACHE CMAKE_INSTALL_PREFIX PROPERTY VALUE ${LIBDPDK_PREFIX})
endif()
cmake_path(RELATIVE_PATH HOLDFAST_DPDK_PMD_DIR BASE_DIRECTORY ${LIBDPDK_PREFIX} OUTPUT_VARIABLE HOLDFAST_PMD_INSTALL_DIR)
cmake_path(NORMAL_PATH LIBDPDK_INCLUDEDIR)
cmake_path(RELATIVE_PATH LIBDPDK_INCLUDEDIR BASE_DIRECTORY ${LIBDPDK_PREFIX}
    OUTPUT_VARIABLE HOLDFAST_HEADER_INSTALL_DIR)
