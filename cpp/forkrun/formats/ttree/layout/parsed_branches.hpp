#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forkrun/formats/ttree/layout/leaf_parser.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>

namespace forkrun::root_io {

/// Collects the description of a tree of numbers while its record is parsed.
class PlainMembers {
 public:
  /// A leaf, and its number in the record.
  struct Leaf {
    std::size_t number{};
    const LeafRecord* record{};
  };

  [[nodiscard]] TreeMembers& tree() { return tree_; }
  /// Adds a branch of the tree itself that has leaves alone.
  void add(BranchMembers branch, std::string_view name, std::string_view title,
           const std::vector<Leaf>& leaves);
  /// Notes something that only ROOT writes.
  void give_up() { are_all_ = false; }

  /// None if there was something else.
  [[nodiscard]] std::optional<TreeMembers> finished();

 private:
  TreeMembers tree_;
  bool are_all_ = true;
  std::unordered_map<std::size_t, std::size_t> numbers_;  ///< of leaves, from record to tree
};

/// Finds the layouts of a tree's own branches while its record is parsed.
class TopBranches {
 public:
  /// Adds a branch with leaves. `counter`: the number of the leaf that counts the values of the
  /// first; 0: none.
  void add_leaves(TopBranch top, std::string_view title, const std::vector<LeafForm>& leaves,
                  std::size_t counter);
  /// Adds a branch of objects.
  void add_object(TopBranch top);

  /// None if the columns of some are not told. Branches of counters may come later than those that
  /// they count: `branches` are those of leaves, by number.
  [[nodiscard]] std::optional<std::vector<TopBranch>> finished(
      const std::unordered_map<std::size_t, std::string_view>& branches);

 private:
  std::vector<TopBranch> tops_;
  std::vector<std::pair<std::size_t, std::size_t>> counted_;  ///< branches, leaves that count
  bool are_columns_known_ = true;
};

}  // namespace forkrun::root_io
