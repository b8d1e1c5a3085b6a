#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/core/module.hpp>

namespace forkrun::bindings {

/// What a Python module declared, by product number.
struct PythonColumns {
  std::map<std::string, std::uint32_t> consumed;
  std::vector<std::pair<std::string, std::uint32_t>> produced;
};

/// What a Python module sees of an event block; empty once the module has returned.
struct PythonBlock {
  const EventBlock* block{};
  const PythonColumns* columns{};
  Mask mask;
};

/// Wraps a Python object that has `produce`, `filter` or `analyze` as a module of the core.
/// \throws Error if `kind` is none of "producer", "filter" and "analyzer".
[[nodiscard]] std::unique_ptr<Module> make_python_module(
    Construction& construction, const std::string& kind, const pybind11::object& module,
    const std::vector<std::string>& consumes,
    const std::vector<std::pair<std::string, std::string>>& produces);

}  // namespace forkrun::bindings
