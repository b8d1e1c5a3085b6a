#include <pybind11/stl.h>

#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>

#include "bindings.hpp"
#include "names.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Classes of forkrun.errors; they live as long as the process.
struct PythonErrors {
  PyObject* config{};
  PyObject* input{};
  PyObject* output{};
  PyObject* module{};
  PyObject* verification{};
  PyObject* job{};
};
PythonErrors python_errors;

PyObject* class_named(const char* name) {
  return py::object{py::module_::import("forkrun.errors").attr(name)}.release().ptr();
}

/// The message may hold a name from a damaged file, which need not be UTF-8.
void raise(PyObject* kind, const std::exception& error) {
  PyErr_SetObject(kind, text(error.what()).ptr());
}

void raise_all(const std::vector<std::string>& problems) {
  const py::object instance = py::reinterpret_borrow<py::object>(python_errors.config)(problems);
  PyErr_SetObject(python_errors.config, instance.ptr());
}

/// Errors of the core are errors for users, with their exit codes.
// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is pybind11's
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) {
      std::rethrow_exception(pointer);
    }
  } catch (const ScheduleError& error) {
    raise_all(error.problems());
  } catch (const InputError& error) {
    raise(python_errors.input, error);
  } catch (const OutputError& error) {
    raise(python_errors.output, error);
  } catch (const ModuleError& error) {
    raise(python_errors.module, error);
  } catch (const VerificationFailed& error) {
    raise(python_errors.verification, error);
  } catch (const Error& error) {
    raise(python_errors.job, error);
  }
}

}  // namespace

void register_errors(py::module_& module) {
  python_errors = {class_named("ConfigError"),       class_named("InputError"),
                   class_named("OutputError"),       class_named("ModuleError"),
                   class_named("VerificationError"), class_named("JobError")};
  py::register_exception_translator(&translate);
  py::register_exception<Stopped>(module, "Stopped");  // tried first: it is no failure
}

}  // namespace forkrun::bindings
