#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/module/module.hpp>
#include <forkrun/core/run/processor.hpp>

namespace forkrun::bindings {

/// The value of an enumeration whose names these are, in its order. \throws Error
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
  return named<ExecutorKind>({"serial", "tbb", "dispatch", "thread"}, "executor", name);
}

inline Concurrency concurrency_of(const std::string& name) {
  return named<Concurrency>({"reentrant", "one", "unsafe", "limited"}, "concurrency", name);
}

}  // namespace forkrun::bindings
