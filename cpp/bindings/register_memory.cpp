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

py::tuple as_tuple(ObjectCount count) { return py::make_tuple(count.n_objects, count.n_bytes); }

std::unique_ptr<ContainerSnapshot> make_snapshot(const py::list& labelled) {
  std::vector<ContainerSnapshot::Root> roots;
  for (const py::handle pair : labelled) {
    const auto both = py::reinterpret_borrow<py::tuple>(pair);
    roots.push_back({both[0].cast<std::string>(), py::object{both[1]}.ptr()});
  }
  return std::make_unique<ContainerSnapshot>(roots);
}

py::object first_change(const ContainerSnapshot& snapshot) {
  const auto change = snapshot.first_change();
  if (change.container == nullptr) {
    return py::none();
  }
  return py::make_tuple(change.label, py::reinterpret_borrow<py::object>(change.container));
}

}  // namespace

void register_memory(py::module_& module) {
  module.attr("HAS_IMMORTAL_OBJECTS") = python_has_immortal_objects();
  module.def("count_objects",
             [](const py::list& roots) { return as_tuple(count_objects(pointers(roots))); });
  module.def("make_immortal",
             [](const py::list& roots) { return as_tuple(make_immortal(pointers(roots))); });
  module.def("make_program_immortal", [] { return as_tuple(make_program_immortal()); });
  module.def("take_free_blocks", &take_free_blocks);
  module.def("trim_heap", &trim_heap);
  module.def("keep_freed_memory", &keep_freed_memory);
  module.def("watch_kept_memory", &watch_kept_memory, py::arg("is_alone"));
  module.def("most_kept", &most_kept);
  module.def("use_huge_arenas", &use_huge_arenas);
  module.def("use_ordinary_arenas", &use_ordinary_arenas);
  module.def("join_pages", &join_pages);
  py::class_<ContainerSnapshot>(module, "ContainerSnapshot")
      .def(py::init(&make_snapshot), py::arg("roots"))
      .def("__len__", &ContainerSnapshot::size)
      .def("first_change", &first_change);
}

}  // namespace forkrun::bindings
