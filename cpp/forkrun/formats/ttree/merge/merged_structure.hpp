#pragma once

#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/branch_layout.hpp>

class TTree;

namespace forkrun::root_io {

/// Whether its branches were filled one by one (TBranch::Fill): the tree itself has no entries
/// then.
[[nodiscard]] bool is_filled_by_branch(TTree& tree);

/// Name and form of each branch, for comparison with those of other files.
[[nodiscard]] std::vector<std::string> described_branches(const BranchTree& branches);

/// Which branches of trees are merged: those of the first tree, in its order.
class MergedStructure {
 public:
  /// Notes those of the first tree. `file`: its path.
  void begin(TTree& first, const BranchTree& branches, const std::string& file);
  [[nodiscard]] const std::string& first_path() const { return first_path_; }
  /// Names of the top-level branches.
  [[nodiscard]] const std::vector<std::string>& tops() const { return tops_; }

  /// In the order of the first tree, where this one has the same branches in another.
  [[nodiscard]] BranchTree branches_of(TTree& tree) const;
  /// Whether they are those of the first tree.
  [[nodiscard]] bool is_of(const BranchTree& branches) const;
  /// \throws InputError naming the branches in which the tree differs from the first one.
  void check(TTree& tree, const std::string& where) const;

 private:
  [[nodiscard]] bool is_reordered(TTree& tree) const;

  std::string first_path_;
  std::vector<std::string> tops_;   ///< names of the top-level branches of the first tree
  std::vector<std::string> names_;  ///< of the merged ones, with their forms
};

/// The first names of many.
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

}  // namespace forkrun::root_io
