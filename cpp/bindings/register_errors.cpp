#include <pybind11/stl.h>

#include <string>
#include <string_view>

#include <forkrun/core/errors.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

PyObject* schedule_error = nullptr;  // these live as long as the module
PyObject *error_class = nullptr, *input_error = nullptr, *output_error = nullptr,
         *stopped = nullptr;

/// What is said may hold a name of a damaged file, which need not be UTF-8.
void raise(PyObject* kind, const std::exception& error) {
  const std::string_view words{error.what()};
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(words.data(), static_cast<py::ssize_t>(words.size()), "replace"));
  PyErr_SetObject(kind, text.ptr());
}

void translate_errors(std::exception_ptr pointer) {
  try {
    if (pointer) {
      std::rethrow_exception(pointer);
    }
  } catch (const InputError& error) {
    raise(input_error, error);
  } catch (const OutputError& error) {
    raise(output_error, error);
  } catch (const Stopped& error) {
    raise(stopped, error);
  } catch (const Error& error) {
    raise(error_class, error);
  }
}

PyObject* add_class(py::module_& module, const char* name, PyObject* base) {
  const auto whole = std::string{"forkrun._core."} + name;
  auto* kind = PyErr_NewException(whole.c_str(), base, nullptr);
  module.add_object(name, py::reinterpret_borrow<py::object>(kind));
  return kind;
}

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
  error_class = add_class(module, "Error", PyExc_RuntimeError);
  input_error = add_class(module, "InputError", error_class);
  output_error = add_class(module, "OutputError", error_class);
  stopped = add_class(module, "Stopped", error_class);
  py::register_exception_translator(&translate_errors);
  schedule_error = add_class(module, "ScheduleError", error_class);
  py::register_exception_translator(&translate_schedule_error);
}

}  // namespace forkrun::bindings
