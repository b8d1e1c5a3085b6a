#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/member_form.hpp>
#include <forkrun/formats/ttree/layout/tree_members.hpp>

namespace forkrun::root_io {

/// Members of a branch with baskets that differ between trees of one structure.
struct BranchRecord {
  std::vector<std::optional<LeafRange>> leaves;  ///< none: a leaf whose range says nothing
  int largest_count{};                           ///< most objects that an entry has
};

/// A branch as its tree tells of it.
struct ToldBranch {
  BranchLayout layout{};
  bool is_split{};  ///< its values are in branches within it
  std::int64_t n_entries{};
  std::int64_t n_least_entries{};  ///< of those within it that have some, or its own
  std::int64_t n_told_bytes{};     ///< of its values, uncompressed
  BranchSizes sizes{};
  int compression{};                           ///< ROOT's number
  std::vector<std::int64_t> largest_counts{};  ///< by leaf: of values or objects that it counts,
                                               ///< or of the characters of its texts
  std::map<int, BasketOfTree> of_tree{};       ///< baskets within the record, by number
  std::uint32_t form{};  ///< digest of what is within it: names, classes; 0: ROOT has read it
};

/// A branch of the tree itself, or one within it.
struct TopBranch : ToldBranch {
  std::size_t place{};              ///< among the branches that have baskets
  bool is_plain{};                  ///< it has leaves
  MemberForm member{};              ///< of objects
  std::vector<TopBranch> within{};  ///< those within it that have no branches
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

/// Parts of a `TreeRecord` that are wanted: a merge of many files does without.
struct PartsOfTree {
  bool tops{};
  bool members{};
};

/// `bytes`: of the object, after its key. None if it is not of the forms that ROOT 6 writes for
/// trees of plain or object branches, or if it is damaged: ROOT has to read it.
[[nodiscard]] std::optional<TreeRecord> parse_tree_record(std::span<const std::byte> bytes,
                                                          int key_length, PartsOfTree wanted = {});

}  // namespace forkrun::root_io
