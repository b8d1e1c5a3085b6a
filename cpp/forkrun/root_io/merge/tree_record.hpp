#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/root_io/merge/basket_lists.hpp>
#include <forkrun/root_io/merge/object_record.hpp>
#include <forkrun/root_io/write/leaf_range.hpp>

namespace forkrun::root_io {

/// What differs between trees of one structure, but for the baskets, of a branch that has some.
struct BranchRecord {
  std::vector<std::optional<LeafRange>> leaves;  ///< none: a leaf whose range says nothing
  int largest_count{};                           ///< most objects that an entry has
};

/// A tree as its record in a file describes it, read without making ROOT's objects: with a thousand
/// branches twenty times as quick.
struct TreeRecord {
  TreeBaskets baskets;               ///< in the order of `all_branches`
  std::vector<BranchRecord> filled;  ///< in the same order
  /// All that trees which are merged must have in common. What is equal here needs no look by ROOT.
  std::string structure;
};

/// None if it is not of the forms that ROOT 6 writes for trees of plain or object branches, if
/// baskets are kept within it, or if it is damaged: ROOT has to read it.
[[nodiscard]] std::optional<TreeRecord> parse_tree_record(const ObjectRecord& record);

}  // namespace forkrun::root_io
