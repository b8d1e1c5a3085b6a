# ROOT and oneTBB as imported targets: ROOT::Core, ROOT::RIO, ROOT::Tree, ROOT::Hist, forkrun::tbb;
# forkrun::xrootd_client, if it has one.
#
# The wheel "root" of the building Python carries complete include/ and lib/ directories, but its
# CMake configuration names a directory that does not exist; so the targets are made here. It also
# carries the libtbb that ROOT itself uses, without headers: these come from the wheel "tbb-devel",
# the library from ROOT, so that one libtbb is in the process. Without the wheel, a ROOT of conda or
# LCG is found by its own configuration.

execute_process(
  COMMAND "${Python_EXECUTABLE}" -c
          "import importlib.util, os; s = importlib.util.find_spec('ROOT'); print(os.path.dirname(s.origin) if s else '')"
  OUTPUT_VARIABLE _root_wheel OUTPUT_STRIP_TRAILING_WHITESPACE)

if(_root_wheel AND EXISTS "${_root_wheel}/include/TTree.h" AND EXISTS "${_root_wheel}/lib/libtbb.so.12")
  set(ROOTWheel_LIBRARY_DIR "${_root_wheel}/lib")
  set(ROOTWheel_FROM_WHEEL TRUE)
  foreach(_library Core RIO Tree Hist Net Thread MathCore)
    add_library(ROOT::${_library} SHARED IMPORTED)
    set_target_properties(ROOT::${_library} PROPERTIES
      IMPORTED_LOCATION "${_root_wheel}/lib/lib${_library}.so"
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_root_wheel}/include"
      INTERFACE_INCLUDE_DIRECTORIES "${_root_wheel}/include")
  endforeach()
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.metadata as m; print(next(p.locate().resolve().parents[1] for p in m.files('tbb-devel') if p.match('include/tbb/task_arena.h')))"
    OUTPUT_VARIABLE _tbb_include OUTPUT_STRIP_TRAILING_WHITESPACE)
  add_library(forkrun::tbb SHARED IMPORTED)
  set_target_properties(forkrun::tbb PROPERTIES
    IMPORTED_LOCATION "${_root_wheel}/lib/libtbb.so.12"
    INTERFACE_INCLUDE_DIRECTORIES "${_tbb_include}")
else()
  find_package(ROOT CONFIG REQUIRED COMPONENTS Core RIO Tree Hist)
  find_package(TBB REQUIRED)
  add_library(forkrun::tbb ALIAS TBB::tbb)
  set(ROOTWheel_LIBRARY_DIR "${ROOT_LIBRARY_DIR}")
endif()

# The client of XRootD that ROOT itself uses.
find_path(XRootD_INCLUDE_DIR XrdCl/XrdClFile.hh PATHS "${_root_wheel}/include/xrootd" PATH_SUFFIXES xrootd)
find_library(XRootD_Client_LIBRARY NAMES XrdCl libXrdCl.so.3 PATHS "${ROOTWheel_LIBRARY_DIR}")
if(XRootD_INCLUDE_DIR AND XRootD_Client_LIBRARY)
  add_library(forkrun::xrootd_client SHARED IMPORTED)
  set_target_properties(forkrun::xrootd_client PROPERTIES
    IMPORTED_LOCATION "${XRootD_Client_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${XRootD_INCLUDE_DIR}"
    INTERFACE_INCLUDE_DIRECTORIES "${XRootD_INCLUDE_DIR}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ROOTWheel REQUIRED_VARS ROOTWheel_LIBRARY_DIR)
