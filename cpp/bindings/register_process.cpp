#include <pybind11/stl.h>

#include <algorithm>
#include <system_error>

#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/formats/root_file/start_root.hpp>
#include <forkrun/process/child_signals.hpp>
#include <forkrun/process/file_checksum.hpp>
#include <forkrun/process/fork.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

std::vector<std::string> load_new_classes(const std::string& path) {
  const auto before = registered_module_classes();
  load_plugin(path);
  auto classes = registered_module_classes();
  std::erase_if(classes, [&](const auto& name) { return std::ranges::count(before, name) > 0; });
  return classes;
}

/// Like os.fork, but once for all children.
Forked fork_python(std::size_t n, bool together) {
  PyOS_BeforeFork();
  try {
    auto forked = fork_children(n, together);
    forked.child ? PyOS_AfterFork_Child() : PyOS_AfterFork_Parent();
    return forked;
  } catch (const std::system_error& error) {
    PyOS_AfterFork_Parent();
    errno = error.code().value();
    PyErr_SetFromErrno(PyExc_OSError);
    throw py::error_already_set{};
  }
}

py::typing::Union<py::typing::List<int>, int> fork(std::size_t n, bool together) {
  const auto forked = fork_python(n, together);
  return forked.child ? py::object{py::int_{*forked.child}} : py::cast(forked.pids);
}

}  // namespace

void register_process(py::module_& module) {
  module.def("load_plugin", &load_new_classes, py::arg("path"),
             "Loads a library of C++ modules; returns the class names it registered.");
  module.def("registered_module_classes", &registered_module_classes);
  module.def(
      "warm_up", &root_io::warm_up, py::call_guard<py::gil_scoped_release>(),
      R"(Loads ROOT's libraries, dictionaries and interpreter, so that children share them. Signals
keep the handlers that they have.)");
  module.def(
      "load_checksums_of_rntuples", [] { static_cast<void>(xxh3({})); },
      "Loads ROOT's library for them: in the parent, before children are forked.");
  module.def(
      "fork", &fork, py::arg("n"), py::arg("together"),
      R"(Forks `n` children in a row: pids in the parent, its number in a child. `together`: none of
them begins before all are there. Raises OSError, with no child left.)");
  module.def("adopt_orphans", &adopt_orphans, py::arg("yes"),
             R"(Whether this process adopts the children of descendants that end.
Forked children do so from the beginning.)");
  module.def(
      "claim_process", &claim_process,
      R"(This process does the work of a job. A copy that a module forks of it is ended when it comes
back from the module.)");
  module.def(
      "end_forked_copy",
      [] {
        if (is_forked_copy()) {
          end_forked_copy(1);
        }
      },
      "Ends such a copy, from within.");
  module.def("write_stacks_on_signal", &write_stacks_on_signal,
             "Before the fork: makes every thread of a child able to print its stack.");
  module.def("ask_for_stack", &ask_for_stack, py::arg("process"), py::arg("thread"),
             "Has the thread write its call stack to its process's stderr. False if it has ended.");
  module.def(
      "crc32c",
      [](const py::buffer& data, std::uint32_t before) {
        const auto bytes = data.request();
        return crc32c({static_cast<const std::byte*>(bytes.ptr),
                       static_cast<std::size_t>(bytes.size * bytes.itemsize)},
                      before);
      },
      py::arg("data"), py::arg("before") = 0,
      "CRC-32C of contiguous bytes. `before`: checksum of the preceding bytes.");
  module.def("file_checksum", &file_checksum, py::arg("path"),
             py::call_guard<py::gil_scoped_release>(),
             "CRC-32C of a whole file. Raises InputError.");
  module.def("root_version", &root_io::root_version);
}

}  // namespace forkrun::bindings
