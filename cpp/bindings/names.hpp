#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/run/processor.hpp>

namespace forkrun::bindings {

/// Text with U+FFFD for bytes that are not UTF-8: names in damaged or old files.
inline pybind11::str text(std::string_view bytes) {
  return pybind11::reinterpret_steal<pybind11::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<pybind11::ssize_t>(bytes.size()), "replace"));
}

inline pybind11::list texts(const std::vector<std::string>& all) {
  pybind11::list list;
  for (const auto& bytes : all) {
    list.append(text(bytes));
  }
  return list;
}

/// Value of an enumeration by its name; `names` in the enumeration's order. \throws Error
template <typename Enum>
Enum named(const std::vector<std::string>& names, const std::string& what,
           const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    std::string known;
    for (const auto& each : names) {
      known += (known.empty() ? "" : ", ") + each;
    }
    throw Error{"unknown " + what + " \"" + name + "\"; there are " + known};
  }
  return static_cast<Enum>(found - names.begin());
}

inline ExecutorKind executor_of(const std::string& name) {
  return named<ExecutorKind>({"serial", "tbb", "dispatch"}, "executor", name);
}

inline Concurrency concurrency_of(const std::string& name) {
  return named<Concurrency>({"reentrant", "one", "unsafe", "limited"}, "concurrency", name);
}

}  // namespace forkrun::bindings
