#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/core/data/masks.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun::bindings {

/// Declaration of a Python module.
struct PythonDeclaration {
  std::string label;
  std::string kind;  ///< "producer", "filter" or "analyzer"
  std::vector<std::string> consumes;
  std::vector<std::pair<std::string, std::string>> produces;
  std::string random_name;  ///< empty: its label
  bool one_lumi{};          ///< is called with events of one lumi
};

/// The module's columns in the core by product number, and its random numbers.
struct PythonColumns {
  std::map<std::string, std::uint32_t> consumed;
  std::vector<std::pair<std::string, std::uint32_t>> produced;
  RandomKey random;
};

/// The event block that a Python module sees; empty once the module has returned.
struct PythonBlock {
  const EventBlock* block{};
  const PythonColumns* columns{};
  Mask mask;
  std::optional<EventsLeft> left{};  ///< of the mask, once a column is gathered
};

/// Wraps a Python object that has `produce`, `filter` or `analyze` as a module of the core.
/// \throws Error if its kind is none of the three.
[[nodiscard]] std::unique_ptr<Module> make_python_module(Construction& construction,
                                                         const pybind11::object& module,
                                                         const PythonDeclaration& declaration);

}  // namespace forkrun::bindings
