#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>

namespace forkrun {

enum class ModuleKind : std::uint8_t { unknown, producer, filter, analyzer, output };

/// A module of the job with its declarations. Modules are numbered in the order in which they were
/// added.
struct ModuleRecord {
  std::string label;
  ModuleKind kind = ModuleKind::unknown;
  std::optional<Concurrency> wanted_concurrency{};
  std::uint32_t limit = 1;  ///< blocks at a time, of Concurrency::limited
  Instances instances = Instances::shared;
  bool wants_one_lumi{};
  bool sees_events_left{};
  std::set<std::string> resources{};
  std::vector<std::unique_ptr<Histogram>> histograms{};
  std::vector<std::unique_ptr<Accumulator>> accumulators{};
  std::unique_ptr<Construction> construction{};  ///< the module may have a reference to it
  std::unique_ptr<Module> module{};  ///< null if its constructor threw; destroyed before the others
  std::vector<std::unique_ptr<Module>> clones{};

  [[nodiscard]] Concurrency concurrency() const {
    return wanted_concurrency.value_or(kind == ModuleKind::analyzer ? Concurrency::one
                                                                    : Concurrency::reentrant);
  }
  [[nodiscard]] bool has_transitions() const {
    return dynamic_cast<const Transitions*>(module.get()) != nullptr;
  }
  /// Whether it is called with events of one lumi.
  [[nodiscard]] bool sees_one_lumi() const { return wants_one_lumi || has_transitions(); }
};

}  // namespace forkrun
