#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/member_form.hpp>

namespace forkrun::root_io {

/// A branch of the tree itself, or one within it.
struct TopBranch {
  BranchLayout layout{};
  std::size_t place{};  ///< among the branches that have baskets
  bool is_split{};      ///< its values are in branches within it
  std::int64_t n_entries{};
  std::int64_t n_least_entries{};  ///< of those within it that have some, or its own
  std::int64_t n_told_bytes{};     ///< of its values, uncompressed, by the tree's own account
  BranchSizes sizes{};
  int compression{};                           ///< ROOT's number
  std::vector<std::int64_t> largest_counts{};  ///< by leaf; 0: of one that does not count others
  bool is_plain{};                             ///< it has leaves
  std::map<int, BasketOfTree> of_tree{};       ///< baskets within the record, by number
  std::uint32_t form{};                        ///< digest of what is within it: names, classes
  MemberForm member{};                         ///< of objects
  std::vector<TopBranch> within{};             ///< those within it that have no branches
};

/// Finds the layouts of a tree's own branches while its record is parsed.
class TopBranches {
 public:
  /// One with leaves. `counter`: the number of the leaf that counts the values of the first; 0:
  /// none.
  void add_leaves(TopBranch top, std::string_view title, const std::vector<LeafForm>& leaves,
                  std::size_t counter);
  /// One of objects.
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
