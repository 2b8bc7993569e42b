# SPDX-License-Identifier: BSD-3-Clause
# Finds libudev and gives holdfast_udev.

add_library(holdfast_udev INTERFACE)
find_path(HOLDFAST_LIBUDEV_H libudev.h)
mark_as_advanced(HOLDFAST_LIBUDEV_H)
if(NOT HOLDFAST_LIBUDEV_H)
    message(FATAL_ERROR "libudev.h (from Debian's libudev-dev) was not found. Run scripts/setup once and build with "
        "scripts/build.")
endif()
target_include_directories(holdfast_udev SYSTEM INTERFACE ${HOLDFAST_LIBUDEV_H})
if(NOT HOLDFAST_COMPILE_ONLY)
    find_library(HOLDFAST_LIBUDEV udev REQUIRED)
    mark_as_advanced(HOLDFAST_LIBUDEV)
    target_link_libraries(holdfast_udev INTERFACE ${HOLDFAST_LIBUDEV})
endif()
