#pragma once

#include <memory>

#include <forkrun/formats/ttree/write/tree_target.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

/// Adds branches to a tree of ROOT's.
class RootBranches final : public BranchMaker {
 public:
  explicit RootBranches(TTree& tree) : tree_{tree} {}

  [[nodiscard]] bool has(const std::string& branch) const override;
  [[nodiscard]] std::unique_ptr<BranchTarget> add(const NewBranch& column) override;
  [[nodiscard]] std::unique_ptr<BranchTarget> add_counter(const std::string& name) override;

 private:
  TTree& tree_;
};

/// A branch of a tree of ROOT's that is written.
[[nodiscard]] std::unique_ptr<BranchTarget> branch_of_root(TBranch& branch);

}  // namespace forkrun::root_io
