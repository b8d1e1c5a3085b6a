# find_package(forkrun): what is installed of
#   forkrun::concurrency  executors, tasks and queues, without the rest: docs/libraries.md
#   forkrun::core         with forkrun_add_plugin(NAME SOURCES…), which makes a library of C++ modules
# Give CMake the place with -Dforkrun_DIR="$(forkrun --cmake-dir)", or of an installation without Python
# with -DCMAKE_PREFIX_PATH=…
get_filename_component(_forkrun "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
include(CMakeFindDependencyMacro)
find_dependency(Threads)

foreach(_library concurrency core)
  set(_file "${_forkrun}/lib/libforkrun_${_library}.so")
  if(EXISTS "${_file}" AND NOT TARGET forkrun::${_library})
    add_library(forkrun::${_library} SHARED IMPORTED)
    set_target_properties(forkrun::${_library} PROPERTIES
      IMPORTED_LOCATION "${_file}"
      INTERFACE_INCLUDE_DIRECTORIES "${_forkrun}/include"
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endif()
endforeach()
set_target_properties(forkrun::concurrency PROPERTIES INTERFACE_LINK_LIBRARIES Threads::Threads)
if(TARGET forkrun::core)
  set_target_properties(forkrun::core PROPERTIES INTERFACE_LINK_LIBRARIES forkrun::concurrency)
endif()

foreach(_library ${forkrun_FIND_COMPONENTS})
  if(NOT TARGET forkrun::${_library})
    set(forkrun_FOUND FALSE)
    set(forkrun_NOT_FOUND_MESSAGE "${_forkrun}/lib has no libforkrun_${_library}.so")
  endif()
endforeach()

function(forkrun_add_plugin name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PRIVATE forkrun::core)
  # No fused multiply-add: the same bits on every machine. Optimized unless set otherwise.
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    target_compile_options(${name} PRIVATE -O2)
  endif()
  # libforkrun_core.so finds its own libraries; the linker need not.
  target_link_options(${name} PRIVATE -Wl,--allow-shlib-undefined)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${_forkrun}/lib" INSTALL_RPATH "${_forkrun}/lib")
endfunction()
