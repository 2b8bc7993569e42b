# SPDX-License-Identifier: BSD-3-Clause
# What scripts/vm.d and the tests in a VM use. (Both are programs without DPDK.)
foreach(stem frames ask)
    add_executable(holdfast_${stem} vm/${stem}.cpp)
    set_target_properties(holdfast_${stem} PROPERTIES CXX_EXTENSIONS OFF)
    target_include_directories(holdfast_${stem} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(holdfast_${stem} PRIVATE holdfast_warnings holdfast_options)
endforeach()
