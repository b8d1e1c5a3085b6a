# find_package(forkrun): the target forkrun::core, and forkrun_add_plugin(NAME SOURCES…) that makes a
# library of C++ modules. Give CMake the place with -Dforkrun_DIR="$(forkrun --cmake-dir)".
get_filename_component(_forkrun "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET forkrun::core)
  add_library(forkrun::core SHARED IMPORTED)
  set_target_properties(forkrun::core PROPERTIES
    IMPORTED_LOCATION "${_forkrun}/lib/libforkrun_core.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_forkrun}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()

function(forkrun_add_plugin name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PRIVATE forkrun::core)
  # No fused multiply-add: the same bits on every machine. Optimized unless told otherwise.
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    target_compile_options(${name} PRIVATE -O2)
  endif()
  # libforkrun_core.so finds its own libraries; the linker need not.
  target_link_options(${name} PRIVATE -Wl,--allow-shlib-undefined)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${_forkrun}/lib" INSTALL_RPATH "${_forkrun}/lib")
endfunction()
