#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/stored_baskets.hpp>

class TBranch;
class TTree;

namespace forkrun::root_io {

class TreeFile;
class InputTree;

/// What a file says of a branch: all that reading it needs.
struct StoredBranch {
  const InputTree* tree{};
  BranchLayout layout;
  bool is_split{};  ///< its values are in branches within it
  std::int64_t n_entries{};
  std::int64_t n_least_entries{};  ///< of those within it that have some, or its own
  std::int64_t n_told_bytes{};     ///< of its values, uncompressed, by the tree's own account
  BranchSizes sizes{};
  int compression{};                           ///< ROOT's number
  std::vector<std::int64_t> largest_counts{};  ///< by leaf: of values or objects that it counts
  std::vector<StoredBasket> baskets{};
  std::map<int, BasketOfTree> of_tree{};  ///< by number
  std::uint32_t form{};       ///< digest of what is within it; 0: not known, as ROOT has read it
  std::string stored_name{};  ///< of a column within it: its own; else ""

  /// Of its baskets; those that compression does not make smaller have none.
  [[nodiscard]] bool has_checksums() const {
    return Compression::of_settings(compression).has_checksum();
  }
};

/// Of branches of a tree, as ROOT has read them: not checked.
[[nodiscard]] TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches);

/// As ROOT has read it. \throws InputError if what the tree says of the baskets cannot be.
[[nodiscard]] StoredBranch stored_branch(TBranch& branch, const InputTree& tree,
                                         const TreeFile& file);

}  // namespace forkrun::root_io
