#include <forkrun/fragments/path_decisions.hpp>

#include <algorithm>
#include <utility>

namespace forkrun {

std::string decision_name(const std::string& path) { return "forkrun_paths_" + path; }

std::size_t PathDecisions::add(const std::string& path) {
  paths_.push_back(path);
  return paths_.size() - 1;
}

PathDecisions::Noted& PathDecisions::noted(std::size_t path, const EventBlock& block) {
  const std::lock_guard lock{mutex_};
  auto& lane = lanes_[block.lane()];
  lane.resize(paths_.size());
  return lane[path];
}

void PathDecisions::note(std::size_t path, const EventBlock& block, Mask selected) {
  auto& mine = noted(path, block);
  mine.first_range = block.ranges().front();
  std::ranges::copy(selected, mine.column.fill_scalar<std::uint8_t>(block.n_events()).begin());
}

/// A path of which no event was left has noted nothing of this block.
const Column& PathDecisions::of(std::size_t path, const EventBlock& block) {
  auto& mine = noted(path, block);
  if (mine.first_range != block.ranges().front()) {
    mine.first_range = block.ranges().front();
    std::ranges::fill(mine.column.fill_scalar<std::uint8_t>(block.n_events()), 0);
  }
  return mine.column;
}

PathDecision::PathDecision(Construction& construction, std::shared_ptr<PathDecisions> decisions,
                           const std::string& path)
    : decisions_{std::move(decisions)}, path_{decisions_->add(path)} {
  construction.set_concurrency(Concurrency::reentrant);
}

void PathDecision::analyze(const EventBlock& block, Mask selected) {
  decisions_->note(path_, block, selected);
}

}  // namespace forkrun
