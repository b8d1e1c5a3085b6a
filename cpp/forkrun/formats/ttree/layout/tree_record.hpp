#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/top_branches.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

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
  std::int64_t most_entries{};  ///< of any branch
  bool has_baskets{};           ///< within it
  bool has_friends{};           ///< stored with it
  bool has_user_objects{};      ///< TTree::GetUserInfo
  /// In their order, if they were wanted; none if the columns of some are not told by the record
  /// alone, or their names are no text.
  std::optional<std::vector<TopBranch>> tops;
  /// If they were wanted; none if a branch has something else than leaves of numbers and
  /// characters, or the tree has an index, friends or the like.
  std::optional<TreeMembers> members;

  /// Whether its branches were filled one by one: the tree itself has no entries then.
  [[nodiscard]] bool is_filled_by_branch() const {
    return baskets.n_entries == 0 && most_entries > 0;
  }
};

/// What of `TreeRecord` is wanted: a merge of many files does without.
struct PartsOfTree {
  bool tops{};
  bool members{};
};

/// `bytes`: of the object, behind its key. None if it is not of the forms that ROOT 6 writes for
/// trees of plain or object branches, or if it is damaged: ROOT has to read it.
[[nodiscard]] std::optional<TreeRecord> parse_tree_record(std::span<const std::byte> bytes,
                                                          int key_length, PartsOfTree wanted = {});

}  // namespace forkrun::root_io
