#include <pybind11/stl.h>

#include <forkrun/process/unit_counter.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

void register_unit_counter(py::module_& module) {
  py::class_<UnitCounter>(module, "UnitCounter")
      .def(py::init<std::size_t>(), py::arg("n"))
      .def("take", py::overload_cast<std::uint32_t>(&UnitCounter::take), py::arg("child"))
      .def("take",
           py::overload_cast<std::uint32_t, std::uint64_t, std::uint64_t>(&UnitCounter::take),
           py::arg("child"), py::arg("first"), py::arg("n"))
      .def("taken_by", &UnitCounter::taken_by, py::arg("child"))
      .def("end_at", &UnitCounter::end_at, py::arg("n"))
      .def_property_readonly("n_taken", &UnitCounter::n_taken)
      .def_property_readonly("end", &UnitCounter::end);
}

}  // namespace forkrun::bindings
