#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include <forkrun/core/module/conditions.hpp>

#include "bindings.hpp"
#include "column_arrays.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Element type of an array, if columns may have it.
std::optional<ElementType> element_type_of_array(const py::array& array) {
  constexpr std::array types{ElementType::boolean, ElementType::int8,   ElementType::uint8,
                             ElementType::int16,   ElementType::uint16, ElementType::int32,
                             ElementType::uint32,  ElementType::int64,  ElementType::uint64,
                             ElementType::float32, ElementType::float64};
  for (const auto type : types) {
    if (array.dtype().equal(dtype_of(type))) {
      return type;
    }
  }
  return std::nullopt;
}

/// Contiguous array: the same one if it is contiguous already.
py::array contiguous(const py::array& array) {
  return py::module_::import("numpy").attr("require")(array, py::none(), "CA");
}

/// Holds an object until the last reference is dropped, on any thread.
std::shared_ptr<const void> held(py::object object) {
  return {new py::object{std::move(object)}, [](const py::object* held_object) {
            const py::gil_scoped_acquire acquire;
            delete held_object;
          }};
}

using Arrays = std::map<std::string, py::array>;

void add_payload(Conditions& conditions, const std::string& label, std::uint32_t number,
                 const Arrays& arrays, const std::map<std::string, std::string>& attributes,
                 const std::string& file) {
  ConditionPayload payload{{}, attributes, file, {}};
  py::list owners;
  for (const auto& [name, given] : arrays) {
    if (const auto type = element_type_of_array(given)) {
      const auto array = contiguous(given);
      owners.append(array);
      payload.arrays[name] = {*type, {array.shape(), array.shape() + array.ndim()}, array.data()};
    }
  }
  payload.owner = held(owners);
  conditions.add_payload(label, number, std::move(payload));
}

}  // namespace

void register_conditions(py::module_& module) {
  py::class_<Conditions, std::shared_ptr<Conditions>>(module, "Conditions",
                                                      "Filled before modules are constructed.")
      .def(py::init<std::uint32_t>(), py::arg("n_iovs"))
      .def("add_label", &Conditions::add_label, py::arg("label"), py::arg("payload_of"),
           "`payload_of`: (n_iovs,) number of the payload that holds.")
      .def("add_payload", &add_payload, py::arg("label"), py::arg("number"), py::arg("arrays"),
           py::arg("attributes"), py::arg("file"),
           R"(Arrays are held and read in place; arrays of types that columns do not have are
left out.)")
      .def("set_load", &Conditions::set_load, py::arg("load"),
           "`load(label, number)` adds a payload that is not loaded.")
      .def("prepare", &Conditions::prepare, py::arg("iov"),
           "Loads missing payloads. Call it before blocks of an IOV are processed.")
      .def("drop", &Conditions::drop, py::arg("label"), py::arg("number"));
}

}  // namespace forkrun::bindings
