# GTest::gtest: installed, or from the sources that Debian's "googletest" brings;
# without either the C++ tests are left out, visibly.
find_package(GTest QUIET)
if(NOT GTest_FOUND AND EXISTS /usr/src/googletest/CMakeLists.txt)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  set(BUILD_GMOCK OFF CACHE BOOL "" FORCE)
  add_subdirectory(/usr/src/googletest googletest EXCLUDE_FROM_ALL)
elseif(NOT GTest_FOUND)
  message(WARNING "GoogleTest not found (Debian, Ubuntu: libgtest-dev): the C++ tests are not built")
  set(FORKRUN_TESTS OFF)
endif()
