#include <pybind11/stl.h>

#include <forkrun/core/errors.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

PyObject* schedule_error = nullptr;  // lives as long as the module

void translate_schedule_error(std::exception_ptr pointer) {
  try {
    if (pointer) {
      std::rethrow_exception(pointer);
    }
  } catch (const ScheduleError& error) {
    py::object instance = py::reinterpret_borrow<py::object>(schedule_error)(error.what());
    instance.attr("problems") = error.problems();
    PyErr_SetObject(schedule_error, instance.ptr());
  }
}

}  // namespace

void register_errors(py::module_& module) {
  const auto& base = py::register_exception<Error>(module, "Error", PyExc_RuntimeError);
  py::register_exception<InputError>(module, "InputError", base);
  py::register_exception<OutputError>(module, "OutputError", base);
  py::register_exception<Stopped>(module, "Stopped", base);
  schedule_error = PyErr_NewException("forkrun._core.ScheduleError", base.ptr(), nullptr);
  module.add_object("ScheduleError", py::reinterpret_borrow<py::object>(schedule_error));
  py::register_exception_translator(&translate_schedule_error);
}

}  // namespace forkrun::bindings
