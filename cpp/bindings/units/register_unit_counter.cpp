#include <iterator>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <forkrun/process/unit_counter.hpp>

#include "../bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

void register_unit_counter(py::module_& module) {
  py::class_<UnitCounter>(
      module, "UnitCounter",
      "Shared memory: hands out 0, 1, … n - 1, each once. Make it before the fork.")
      .def(py::init<std::size_t>(), py::arg("n"))
      .def("take", py::overload_cast<std::uint32_t>(&UnitCounter::take), py::arg("child"))
      .def("take",
           py::overload_cast<std::uint32_t, std::uint64_t, std::uint64_t>(&UnitCounter::take),
           py::arg("child"), py::arg("first"), py::arg("n"),
           R"(Numbers [first, first + n), or fewer up to the end: how many; 0 if `first` is not the
next one (any more).)")
      .def(
          "taken_by",
          [](const UnitCounter& counter, std::uint32_t child) {
            const auto taken = counter.taken_by(child);
            return py::array_t<std::int64_t>(std::ssize(taken),
                                             reinterpret_cast<const std::int64_t*>(taken.data()));
          },
          py::arg("child"))
      .def("end_at", &UnitCounter::end_at, py::arg("n"), "Numbers from here on are not handed out.")
      .def_property_readonly("n_taken", &UnitCounter::n_taken)
      .def_property_readonly("end", &UnitCounter::end);
}

}  // namespace forkrun::bindings
