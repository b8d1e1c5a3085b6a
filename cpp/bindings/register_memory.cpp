#include <pybind11/stl.h>

#include <forkrun/python_memory/container_snapshot.hpp>
#include <forkrun/python_memory/free_blocks.hpp>
#include <forkrun/python_memory/huge_pages.hpp>
#include <forkrun/python_memory/immortal.hpp>

#include "bindings.hpp"
#include "python/kept_memory.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

using namespace forkrun::python_memory;

namespace {

std::vector<PyObject*> pointers(const py::list& objects) {
  std::vector<PyObject*> found;
  for (const py::handle object : objects) {
    found.push_back(object.ptr());
  }
  return found;
}

py::typing::Tuple<std::size_t, std::size_t> as_tuple(ObjectCount count) {
  return py::make_tuple(count.n_objects, count.n_bytes);
}

std::unique_ptr<ContainerSnapshot> make_snapshot(const py::list& labelled) {
  std::vector<ContainerSnapshot::Root> roots;
  for (const py::handle pair : labelled) {
    const auto both = py::reinterpret_borrow<py::tuple>(pair);
    roots.push_back({both[0].cast<std::string>(), py::object{both[1]}.ptr()});
  }
  return std::make_unique<ContainerSnapshot>(roots);
}

py::typing::Optional<py::typing::Tuple<py::str, py::object>> first_change(
    const ContainerSnapshot& snapshot) {
  const auto change = snapshot.first_change();
  if (change.container == nullptr) {
    return py::none();
  }
  return py::make_tuple(change.label, py::reinterpret_borrow<py::object>(change.container));
}

/// Takes no references: in a forked process, those would copy the memory of all values.
bool holds_functions_of(const py::typing::Dict<py::str, py::object>& names,
                        const py::typing::Set<py::str>& homes) {
  static PyObject* const name = PyUnicode_InternFromString("__name__");
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(names.ptr(), &place, &key, &value) != 0;) {
    PyObject* const home =
        PyFunction_Check(value) ? PyDict_GetItem(PyFunction_GET_GLOBALS(value), name) : nullptr;
    if (home != nullptr && PyUnicode_Check(home) && PySet_Contains(homes.ptr(), home) == 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

void register_memory(py::module_& module) {
  module.attr("HAS_IMMORTAL_OBJECTS") = python_has_immortal_objects();
  module.def(
      "count_objects",
      [](const py::list& roots) { return as_tuple(count_objects(pointers(roots))); },
      R"(Python objects that can be reached from the roots, and the bytes of their blocks. Follows
items, keys, attributes, elements and bases of arrays, closures, constants, and members that the classes
of instances define; not modules, their namespaces, or running code.)");
  module.def(
      "make_immortal",
      [](const py::list& roots) { return as_tuple(make_immortal(pointers(roots))); },
      R"(The same objects are never freed again, and reading them writes nothing. Counts objects that
were mortal. Only with HAS_IMMORTAL_OBJECTS.)");
  module.def(
      "make_program_immortal", [] { return as_tuple(make_program_immortal()); },
      "The same with modules, classes, functions, and everything they hold; not running code.");
  module.def("holds_functions_of", &holds_functions_of, py::arg("names"), py::arg("homes"),
             "Whether a value of the dict is a function of a module with one of these names.");
  module.def("take_free_blocks", &take_free_blocks,
             "Fills the holes between Python's small objects, for ever; returns the bytes taken.");
  module.def("trim_heap", &trim_heap,
             "Gives free pages of the C library's heap back to the operating system.");
  module.def("keep_freed_memory", &keep_freed_memory,
             "In a process that takes blocks: keeps up to 128 MB that arrays have freed for later "
             "arrays.");
  module.def(
      "watch_kept_memory", &watch_kept_memory, py::arg("is_alone"),
      R"(In a process that takes blocks: starts measuring the memory that calls of Python modules leave
allocated. `is_alone`: no other thread calls modules; else calls count during which no other thread
computes.)");
  module.def(
      "most_kept", &most_kept,
      R"(Label of the module whose calls have left most memory, and how much [bytes]; None until it
was seen several times.)");
  module.def(
      "use_huge_arenas", &use_huge_arenas,
      "From now on Python allocates small objects in huge pages, where the kernel allows it.");
  module.def("use_ordinary_arenas", &use_ordinary_arenas, "Ordinary pages again.");
  module.def(
      "join_pages", &join_pages,
      R"(Joins this process's own pages to huge ones where nearly all of one are in use; gives their
bytes. 0 before Linux 6.1.)");
  py::class_<ContainerSnapshot>(
      module, "ContainerSnapshot",
      R"(Contents of each list, dict, set, bytearray, instance of a class written in Python, and header of an
array refers to, of all that can be reached. `roots`: (label, object).)")
      .def(py::init(&make_snapshot), py::arg("roots"))
      .def("__len__", &ContainerSnapshot::size)
      .def(
          "first_change", &first_change,
          "Label of the first container with changed contents, and the container. Writes nothing.");
}

}  // namespace forkrun::bindings
