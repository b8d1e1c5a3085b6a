#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <forkrun/formats/ttree/layout/leaf_parser.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

namespace forkrun::root_io {

/// Collects what is said of a tree of numbers while its record is parsed.
class PlainMembers {
 public:
  /// A leaf, and its number in the record.
  struct Leaf {
    std::size_t number{};
    const LeafRecord* record{};
  };

  [[nodiscard]] TreeMembers& tree() { return tree_; }
  /// A branch of the tree itself that has leaves alone.
  void add(BranchMembers branch, std::string_view name, std::string_view title,
           const std::vector<Leaf>& leaves);
  /// There is something that only ROOT writes.
  void give_up() { are_all_ = false; }

  /// None if there was something else.
  [[nodiscard]] std::optional<TreeMembers> finished();

 private:
  TreeMembers tree_;
  bool are_all_ = true;
  std::unordered_map<std::size_t, std::size_t> numbers_;  ///< of leaves, from record to tree
};

}  // namespace forkrun::root_io
