#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>

namespace forkrun {

/// Name of the column that says which events a path has accepted.
[[nodiscard]] std::string decision_name(const std::string& path);

/// Which events of the blocks in flight the paths have accepted. Analyzers at the ends of the paths
/// note it, outputs write it: they are called when all paths of their block have ended.
class PathDecisions {
 public:
  /// Gives the number of the path.
  std::size_t add(const std::string& path);
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// Of the block that a lane has now.
  void note(std::size_t path, const EventBlock& block, Mask selected);
  /// (n_events,) boolean. Valid until the lane has another block.
  [[nodiscard]] const Column& of(std::size_t path, const EventBlock& block);

 private:
  struct Noted {
    EntryRange first_range{};  ///< of the block: no other block begins with its first event
    Column column{{ElementType::boolean, Shape::scalar}};
  };
  Noted& noted(std::size_t path, const EventBlock& block);

  std::vector<std::string> paths_;
  std::mutex mutex_;                                 ///< of the map: each entry belongs to one lane
  std::map<std::size_t, std::vector<Noted>> lanes_;  ///< by path
};

/// Stands at the end of a path.
class PathDecision final : public Analyzer {
 public:
  PathDecision(Construction& construction, std::shared_ptr<PathDecisions> decisions,
               const std::string& path);
  void analyze(const EventBlock& block, Mask selected) override;

 private:
  std::shared_ptr<PathDecisions> decisions_;
  std::size_t path_;
};

}  // namespace forkrun
