# How every target of the project is built. To add a source file, name it in its folder's
# CMakeLists.txt; a test `x_test.cpp` goes into that folder's forkrun_test(...).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2") # to debug: -DCMAKE_BUILD_TYPE=RelWithDebInfo
# The compiler does not look for memory to free until it has this much (KiB): a tenth less time.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)

# The settings with which ccache keeps what is compiled with precompiled headers.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# DT_RPATH, not DT_RUNPATH: libraries that ours load must be found next to ROOT's, too.
add_link_options(-Wl,--disable-new-dtags)
set(CMAKE_INSTALL_RPATH "")

option(FORKRUN_UNITY "Compile several sources together: half of the time for all, twice that for one" ON)
add_compile_options(-Wall -Wextra -Wconversion $<$<BOOL:${FORKRUN_WERROR}>:-Werror>
                    -Wshadow$<$<BOOL:${FORKRUN_UNITY}>:=local>) # names of other sources may be the same
if(FORKRUN_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-Og -g1") # -O2 takes four times as long to compile
  add_compile_options(-fsanitize=${FORKRUN_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FORKRUN_SANITIZE})
  if(FORKRUN_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=vptr)
  endif()
endif()

# The standard library's headers that most sources include.
set(FORKRUN_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cstdint> <cstring> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <stdexcept>
    <string> <string_view> <thread> <unordered_map> <utility> <vector>)

# forkrun_compile_together(TARGET <header>...): sixteen sources of a folder are compiled at a time, which
# compiles their templates once. So a name in an anonymous namespace is unique in its folder. Sources with
# options of their own, set before, are compiled each by itself. The headers are parsed once for the target:
# that pays from about five groups on. Each source still includes what it uses.
function(forkrun_compile_together target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
                                  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    else()
      get_filename_component(folder "${source}" DIRECTORY)
      get_filename_component(folder "${folder}" NAME)
      list(APPEND of_${folder} "${source}")
      list(LENGTH of_${folder} n_sources)
      math(EXPR group "(${n_sources} - 1) / 16")
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
                                  PROPERTIES UNITY_GROUP "${folder}${group}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${FORKRUN_UNITY} UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON)
  if(FORKRUN_UNITY AND ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# forkrun_test(NAME LIBRARIES a b SOURCES x_test.cpp …): one gtest executable, registered with ctest.
function(forkrun_test name)
  cmake_parse_arguments(TEST "" "" "LIBRARIES;SOURCES" ${ARGN})
  if(FORKRUN_TESTS AND TEST_SOURCES)
    if(NOT TARGET forkrun_test_main)
      add_library(forkrun_test_main OBJECT ${PROJECT_SOURCE_DIR}/testing/main.cpp)
      target_link_libraries(forkrun_test_main PRIVATE GTest::gtest)
    endif()
    add_executable(${name} ${TEST_SOURCES} $<TARGET_OBJECTS:forkrun_test_main>)
    target_compile_options(${name} PRIVATE -Og) # compiles in half the time of -O2
    set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON) # names in stacks
    target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} GTest::gtest)
    list(LENGTH TEST_SOURCES n_sources)
    if(n_sources GREATER 5) # to read these takes half of the time of most tests
      set(headers <gtest/gtest.h> <algorithm> <functional> <map> <memory> <span> <string> <vector>)
    endif()
    forkrun_compile_together(${name} ${headers})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  endif()
endfunction()

# Where ROOT is when the package is not next to it (editable installs): an extra run path.
set(FORKRUN_EXTRA_RPATH "" CACHE STRING "Appended to the run path of installed libraries")

# Where things are installed: into the Python package, or, for C++ alone, into lib/ and include/.
if(FORKRUN_BINDINGS)
  set(FORKRUN_PREFIX forkrun/)
else()
  set(FORKRUN_PREFIX "")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# forkrun_install_library(TARGET FOLDER RPATH)
function(forkrun_install_library target folder rpath)
  if(FORKRUN_EXTRA_RPATH)
    string(APPEND rpath ":${FORKRUN_EXTRA_RPATH}")
  endif()
  string(REPLACE ":" ";" rpath "${rpath}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rpath}")
  string(REPLACE forkrun_ "" component ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ${folder} COMPONENT ${component})
endfunction()
